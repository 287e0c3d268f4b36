package peers

import (
	"os"
	"testing"

	"portico/test/harness"
)

func TestMain(m *testing.M) {
	if Role(os.Args[1:]) {
		return
	}
	os.Exit(harness.Main(m))
}
