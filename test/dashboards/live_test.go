package dashboards

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"portico/test/harness"
)

// Bounds of waits; they measure nothing.
const (
	soundFor   = 15 * time.Second // of load, before the faults
	firingTime = 4 * time.Minute  // until every alert has fired
)

// expected are the alerts that each fault must cause, and after them those that it may
// cause; no others may fire.
type expected struct {
	must, may map[string]bool // "job alert"
}

func (e *expected) fires(s *site, alerts ...string) {
	for _, a := range alerts {
		e.must[s.job+" "+a] = true
	}
}

func (e *expected) mayFire(s *site, alerts ...string) {
	for _, a := range alerts {
		e.may[s.job+" "+a] = true
	}
}

// budgets burn wherever something fails: after seconds, a few failed requests are more than
// is allowed for.
var budgets = []string{"PorticoErrorBudgetFast", "PorticoErrorBudgetSlow", "PorticoRegionErrorBudgetFast", "PorticoRegionErrorBudgetSlow"}

// TestLive causes every fault, waits for every alert, and queries every panel.
func TestLive(t *testing.T) {
	var watch *watcher
	t.Cleanup(func() { // behind what the processes wrote
		if watch != nil && watch.fault != "" {
			t.Log(watch.fault)
		}
	})
	shared := startProviders(t)
	doomed := maps.Clone(shared)
	doomed["eastus"] = harness.StartContoso(t, "eastus", harness.ContosoOptions{})
	cluster := harness.StartPostgres(t)
	at := func(p providers) harness.Config { return harness.Config{Endpoints: p.urls()} }
	stored, secured := at(shared), at(shared)
	stored.Postgres = cluster.CreateDatabase(t, "portico")
	secured.TLS = true
	secured.Tokens = tokens()
	secured.Endpoints["westus"] += ",http://" + harness.FreeAddress(t)

	telling := at(shared)
	telling.Extra = `
events:
  sinks:
    - {name: nobody, url: "http://` + harness.FreeAddress(t) + `", secret: whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=}
`

	sound := startSite(t, 1, "portico-sound", telling)
	losing := at(doomed)
	losing.Subscriptions = subscriptions()
	region := startSite(t, 2, "portico-region", losing)
	store := startSite(t, 3, "portico-store", stored)
	jobs := startSite(t, 4, "portico-jobs", at(shared))
	ledger := startSite(t, 5, "portico-ledger", secured)
	full := startSite(t, 6, "portico-full", at(shared))
	gone := startSite(t, 7, "portico-gone", at(shared))
	trust := startTrust(t, shared)
	sites := []*site{sound, region, store, jobs, ledger, full, gone, trust.site}

	targets := map[string][]string{}
	for _, s := range sites {
		targets[s.job] = []string{s.address()}
	}
	started := time.Now()
	prometheus := harness.StartPrometheus(t, targets, rulesFile)

	want := &expected{must: map[string]bool{}, may: map[string]bool{}}
	// From the start: its certificate is valid for a day, and the second address of westus
	// has no listener.
	want.fires(ledger, "PorticoCertificateExpires", "PorticoEndpointDown")
	want.fires(trust.site, "PorticoCertificateExpires")
	trust.load(t)
	sound.load(t, sound.deployments())
	sound.move(t)
	region.load(t, append(region.settle(t), region.failing())...)
	want.mayFire(region, budgets...)
	store.load(t)
	sound.sweep(t)
	ledger.sweep(t)
	watch = &watcher{prometheus: prometheus, want: want, fired: map[string]bool{}}
	watch.until(t, soundFor, func() bool { return time.Since(started) > soundFor })

	want.fires(region, "PorticoRegionDown", "PorticoGroupDeleteWaiting", "PorticoOperationTooLong", "PorticoCreationsHeld")
	region.prepareLoss(t)
	broken := time.Now()
	doomed["eastus"].Kill(t)
	region.deleteGroup(t)
	region.takeOver(t)
	want.fires(store, "PorticoStoreDown")
	want.mayFire(store, budgets...)
	cluster.Stop(t)
	want.fires(jobs, "PorticoJobStuck")
	want.mayFire(jobs, append(budgets, "PorticoOperationTooLong")...)
	jobs.holdJob(t)
	want.fires(ledger, "PorticoIndexDrift", "PorticoResourceInTwoRegions", "PorticoReloadFailed", "PorticoRemovedCredentialsAccepted")
	ledger.spoilConfiguration(t)
	ledger.drift(t, shared)
	want.mayFire(ledger, budgets...) // an address of westus has no listener
	want.fires(full, "PorticoSaturated")
	want.mayFire(full, append(budgets, "PorticoRegionDown", "PorticoProviderDown")...) // no file is left for its calls
	full.useUpFiles(t)
	want.fires(trust.site, "PorticoUntrusted", "PorticoProviderUntrusted")
	want.mayFire(trust.site, append(budgets, "PorticoRegionDown", "PorticoEndpointDown", "PorticoProviderDown", "PorticoOperationTooLong", "PorticoGroupDeleteWaiting")...)
	trust.end(t)
	want.fires(gone, "PorticoDown")
	gone.Portico.Kill(t)

	want.complete(t)
	watch.until(t, firingTime, watch.all)
	t.Logf("every alert has fired %v after the start", time.Since(started).Round(time.Second))
	askPanels(t, prometheus, started)
	askAnnotations(t, prometheus, started)
	found := investigate(t, prometheus, region, started, broken)
	found.check(t, region, broken)
	if *write && !t.Failed() {
		found.publish(t, region, started, broken)
	}
}

// complete fails the test unless some site expects every alert whose window is not too
// long.
func (e *expected) complete(t *testing.T) {
	t.Helper()
	all := readRules(t)
	for _, a := range alerts(all) {
		if looksBack(t, a, all) > longestLive {
			continue
		}
		created := slices.ContainsFunc(slices.Collect(maps.Keys(e.must)), func(key string) bool { return strings.HasSuffix(key, " "+a.Alert) })
		if !created {
			t.Errorf("no fault is made for %s", a.Alert)
		}
	}
}

// watcher watches the firing alerts all the time.
type watcher struct {
	prometheus *harness.Prometheus
	want       *expected
	fired      map[string]bool
	fault      string
}

// until watches until done, and fails the test at the first alert without a cause.
func (w *watcher) until(t *testing.T, bound time.Duration, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(bound + time.Minute); !done(); time.Sleep(500 * time.Millisecond) {
		now, err := w.prometheus.Alerts(t.Context())
		harness.OK(t, err)
		for _, a := range now {
			key := a.Labels["job"] + " " + a.Labels["alertname"]
			if a.State != "firing" || w.want.may[key] {
				continue
			}
			if !w.want.must[key] {
				w.fault = fmt.Sprintf("fires without a cause: %v, %v; others that fire: %v", a.Labels, a.Annotations, slices.Sorted(maps.Keys(w.fired)))
				t.Fatal(w.fault)
			}
			w.fired[key] = true
		}
		if time.Now().After(deadline) {
			w.fault = fmt.Sprintf("have fired: %v, should have: %v", slices.Sorted(maps.Keys(w.fired)), slices.Sorted(maps.Keys(w.want.must)))
			t.Fatal(w.fault)
		}
	}
}

func (w *watcher) all() bool { return len(w.fired) == len(w.want.must) }

// askPanels queries everything that the dashboards show, and the values of their
// variables, since the beginning.
func askPanels(t *testing.T, p *harness.Prometheus, started time.Time) {
	t.Helper()
	queries := 0
	for _, d := range readDashboards(t) {
		for _, v := range d.Templating.List {
			if v.Type != "query" {
				continue
			}
			var metric, label string
			if _, err := fmt.Sscanf(strings.NewReplacer("(", " ", ",", " ", ")", " ").Replace(v.Definition), "label_values %s %s", &metric, &label); err != nil {
				t.Errorf("%s, variable %s: %q", d.file, v.Name, v.Definition)
				continue
			}
			if !hasData(t.Context(), t, p, "count by ("+label+") ("+metric+")", started) {
				t.Errorf("%s: variable %s has no value", d.file, v.Name)
			}
		}
		for _, panel := range d.Panels {
			checkLinkLabels(t, p, panel, started)
			for _, target := range panel.Targets {
				queries++
				if !hasData(t.Context(), t, p, filled(target.Expr), started) {
					t.Errorf("%s: %q has no data: %s", d.file, panel.Title, target.Expr)
				}
				if !target.Exemplar {
					continue
				}
				if ids, err := p.Exemplars(t.Context(), filled(target.Expr), started, "correlation_id"); err != nil || len(ids) == 0 {
					t.Errorf("%s: %q has no exemplars: %v", d.file, panel.Title, err)
				}
			}
		}
	}
	t.Logf("%d queries of panels were asked", queries)
}

// checkLinkLabels checks that series of a panel have the labels by which its links are
// filled in.
func checkLinkLabels(t *testing.T, p *harness.Prometheus, panel panel, started time.Time) {
	t.Helper()
	for _, link := range panel.FieldConfig.Defaults.Links {
		if strings.HasSuffix(panel.Targets[0].Expr, "or vector(0)") {
			continue // it has labels only after what no site does
		}
		for _, label := range fieldLabel.FindAllStringSubmatch(link.URL, -1) {
			series, err := p.QueryRange(t.Context(), filled(panel.Targets[0].Expr), started, 2*time.Second)
			if err != nil || !slices.ContainsFunc(series, func(s harness.Series) bool { return s.Labels[label[1]] != "" }) {
				t.Errorf("%q links by the label %s, which no series has: %v", panel.Title, label[1], err)
			}
		}
	}
}

// askAnnotations queries what the dashboards mark on their panels: of versions, reloads and
// refused reloads, the times at which they happened, and nothing where nothing happened.
func askAnnotations(t *testing.T, p *harness.Prometheus, started time.Time) {
	t.Helper()
	marked := map[string]map[string]bool{}
	for _, a := range readDashboards(t)[0].Annotations.List {
		series, err := p.QueryRange(t.Context(), filled(a.Expr), started, 2*time.Second)
		harness.OK(t, err)
		marked[a.Name] = map[string]bool{}
		for _, s := range series {
			marked[a.Name][s.Labels["job"]] = true
			// All sites have started a moment before the beginning.
			if at := time.UnixMilli(int64(s.Last())); at.Before(started.Add(-firingTime)) || at.After(time.Now()) {
				t.Errorf("%s of %v: at %v", a.Name, s.Labels, at)
			}
			for _, label := range legendLabel.FindAllStringSubmatch(a.TitleFormat+a.TextFormat, -1) {
				if s.Labels[label[1]] == "" {
					t.Errorf("%s: no label %s in %v", a.Name, label[1], s.Labels)
				}
			}
		}
	}
	for name, jobs := range map[string][]string{
		"Reloads": {"portico-trust"}, "Refused reloads": {"portico-ledger"},
		"Versions": {"portico-full", "portico-gone", "portico-jobs", "portico-ledger", "portico-region", "portico-sound", "portico-store", "portico-trust"},
	} {
		if got := slices.Sorted(maps.Keys(marked[name])); !slices.Equal(got, jobs) {
			t.Errorf("%s: of %v, want %v", name, got, jobs)
		}
	}
}

// hasData reports whether an expression ever had a value that is a number.
func hasData(ctx context.Context, t *testing.T, p *harness.Prometheus, expr string, since time.Time) bool {
	t.Helper()
	series, err := p.QueryRange(ctx, expr, since, 2*time.Second)
	if err != nil {
		t.Errorf("%s: %v", expr, err)
		return true
	}
	return slices.ContainsFunc(series, func(s harness.Series) bool {
		return slices.ContainsFunc(s.Points, func(at harness.Point) bool { return !math.IsNaN(at.Value) })
	})
}
