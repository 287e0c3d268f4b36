package harness

import (
	"os"
	"os/exec"
	"testing"
)

// quick is set by `make quick`.
const quick = "PORTICO_QUICK"

// Installed returns the path of a program that test/prepare.sh installs, from PATH or
// /usr/sbin. Tests find such programs by nothing else; [NeedsInstalls] says why.
func Installed(t testing.TB, name string) string {
	t.Helper()
	NeedsInstalls(t)
	path := FindInstalled(name)
	if path == "" {
		t.Fatalf("no %s in PATH or /usr/sbin: install it, or let test/prepare.sh or the prepare.sh beside these tests do it", name)
	}
	return path
}

// FindInstalled is [Installed] for a program that a test can do without; "" if it is not
// there, or is not to be used.
func FindInstalled(name string) string {
	if os.Getenv(quick) != "" {
		return ""
	}
	for _, place := range []string{name, "/usr/sbin/" + name} {
		if path, err := exec.LookPath(place); err == nil {
			return path
		}
	}
	return ""
}

// isProgram reports whether a file can be started.
func isProgram(path string) bool {
	_, err := exec.LookPath(path)
	return err == nil
}

// NeedsInstalls says that a test needs more than Go and a shell. `make quick` leaves such
// a test out, also where the program is there, so that it says the same on every machine.
// In any other run the test goes on, and fails without the program: what is left out for
// want of a program looks like what passes.
func NeedsInstalls(t testing.TB) {
	t.Helper()
	if os.Getenv(quick) != "" {
		t.Skip("needs a program beside Go: make unit tries it")
	}
}
