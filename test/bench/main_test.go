package bench

import (
	"os"
	"testing"

	"portico/test/bench/peers"
	"portico/test/harness"
)

// TestMain runs the benchmarks or, as a process of its own, a peer.
func TestMain(m *testing.M) {
	if peers.Role(os.Args[1:]) {
		return
	}
	os.Exit(harness.Main(m))
}
