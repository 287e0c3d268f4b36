package browser

import (
	"fmt"
	"testing"
)

// A command leads to the page that shows the same.
func TestCommandsLeadToPages(t *testing.T) {
	t.Parallel()
	b := newTab(t, newBrowser(t))
	b.open(fixedConsole(t))
	for command, want := range map[string]string{
		"why s.1": "#/why?of=s.1", "why '/subscriptions/s/resourceGroups/a b'": "#/why?of=%2Fsubscriptions%2Fs%2FresourceGroups%2Fa+b",
		"regions": "#/region?name=subject", "regions drain eastus --reason REASON --until TIME": "#/region?name=eastus",
		"regions undrain https://a.east.example": "#/region?address=https%3A%2F%2Fa.east.example",
		"retire eastus --dry-run":                "#/region?name=eastus", "unstick s.1 --ask": "#/job?id=s.1",
		"unstick /subscriptions/s --give-up --dry-run": "#/resource?id=%2Fsubscriptions%2Fs",
		"unstick sink/audit/7 --ask":                   "#/sinks?name=audit", "sinks replay audit 7": "#/sinks?name=audit",
		"jobs show s.1": "#/job?id=s.1", "jobs list --kind sweep": "#/jobs?kind=sweep", "jobs list": "#/jobs",
		"errors --blame provider": "#/errors?blame=provider", "configuration history": "#/configuration", "doubts": "#/index", "ready": "",
	} {
		if got := b.text(fmt.Sprintf(`(await import('/console/links.js')).next(%q, 'subject')`, "portico "+command)); got != want {
			t.Errorf("portico %s leads to %q, want %q", command, got, want)
		}
	}
}
