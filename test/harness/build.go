package harness

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"testing"
)

// Binaries are the paths of the programs under test.
type Binaries struct {
	Portico string
	Contoso string
}

// built builds both programs at the first call; a test binary builds at most once,
// whatever the number of its tests.
var built = sync.OnceValues(build)

// builtPoints does the same for the Portico with failpoints.
var builtPoints = sync.OnceValues(buildPoints)

// buildFolders are where the programs were put; [Main] removes them. They are
// written before the first build returns and read only after the tests.
var buildFolders struct{ normal, points string }

// Build returns the programs, and builds those that the environment does not name. It
// ends the test if they do not build.
func Build(t testing.TB) Binaries {
	t.Helper()
	b, err := built()
	OK(t, err)
	return b
}

// BuildFailpoints returns a Portico built with the tag failpoints, or the one that the
// environment names; see package failpoint.
func BuildFailpoints(t testing.TB) string {
	t.Helper()
	program, err := builtPoints()
	OK(t, err)
	return program
}

// Main runs a package's tests and removes the programs that they built. Meanwhile the
// tests' own garbage is collected a quarter as often as it would be by default. Call
// it from TestMain:
//
//	func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }
func Main(m *testing.M) int {
	debug.SetGCPercent(400)
	code := m.Run()
	for _, folder := range []string{buildFolders.normal, buildFolders.points} {
		if folder == "" {
			continue
		}
		if err := os.RemoveAll(folder); err != nil {
			fmt.Fprintln(os.Stderr, "harness: removing the programs:", err)
		}
	}
	return code
}

func build() (Binaries, error) {
	_ = os.Getenv("PORTICO_INPUTS") // the go command keeps a result for as long as this says the same
	b := Binaries{Portico: os.Getenv("PORTICO_BIN"), Contoso: os.Getenv("CONTOSO_BIN")}
	if b.Portico != "" && b.Contoso != "" {
		return b, nil
	}
	root, err := moduleRoot()
	if err != nil {
		return Binaries{}, err
	}
	buildFolders.normal, err = os.MkdirTemp("", "portico-test-")
	if err != nil {
		return Binaries{}, err
	}
	if b.Portico == "" {
		b.Portico = filepath.Join(buildFolders.normal, "portico")
		if err := goBuild(root, "./cmd/portico", b.Portico); err != nil {
			return Binaries{}, err
		}
	}
	if b.Contoso == "" {
		b.Contoso = filepath.Join(buildFolders.normal, "contoso")
		if err := goBuild(root, "./cmd/contoso", b.Contoso); err != nil {
			return Binaries{}, err
		}
	}
	return b, nil
}

func buildPoints() (string, error) {
	if named := os.Getenv("PORTICO_FAILPOINTS_BIN"); named != "" {
		return named, nil
	}
	root, err := moduleRoot()
	if err != nil {
		return "", err
	}
	buildFolders.points, err = os.MkdirTemp("", "portico-test-")
	if err != nil {
		return "", err
	}
	program := filepath.Join(buildFolders.points, "portico-failpoints")
	return program, goBuild(root, "./cmd/portico", program, "-tags", "failpoints")
}

// moduleRoot asks the go command for the folder of the portico module, so that tests of
// other modules, which replace it by a path, build the same source.
func moduleRoot() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "portico").Output()
	if err != nil {
		return "", fmt.Errorf("harness: finding the portico module: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

func goBuild(root, pkg, output string, flags ...string) error {
	args := append([]string{"build", "-C", root, "-o", output}, flags...)
	cmd := exec.Command("go", append(args, pkg)...)
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &text
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("harness: building %s: %w\n%s", pkg, err, text.Bytes())
	}
	return nil
}
