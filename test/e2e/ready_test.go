package e2e

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"portico/test/harness"
)

// TestReady asks as a container's health check does: with no more than the
// program and its configuration.
func TestReady(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{})
	portico := w.Portico
	ready := func() *harness.Process {
		return harness.Start(t, "portico ready", t.TempDir(), harness.Build(t).Portico, "ready", "--config", portico.ConfigFile)
	}
	if p := ready(); p.ExitCode(t) != 0 {
		t.Errorf("a service that runs is not ready: %s", p.Stderr())
	}
	// A configuration that was spoilt meanwhile is refused at reloads, and does not
	// make a service sick that goes on.
	good := portico.Text(t, w.Config)
	portico.Write(t, good+"wibble: 1\n")
	if p := ready(); p.ExitCode(t) != 0 {
		t.Errorf("a service whose configuration was spoilt is not ready: %s", p.Stderr())
	}
	portico.Write(t, good)
	portico.Stop(t)
	if p := ready(); p.ExitCode(t) != 1 || !strings.Contains(p.Stderr(), "portico: ") {
		t.Errorf("a service that has stopped is ready: %s", p.Stderr())
	}
}

// TestReferenceOfTheProgram holds the program that is shipped to the pages
// that are.
func TestReferenceOfTheProgram(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file string
		args []string
	}{
		{"reference.md", []string{"reference"}},
		{"portico.schema.json", []string{"reference", "--schema"}},
	} {
		want, err := os.ReadFile(filepath.Join("..", "..", "configs", c.file))
		harness.OK(t, err)
		p := harness.Start(t, "portico reference", t.TempDir(), harness.Build(t).Portico, c.args...)
		if code := p.ExitCode(t); code != 0 || !bytes.Equal([]byte(p.Stdout()), want) {
			t.Errorf("portico %s: exit code %d, %d bytes where %s has %d", strings.Join(c.args, " "), code, len(p.Stdout()), c.file, len(want))
		}
	}
}
