package upgrade

import (
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"portico/test/harness"
)

//go:embed earlier.txt
var earlierCommit string

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// earlierProgram builds the program of the earlier version.
func earlierProgram(t *testing.T) string {
	t.Helper()
	commit := strings.TrimSpace(earlierCommit)
	source, folder := t.TempDir(), t.TempDir()
	archive := filepath.Join(folder, "source.tar")
	// From a folder below the root an archive would be of that folder alone.
	if out, err := exec.CommandContext(t.Context(), "git", "-C", "../..", "archive", "--output", archive, commit).CombinedOutput(); err != nil {
		t.Logf("NOT TESTED: an upgrade from %s. Its source cannot be had (%v): %s. A clone gets its history by git fetch --unshallow. The present version takes the part of the earlier one.", commit, err, out)
		return harness.Build(t).Portico
	}
	run(t, source, "tar", "-xf", archive)
	program := filepath.Join(folder, "portico")
	run(t, source, "go", "build", "-trimpath", "-buildvcs=false", "-o", program, "./cmd/portico")
	return program
}

// What the earlier version has of migrations stays as it is: databases have it.
func TestMigrationsStay(t *testing.T) {
	t.Parallel()
	const root, folder = "../..", "inventory/migrations/"
	commit := strings.TrimSpace(earlierCommit)
	if err := exec.CommandContext(t.Context(), "git", "-C", root, "cat-file", "-e", commit).Run(); err != nil {
		t.Logf("NOT TESTED: the migrations of %s. Its source cannot be had", commit)
		return
	}
	for name := range strings.Lines(run(t, root, "git", "ls-tree", "--name-only", commit, folder)) {
		if name = strings.TrimSpace(name); filepath.Ext(name) != ".sql" {
			continue
		}
		text, err := os.ReadFile(root + "/" + name)
		if before := run(t, root, "git", "show", commit+":"+name); err != nil || string(text) != before {
			t.Errorf("%s has changed, %v: add another migration", name, err)
		}
	}
}

func run(t *testing.T, folder, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = folder
	var errors strings.Builder
	cmd.Stderr = &errors
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, errors.String())
	}
	return string(out)
}
