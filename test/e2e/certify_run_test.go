package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"portico/test/harness"
)

// certified is a call of portico certify that has ended.
type certified struct {
	stdout, stderr string
	reports        string
}

// startCertify calls portico certify with a file and further arguments.
func startCertify(t *testing.T, f certifyFile, args ...string) (p *harness.Process, reports string) {
	t.Helper()
	text, err := yaml.Marshal(f)
	harness.OK(t, err)
	file := filepath.Join(t.TempDir(), "certify.yaml")
	harness.OK(t, os.WriteFile(file, text, 0o600))
	reports = filepath.Join(t.TempDir(), "reports")
	args = append([]string{"certify", "--config", file, "--report", reports}, args...)
	return harness.Start(t, "portico certify", t.TempDir(), harness.Build(t).Portico, args...), reports
}

// certify is startCertify to its end, with an exit status.
func certify(t *testing.T, f certifyFile, exit int, args ...string) certified {
	t.Helper()
	p, reports := startCertify(t, f, args...)
	exits(t, p, exit)
	return certified{p.Stdout(), p.Stderr(), reports}
}

// certifyBound is how long a run of all cases may take on a machine that does much else.
const certifyBound = 15 * time.Minute

// exits fails the test unless the process ends by itself with an exit status.
func exits(t *testing.T, p *harness.Process, want int) {
	t.Helper()
	if code := p.ExitCodeWithin(t, certifyBound); code != want {
		t.Fatalf("exit code %d, want %d\n%s%s", code, want, p.Stdout(), p.Stderr())
	}
}

// certifyResults are the parts of results.json that tests look at.
type certifyResults struct {
	Claimed []string
	Results []struct{ Case, Profile, Outcome, Why string }
	Left    []string
}

func (c certified) results(t *testing.T) certifyResults {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(c.reports, "results.json"))
	harness.OK(t, err)
	return parseResults(t, text)
}

func parseResults(t *testing.T, text []byte) certifyResults {
	t.Helper()
	var r certifyResults
	harness.OK(t, json.Unmarshal(text, &r))
	return r
}

// outcomes are the cases with an outcome, each once.
func (r certifyResults) outcomes(outcome string) []string {
	var ids []string
	for _, result := range r.Results {
		if result.Outcome == outcome {
			ids = append(ids, result.Case)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// verdict is the line of a profile in the summary.
func (c certified) verdict(profile string) string {
	for line := range strings.Lines(c.stdout) {
		if strings.HasPrefix(line, profile+" ") {
			fields := strings.Fields(line)
			verdict, _, _ := strings.Cut(strings.Join(fields[5:], " "), ";") // behind it is how much was not tried
			return verdict
		}
	}
	return "absent"
}

// holdNothing expects that no endpoint has a resource.
func holdNothing(t *testing.T, all []*harness.Contoso) {
	t.Helper()
	for _, c := range all {
		if ids := c.IDs(t); len(ids) > 0 {
			t.Errorf("%s still has %q", c.Region, ids)
		}
	}
}
