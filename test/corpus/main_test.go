package corpus

import (
	"os"
	"testing"

	"portico/test/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }
