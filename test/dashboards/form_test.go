package dashboards

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"portico/test/harness"
)

// TestForm checks what each dashboard's readers need: panels state their meaning and
// unit, none overlaps another, only known variables occur, and the longest durations
// link to the requests that took them.
func TestForm(t *testing.T) {
	uids := map[string]string{}
	longest := regexp.MustCompile(`^histogram_quantile\(0\.99, .*\(portico_(request|request_own|upstream|provider)_seconds_bucket\b`) // metrics with exemplars
	for _, d := range readDashboards(t) {
		if d.UID == "" || d.Title == "" || d.Description == "" || uids[d.UID] != "" {
			t.Errorf("%s: uid %q (also of %q), title %q, description %q", d.file, d.UID, uids[d.UID], d.Title, d.Description)
		}
		uids[d.UID] = d.file
		known := map[string]bool{"__rate_interval": true}
		for _, v := range d.Templating.List {
			if v.Description == "" || v.Type == "query" && (!v.IncludeAll || v.AllValue != ".*") {
				t.Errorf("%s: variable %+v", d.file, v)
			}
			known[v.Name] = true
		}
		ids, cells := map[int]bool{}, map[[2]int]string{}
		for _, p := range d.Panels {
			if ids[p.ID] {
				t.Errorf("%s: id %d is given twice", d.file, p.ID)
			}
			ids[p.ID] = true
			for x := range p.GridPos.W {
				for y := range p.GridPos.H {
					at := [2]int{p.GridPos.X + x, p.GridPos.Y + y}
					if other := cells[at]; other != "" || at[0] >= 24 {
						t.Fatalf("%s: %q lies on %q, or beyond the edge", d.file, p.Title, other)
					}
					cells[at] = p.Title
				}
			}
			if p.Type == "row" {
				continue
			}
			if p.Title == "" || p.Description == "" || p.FieldConfig.Defaults.Unit == "" || len(p.Targets) == 0 {
				t.Errorf("%s: panel %d %q lacks a description, a unit or a query", d.file, p.ID, p.Title)
			}
			for _, target := range p.Targets {
				for _, name := range regexp.MustCompile(`\$(\w+)`).FindAllStringSubmatch(target.Expr, -1) {
					if !known[name[1]] {
						t.Errorf("%s, %s: no variable %s", d.file, p.Title, name[1])
					}
				}
				if timed := p.Type == "timeseries" && longest.MatchString(target.Expr); timed != target.Exemplar {
					t.Errorf("%s, %s: exemplars: %v, and requests or calls to tell of: %v", d.file, p.Title, target.Exemplar, timed)
				}
				if !strings.Contains(target.Expr, `job=~"$job"`) {
					t.Errorf("%s, %s: %s mixes deployments", d.file, p.Title, target.Expr)
				}
			}
		}
	}
}

// TestAnnotations checks that all dashboards mark the same events, of the deployments that
// are looked at alone.
func TestAnnotations(t *testing.T) {
	all := readDashboards(t)
	for _, d := range all {
		if !reflect.DeepEqual(d.Annotations, all[0].Annotations) || len(d.Annotations.List) == 0 {
			t.Errorf("%s: annotations %+v", d.file, d.Annotations)
		}
		for _, a := range d.Annotations.List {
			if strings.Count(a.Expr, `{job=~"$job"}`) != strings.Count(a.Expr, "{") || !a.Enable || a.UseValueForTime != "on" || a.TitleFormat == "" {
				t.Errorf("%s: %+v", d.file, a)
			}
		}
	}
}

// TestLinks checks that curves of a region or of a provider lead to its board, for the same
// deployments and times.
func TestLinks(t *testing.T) {
	boards := map[string]dashboard{}
	for _, d := range readDashboards(t) {
		boards[d.UID] = d
	}
	for _, kind := range []string{"region", "provider"} {
		board, linked := "portico-"+kind, 0
		want := "/d/" + board + "?${datasource:queryparam}&${job:queryparam}&var-" + kind + "=${__field.labels." + kind + ":percentencode}&${__url_time_range}"
		if !slices.ContainsFunc(boards[board].Templating.List, func(v variable) bool { return v.Name == kind }) {
			t.Fatalf("%s has no variable %s", board, kind)
		}
		for _, d := range boards {
			for _, p := range d.Panels {
				// Alerts of no region would lead nowhere.
				names := d.UID != board && !strings.Contains(p.expressions(), "ALERTS") && strings.Contains(p.legends(), "{{"+kind+"}}")
				links := false
				for _, link := range p.FieldConfig.Defaults.Links {
					links = links || link.URL == want && link.Title != ""
				}
				if names != links {
					t.Errorf("%s, %q: it names a %s: %v, and links to its board: %v", d.file, p.Title, kind, names, links)
				}
				if links {
					linked++
				}
			}
		}
		if linked == 0 {
			t.Errorf("nothing leads to %s", board)
		}
	}
}

// TestThresholds compares the thresholds of the board of a region with the alerts.
func TestThresholds(t *testing.T) {
	rules := map[string]string{}
	for _, r := range readRules(t) {
		rules[r.Alert] = r.Expr
	}
	bound := func(alert, pattern string) float64 {
		found := regexp.MustCompile(pattern).FindStringSubmatch(rules[alert])
		if found == nil {
			t.Fatalf("%s: no %s in %s", alert, pattern, rules[alert])
		}
		n, err := strconv.ParseFloat(found[1], 64)
		harness.OK(t, err)
		return n
	}
	want := map[string][]float64{
		"Share that fails":               {bound("PorticoRegionErrorBudgetFast", `/ ([0-9.]+)`), bound("PorticoRegionDown", `> ([0-9.]+)`)},
		"Group deletes that wait for it": {bound("PorticoGroupDeleteWaiting", `> ([0-9.]+)`) + 1},
		"Addresses in use":               {bound("PorticoEndpointDown", `== ([0-9.]+)`) + 1},
		"Circuits":                       {1, 2}, // half-open, open
	}
	for _, d := range readDashboards(t) {
		for _, p := range d.Panels {
			if d.UID != "portico-region" || p.Type == "row" {
				continue
			}
			var steps []float64
			for i, step := range p.FieldConfig.Defaults.Thresholds.Steps {
				if (step.Value == nil) != (i == 0) || step.Color == "" {
					t.Errorf("%s: step %d is %+v", p.Title, i, step)
				} else if i > 0 {
					steps = append(steps, *step.Value)
				}
			}
			if drawn := p.FieldConfig.Defaults.Custom.ThresholdsStyle.Mode != ""; !slices.Equal(steps, want[p.Title]) || drawn != (len(steps) > 0) {
				t.Errorf("%s: thresholds %v, drawn: %v, want %v", p.Title, steps, drawn, want[p.Title])
			}
			delete(want, p.Title)
		}
	}
	if len(want) > 0 {
		t.Errorf("no panels: %v", want)
	}
}

// TestRunbook checks that each alert has a severity, texts, and a section of the
// runbook that says what to do, and links it, a dashboard and a page of the console.
func TestRunbook(t *testing.T) {
	sections := map[string]bool{}
	text, err := os.ReadFile(deploy + "/runbook.md")
	harness.OK(t, err)
	for _, heading := range regexp.MustCompile(`(?m)^## (Portico\w+)\n\n\S.{60}`).FindAllStringSubmatch(string(text), -1) {
		sections[heading[1]] = true
	}
	boards := map[string]bool{}
	for _, d := range readDashboards(t) {
		boards[d.UID] = true
	}
	console, err := os.ReadFile("../../gateway/admin/console/assets/console.js")
	harness.OK(t, err)
	for _, a := range alerts(readRules(t)) {
		board, _ := strings.CutPrefix(a.Annotations["dashboard_url"], "https://grafana.example/d/")
		if name := regexp.MustCompile(`^[a-z-]*`).FindString(board); !boards[name] {
			t.Errorf("%s links %s, which is no dashboard", a.Alert, a.Annotations["dashboard_url"])
		}
		page, _ := strings.CutPrefix(a.Annotations["console_url"], "https://portico-admin.example/#/")
		if name, _, _ := strings.Cut(page, "?"); !strings.Contains(string(console), "['"+name+"', '") {
			t.Errorf("%s links %s, which the console does not have", a.Alert, a.Annotations["console_url"])
		}
		if s := a.Labels["severity"]; s != "page" && s != "ticket" {
			t.Errorf("%s has severity %q", a.Alert, s)
		}
		if a.Annotations["summary"] == "" || a.Annotations["description"] == "" || a.Annotations["runbook_url"] != "https://portico.example/deploy/runbook.md#"+strings.ToLower(a.Alert) {
			t.Errorf("%s: annotations %v", a.Alert, a.Annotations)
		}
		if !sections[a.Alert] {
			t.Errorf("the runbook has no section %s, or nothing in it", a.Alert)
		}
		delete(sections, a.Alert)
	}
	for name := range sections {
		t.Errorf("the runbook tells of %s, which is no alert", name)
	}
}

// TestSeries checks that package rules shows each alert firing and silent whose windows are
// too long to wait for.
func TestSeries(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("rules", "testdata", "rules.yaml"))
	harness.OK(t, err)
	all := readRules(t)
	for _, a := range alerts(all) {
		if looksBack(t, a, all) <= longestLive {
			continue
		}
		fires := regexp.MustCompile(`(?m)alertname: ` + a.Alert + `\n\s+exp_alerts:\n`).Match(text)
		silent := regexp.MustCompile(`(?m)alertname: ` + a.Alert + `, exp_alerts: \[\]`).Match(text)
		if !fires || !silent {
			t.Errorf("%s: made-up series in which it fires: %v, in which it is silent: %v", a.Alert, fires, silent)
		}
	}
}
