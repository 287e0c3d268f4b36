package reload

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"portico/test/evidence"
	"portico/test/harness"
)

// What the long form tries.
const (
	changes     = 20              // by each way, idle and under load
	slowChanges = 8               // of those that wait for seconds
	flaps       = 5               // of each address
	flapEvery   = 3 * time.Second // it is as long down as up
)

// TestMeasured is the long form of both suites.
func TestMeasured(t *testing.T) {
	if !*long {
		t.Skip("it takes seven minutes, and the machine alone: make evidence")
	}
	report := evidence.ReportOn("../../docs", "Reload and flapping", "make evidence")
	if *write {
		harness.OK(t, report.Check())
	}
	seen := evidence.Observe("make evidence")
	changed := measureChanges(t)
	flapped := measureFlaps(t)
	extent := fmt.Sprintf("%d changes by each way (%d by default's), %d times down for each address", changes, slowChanges, flaps)
	render := func(circumstances string, flapped [][]string) string {
		return strings.Join([]string{
			circumstances,
			"### From the changed file to its effect\n\n" + strings.TrimSpace(changed),
			"### An address that goes down and comes up every 3 s\n\n" + evidence.Table([]string{
				"while it is down it", "settings", "GETs lost", "slowest, ms", "lists lost", "slowest, ms", "writes lost", "slowest, ms",
			}, flapped),
		}, "\n\n")
	}
	whole := render(seen.Describe(extent), flapped)
	t.Log(whole)
	if *write {
		byDefault := slices.DeleteFunc(slices.Clone(flapped), func(row []string) bool { return row[1] != defaults })
		harness.OK(t, report.Write(whole, render(seen.Brief(extent), byDefault)))
	}
}

func measureChanges(t *testing.T) string {
	t.Helper()
	s := newSite(t, harness.Config{}, func(providers [2]*harness.Contoso) string { return providers[0].URL })
	var rows [][]string
	to := 0
	for _, w := range ways() {
		n := changes
		if w.server == "" {
			n = slowChanges
		}
		s.use(t, w, to)
		row := []string{w.name}
		measure := func() string {
			var took []float64
			for range n {
				to = 1 - to
				took = append(took, float64(s.change(t, w, to))/float64(time.Millisecond))
			}
			return evidence.SpreadOf(took).String()
		}
		row = append(row, measure())
		l := s.startTraffic(t)
		l.more(t, 4)
		row = append(row, measure())
		l.more(t, 4)
		l.stop()
		rows = append(rows, append(row, fmt.Sprintf("%d of %d", l.lost(t, get, list, patch), l.total())))
	}
	return evidence.Table([]string{"notice of the change", "idle, ms", "under load, ms", "calls that failed"}, rows)
}

// defaults names the settings that the summary shows.
const defaults = "defaults"

func measureFlaps(t *testing.T) (rows [][]string) {
	t.Helper()
	for _, kind := range []struct {
		name  string
		start func(*testing.T, *harness.Contoso) address
	}{{"refuses connections", refusing}, {"answers 503", unavailable}, {"takes requests, and is silent", silent}} {
		for _, health := range []struct{ name, settings string }{
			{defaults, ""},
			{"without ejection", "\nhealth: {ejection: {errors: 0%, slowerThan: 0}}\n"},
			{"without ejection, circuit and probes", "\nhealth: {ejection: {errors: 0%, slowerThan: 0}, circuit: {failures: 0}, probe: {interval: 0s}}\n"},
		} {
			l := flap(t, kind.start, health.settings)
			row := []string{kind.name, health.name}
			for _, of := range []string{get, list, patch} {
				row = append(row, fmt.Sprintf("%d of %d", l.lost(t, of), l.calls[of]), fmt.Sprint(l.slowest[of].Milliseconds()))
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// flap has one of two addresses go down and come up under traffic.
func flap(t *testing.T, start func(*testing.T, *harness.Contoso) address, settings string) *traffic {
	t.Helper()
	var flapping address
	s := newSite(t, harness.Config{Extra: settings}, func(providers [2]*harness.Contoso) string {
		flapping = start(t, providers[0])
		return flapping.url + "," + providers[0].URL
	})
	l := s.startTraffic(t)
	for range flaps {
		time.Sleep(flapEvery)
		flapping.down()
		time.Sleep(flapEvery)
		flapping.up()
	}
	l.more(t, 4)
	l.stop()
	s.Portico.Stop(t)
	return l
}
