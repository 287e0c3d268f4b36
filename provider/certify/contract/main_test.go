package contract

import (
	"os"
	"runtime/debug"
	"testing"
)

// The suite runs a hundred times, and what a run leaves is small.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	os.Exit(m.Run())
}
