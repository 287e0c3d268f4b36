// Package rules contains only a test: promtool checks the alert rules, and runs those whose
// windows are too long to wait for on made-up series. It is apart from the other tests of
// the rules, as it takes promtool half a minute of a processor and depends on no program.
package rules

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestRules(t *testing.T) {
	_ = os.Getenv("PORTICO_INPUTS") // the result holds for as long as this says the same
	for _, step := range []struct{ command, file string }{
		{"check", filepath.Join("..", "..", "..", "deploy", "prometheus", "rules.yaml")},
		{"test", filepath.Join("testdata", "rules.yaml")},
	} {
		if out, err := exec.CommandContext(t.Context(), "promtool", step.command, "rules", step.file).CombinedOutput(); err != nil {
			t.Errorf("promtool %s rules %s: %v\n%s", step.command, step.file, err, out)
		}
	}
}
