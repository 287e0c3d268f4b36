package install

import (
	"os"
	"testing"
	"time"

	"portico/test/harness"
)

// bound is how long what is bound to happen may take.
const bound = time.Minute

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }
