package index

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

// TestMain takes the number of sampled runs from the environment: the go command keeps no
// result of a test that has got a flag of its own.
func TestMain(m *testing.M) {
	flag.Parse()
	if checks := os.Getenv("RAPID_CHECKS"); checks != "" {
		if err := flag.Set("rapid.checks", checks); err != nil {
			fmt.Fprintln(os.Stderr, "RAPID_CHECKS:", err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}
