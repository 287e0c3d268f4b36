package harness

import (
	"runtime"
	"testing"
)

// judged notes how a test ends that asks for a program.
type judged struct {
	testing.TB
	skipped, failed bool
}

func (*judged) Helper()                 {}
func (j *judged) Skip(...any)           { j.skipped = true; runtime.Goexit() }
func (j *judged) Fatalf(string, ...any) { j.failed = true; runtime.Goexit() }

func asksFor(t *testing.T, name string) (string, *judged) {
	end, found := &judged{TB: t}, make(chan string, 1)
	go func() {
		defer close(found)
		found <- Installed(end, name)
	}()
	return <-found, end
}

// Where the program is missing the test fails; `make quick` alone leaves it out, and does so
// where the program is there, too.
func TestInstalled(t *testing.T) {
	const missing = "no-such-program-of-portico"
	t.Setenv(quick, "")
	if path, end := asksFor(t, "go"); path == "" || end.failed || end.skipped {
		t.Errorf("a program that is there: %q, %+v", path, end)
	}
	if _, end := asksFor(t, missing); !end.failed || end.skipped {
		t.Errorf("a program that is missing: %+v", end)
	}
	t.Setenv(quick, "1")
	for _, name := range []string{"go", missing} {
		if _, end := asksFor(t, name); !end.skipped || end.failed {
			t.Errorf("%s in make quick: %+v", name, end)
		}
	}
}
