package dashboards

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"portico/test/harness"
)

var write = flag.Bool("write", false, "write the example of deploy/runbook.md and its pictures anew")

// customer is a subscription of the site that loses a region, with the regions of its
// machines.
type customer struct {
	id, name string
	regions  []string
}

// customers belong to the site that loses eastus, beside its own subscription.
func customers() []customer {
	return []customer{
		{"00000000-0000-0000-0000-0000000002a1", "Adatum", []string{"eastus", "westus"}},
		{"00000000-0000-0000-0000-0000000002b2", "Fabrikam", []string{"westus", "northeurope"}},
		{"00000000-0000-0000-0000-0000000002c3", "Tailspin", []string{"eastus"}},
	}
}

func subscriptions() (all []harness.Subscription) {
	for _, c := range customers() {
		all = append(all, harness.Subscription{ID: c.id, TenantID: harness.TenantID, DisplayName: c.name, State: "Enabled"})
	}
	return all
}

// settle creates the customers' machines, and returns the requests that they repeat.
func (s *site) settle(t *testing.T) (lanes [][]harness.Request) {
	t.Helper()
	for _, c := range customers() {
		var lane []harness.Request
		base := "/subscriptions/" + c.id + "/resourceGroups/rg"
		s.Portico.Do(t, harness.Request{Method: http.MethodPut, Path: base + "?api-version=2021-04-01", Body: `{"location":"westus"}`}).Want(t, 201)
		for _, region := range c.regions {
			path := base + "/providers/Contoso.Compute/virtualMachines/vm-" + region + "?api-version=" + harness.Version
			s.Portico.Do(t, harness.Request{Method: http.MethodPut, Path: path, Body: machine(region)}).Want(t, 201)
			lane = append(lane, harness.Request{Path: path})
		}
		lanes = append(lanes, lane)
	}
	return lanes
}

// finding is what an operator learns about a broken region from dashboards and log
// alone.
type finding struct {
	expr      map[string]string // panels' queries, by title
	regions   []string
	since     time.Time
	alerted   time.Time
	first     time.Time // a failed line of the log
	suffering map[string]int
	panels    map[string][]harness.Series
}

// investigate reads the panels that the runbook names, and the log.
func investigate(t *testing.T, p *harness.Prometheus, s *site, started, broken time.Time) finding {
	t.Helper()
	f := finding{expr: map[string]string{}, panels: map[string][]harness.Series{}, suffering: map[string]int{}}
	for _, title := range []string{"Regions that fail", "Share of calls that fail", "Errors by whose they are", "Portico's own errors"} {
		expr := panelQuery(t, "overview.json", title)
		f.expr[title] = expr
		series, err := p.QueryRange(t.Context(), strings.ReplaceAll(strings.ReplaceAll(expr, `=~"$job"`, `="`+s.job+`"`), "$__rate_interval", "10s"), started, time.Second)
		if err != nil || len(series) == 0 {
			t.Fatalf("%s: %v, %v", title, series, err)
		}
		f.panels[title] = series
	}
	for _, series := range f.panels["Share of calls that fail"] {
		failing := slices.IndexFunc(series.Points, func(p harness.Point) bool { return p.At.After(broken.Add(-time.Second)) && p.Value > 0.2 })
		if last := series.Last(); last > 0.9 && failing >= 0 {
			f.regions, f.since = append(f.regions, series.Labels["region"]), series.Points[failing].At
		}
	}
	now, err := p.Alerts(t.Context())
	harness.OK(t, err)
	for _, a := range now {
		if a.Labels["alertname"] == "PorticoRegionDown" && a.Labels["job"] == s.job {
			f.alerted = a.ActiveAt.UTC()
		}
	}
	f.readLog(s.Portico.Log(), broken)
	return f
}

// readLog counts requests for the failed region, by subscription, like the runbook's jq
// line.
func (f *finding) readLog(log string, broken time.Time) {
	for line := range strings.Lines(log) {
		var entry struct {
			Logger, Subscription, Region, Cause string
			TS                                  time.Time
			Status                              int
		}
		if json.Unmarshal([]byte(line), &entry) != nil || entry.Logger != "access" || entry.Region != "eastus" || entry.Status < 500 || entry.Cause != "gateway" {
			continue
		}
		f.suffering[entry.Subscription]++
		at := entry.TS.UTC()
		if at.After(broken.Add(-time.Second)) && (f.first.IsZero() || at.Before(f.first)) {
			f.first = at
		}
	}
}

func panelQuery(t *testing.T, file, title string) string {
	t.Helper()
	for _, d := range readDashboards(t) {
		for _, p := range d.Panels {
			if d.file == file && p.Title == title {
				return p.Targets[0].Expr
			}
		}
	}
	t.Fatalf("%s has no panel %q", file, title)
	return ""
}

// check compares the findings with the truth.
func (f finding) check(t *testing.T, s *site, broken time.Time) {
	t.Helper()
	if !slices.Equal(f.regions, []string{"eastus"}) {
		t.Errorf("the dashboards name %v as broken", f.regions)
	}
	for what, at := range map[string]time.Time{"dashboard": f.since, "log": f.first} {
		if at.Before(broken.Add(-time.Second)) || at.After(f.alerted.Add(30*time.Second)) {
			t.Errorf("by the %s it began at %v, really at %v", what, at, broken)
		}
	}
	for _, c := range append(customers(), customer{id: s.SubscriptionID, regions: []string{"eastus"}}) {
		if suffers := f.suffering[c.id] > 0; suffers != slices.Contains(c.regions, "eastus") {
			t.Errorf("%s %s suffers by the log: %v", c.name, c.id, suffers)
		}
	}
}

const (
	exampleBegins = "<!-- Written by a test from answers really seen: make pictures -->\n"
	exampleHead   = "## An example: a region breaks\n\n"
)

// publish writes the example and its pictures.
func (f finding) publish(t *testing.T, s *site, started, broken time.Time) {
	t.Helper()
	clock := func(at time.Time) string { return at.UTC().Format("15:04:05") }
	to := time.Now()
	percent := func(v float64) string { return fmt.Sprintf("%.0f %%", 100*v) }
	perSecond := func(v float64) string { return fmt.Sprintf("%.1f/s", v) }
	label := func(name string) func(harness.Series) string {
		return func(s harness.Series) string { return s.Labels[name] }
	}
	pictures := map[string]string{
		"share.svg":  chart("Share of calls that fail, by region", f.panels["Share of calls that fail"], label("region"), percent, started, to, broken, "eastus is killed"),
		"errors.svg": chart("Errors by whose they are", f.panels["Errors by whose they are"], label("cause"), perSecond, started, to, broken, "eastus is killed"),
	}
	for name, text := range pictures {
		harness.OK(t, os.WriteFile(filepath.Join(deploy, "pictures", name), []byte(text), 0o600))
	}

	var out strings.Builder
	out.WriteString(exampleHead + exampleBegins)
	fmt.Fprintf(&out, `
At %s an endpoint was killed without a word to anybody, under load. What follows was
asked for and answered %s later, by one gateway (scrape job %s).

**Is something wrong, and is it Portico?** *Overview*, *Regions that fail*:

    %s
    → %g

and *Portico's own errors*:

    %s
    → %s

So Portico is well, and a region is not. *Errors by whose they are* shows the errors
of cause gateway begin; the few of cause service are a provider's own, and were there
before:

![errors by whose they are](pictures/errors.svg)

**Which?** *Overview*, *Share of calls that fail*:

    %s
`, clock(broken), to.Sub(broken).Round(time.Second), s.job,
		f.expr["Regions that fail"], f.panels["Regions that fail"][0].Last(),
		f.expr["Portico's own errors"], share(f.panels["Portico's own errors"][0].Last()), f.expr["Share of calls that fail"])
	for _, series := range f.panels["Share of calls that fail"] {
		fmt.Fprintf(&out, "    → %s %s\n", series.Labels["region"], share(series.Last()))
	}
	fmt.Fprintf(&out, `
![share of calls that fail](pictures/share.svg)

It is %s. What fails in westus are the 500s of its provider, which were there before.

**Since when?** The curve leaves zero at %s; it is a share over a minute, so it climbs.
PorticoRegionDown has been active since %s, when nine of ten had failed for a minute.
The log is sharper. Its first failing line for the region:

    jq -r 'select(.logger == "access" and .region == "%s" and .cause == "gateway" and .status >= 500) | .ts' < log | head -1
    → %s

**Which customers suffer?** Those in the log's failing lines, by subscription:

    jq -r 'select(.logger == "access" and .region == "%[4]s" and .cause == "gateway" and .status >= 500)
           | .subscription' < log | sort | uniq -c | sort -rn
`, strings.Join(f.regions, ", "), clock(f.since), clock(f.alerted), f.regions[0], f.first.Format("15:04:05.000"))
	names := map[string]string{s.SubscriptionID: "the tests' own"}
	for _, c := range customers() {
		names[c.id] = c.name
	}
	ids := []string{}
	for id := range f.suffering {
		ids = append(ids, id)
	}
	slices.SortFunc(ids, func(a, b string) int { return f.suffering[b] - f.suffering[a] })
	for _, id := range ids {
		fmt.Fprintf(&out, "    → %4d %s   (%s)\n", f.suffering[id], id, names[id])
	}
	out.WriteString("\nFabrikam, which has machines in westus and northeurope alone, is not among them, and\nnotices nothing but in lists over all regions.\n")

	file := filepath.Join(deploy, "runbook.md")
	text, err := os.ReadFile(file)
	harness.OK(t, err)
	before, _, _ := strings.Cut(string(text), exampleHead)
	harness.OK(t, os.WriteFile(file, []byte(strings.TrimRight(before, "\n")+"\n\n"+out.String()), 0o600))
}

func share(v float64) string {
	if math.IsNaN(v) {
		return "no calls"
	}
	return fmt.Sprintf("%.1f %%", 100*v)
}

// TestExample compares the example with the queries of the dashboards.
func TestExample(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(deploy, "runbook.md"))
	harness.OK(t, err)
	_, example, ok := strings.Cut(string(text), exampleHead)
	if !ok {
		t.Fatal("the runbook has no example")
	}
	for _, title := range []string{"Regions that fail", "Share of calls that fail", "Portico's own errors"} {
		if expr := panelQuery(t, "overview.json", title); !strings.Contains(example, "\n    "+expr+"\n") {
			t.Errorf("the query of %q is another by now: make pictures", title)
		}
	}
	for _, picture := range regexp.MustCompile(`\((pictures/\S+)\)`).FindAllStringSubmatch(example, -1) {
		if _, err := os.Stat(filepath.Join(deploy, picture[1])); err != nil {
			t.Error(err)
		}
	}
}
