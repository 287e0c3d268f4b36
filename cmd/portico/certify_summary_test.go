package main

import (
	"path/filepath"
	"strings"
	"testing"

	"portico/cmd/portico/terminal"
	"portico/provider/certify/contract"
	"portico/provider/certify/report"
)

// A terminal shows a short script, and names the place of any other.
func TestScriptsStandInTheReport(t *testing.T) {
	broken := contract.Result{Case: "list/every-page-is-reached", Type: "Acme.Stuff/widgets", Outcome: contract.Broken, Faults: []contract.Fault{{Expected: "an end", Got: "none"}}}
	short, long := broken, broken
	short.Script = "again 'https://short.example'\n"
	long.Script = strings.Repeat("again 'https://long.example'\n", 1000)
	for _, row := range []struct {
		reports string
		result  contract.Result
		has     string
		lacks   string
	}{
		{"", short, "\n    again 'https://short.example'\n", "--report"},
		{"", long, "again:    a script of 1000 lines, which --report DIR writes\n", "long.example"},
		{"certified", short, "again:    " + filepath.Join("certified", report.HTMLFile) + "#list/every-page-is-reached@Acme.Stuff/widgets\n", "short.example"},
		{"certified", long, "again:    " + filepath.Join("certified", report.HTMLFile) + "#", "long.example"},
	} {
		var out strings.Builder
		c := certification{stdout: &out, reports: row.reports, format: terminal.TableFormat}
		if err := c.summarise(report.Run{Results: []contract.Result{row.result}}); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); !strings.Contains(got, row.has) || strings.Contains(got, row.lacks) {
			t.Errorf("with --report %q:\n%s", row.reports, got)
		}
	}
}
