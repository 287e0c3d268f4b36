package harness

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Binaries are the paths of the programs under test.
type Binaries struct {
	Portico string
	Contoso string
}

// built builds both programs at the first call; a test binary builds at most
// once, however many tests it has.
var built = sync.OnceValues(build)

// buildFolder is where built put the programs; [Main] removes it. It is
// written before built's first call returns and read only after the tests.
var buildFolder string

// Build returns the programs, building what the environment does not name. It
// ends the test when they do not build.
func Build(t testing.TB) Binaries {
	t.Helper()
	b, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// Main runs a package's tests and removes the programs that they built. Call
// it from TestMain:
//
//	func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }
func Main(m *testing.M) int {
	code := m.Run()
	if buildFolder != "" {
		if err := os.RemoveAll(buildFolder); err != nil {
			fmt.Fprintln(os.Stderr, "harness: removing the programs:", err)
		}
	}
	return code
}

func build() (Binaries, error) {
	b := Binaries{Portico: os.Getenv("PORTICO_BIN"), Contoso: os.Getenv("CONTOSO_BIN")}
	if b.Portico != "" && b.Contoso != "" {
		return b, nil
	}
	root, err := moduleRoot()
	if err != nil {
		return Binaries{}, err
	}
	buildFolder, err = os.MkdirTemp("", "portico-test-")
	if err != nil {
		return Binaries{}, err
	}
	if b.Portico == "" {
		b.Portico = filepath.Join(buildFolder, "portico")
		if err := goBuild(root, "./cmd/portico", b.Portico); err != nil {
			return Binaries{}, err
		}
	}
	if b.Contoso == "" {
		b.Contoso = filepath.Join(buildFolder, "contoso")
		if err := goBuild(root, "./cmd/contoso", b.Contoso); err != nil {
			return Binaries{}, err
		}
	}
	return b, nil
}

// moduleRoot asks the go command where the portico module lies, so that tests
// of other modules, which replace it by a path, build the same source.
func moduleRoot() (string, error) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "portico").Output()
	if err != nil {
		return "", fmt.Errorf("harness: finding the portico module: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

func goBuild(root, pkg, output string) error {
	args := []string{"build", "-C", root, "-o", output}
	if os.Getenv("PORTICO_TEST_RACE") == "1" {
		args = append(args, "-race")
	}
	cmd := exec.Command("go", append(args, pkg)...)
	var text bytes.Buffer
	cmd.Stdout, cmd.Stderr = &text, &text
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("harness: building %s: %w\n%s", pkg, err, text.Bytes())
	}
	return nil
}
