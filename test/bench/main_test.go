package bench

import (
	"os"
	"testing"

	"portico/test/harness"
)

// TestMain runs the benchmarks or, as a process of its own, the peer that
// decodes and encodes anew.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == plainMerger {
		mergePlainly(os.Args[2:])
		return
	}
	os.Exit(harness.Main(m))
}
