package fanout

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"portico/arm"
	"portico/internal/meter"
)

// metrics counts merged pages. Regions come from the region map and outcomes
// from a fixed list, so labels are bounded.
type metrics struct {
	regions *prometheus.CounterVec
	pages   *prometheus.CounterVec
	seconds prometheus.Histogram
	strays  prometheus.Counter
	size    prometheus.Histogram
	failing sync.Map // failures, by type and region
}

// failures are lists that a region failed by an error or too late, since it last answered one.
type failures struct {
	count int
	last  time.Time
}

func newMetrics(registry prometheus.Registerer) *metrics {
	m := &metrics{
		regions: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "portico_fanout_regions_total",
			Help: "Requests to a region for a page of a merged list, by outcome: answered, failed, deferred (no room in memory or in the skip " +
				"token), busy (no memory at all), postponed (failed, will be asked last).",
		}, []string{"region", "outcome"}),
		pages: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "portico_fanout_pages_total",
			Help: "Pages of merged lists, by outcome: complete, partial, failed, abandoned (the client disconnected).",
		}, []string{"outcome"}),
		seconds: prometheus.NewHistogram(meter.Seconds("portico_fanout_seconds", "Time until all regions of a merged page had answered.")),
		size:    prometheus.NewHistogram(meter.Bytes("portico_fanout_page_bytes", "Size of merged pages.")),
		strays: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "portico_list_strays_total", Help: "Elements of merged lists that a second region returned as well: the resource exists in two " +
				"regions.",
		}),
	}
	if registry != nil {
		registry.MustRegister(m.regions, m.pages, m.seconds, m.strays, m.size)
	}
	return m
}

// countRegions counts the regions of a page, which failed unless it can be sent.
func (m *metrics) countRegions(p *pageBuild, failed bool) {
	for _, r := range p.results {
		m.regions.WithLabelValues(r.region.name, outcomeLabels[r.outcome]).Inc()
		switch at := [2]string{p.request.Type, r.region.name}; {
		case r.outcome == outcomeAnswered:
			m.failing.Delete(at)
		case failed && r.outcome == outcomeFailed && r.fault.Status >= http.StatusInternalServerError && r.fault.Code != arm.BadGatewayConnection:
			before, _ := m.failing.LoadOrStore(at, failures{})
			m.failing.Store(at, failures{before.(failures).count + 1, time.Now()}) // one that is lost delays the problem by a list
		}
	}
}

// Failing reports whether a region failed the last three merged lists of a type, whoever asked,
// and one of them in the last five minutes.
func (l *Lister) Failing(typeName, region string) bool {
	f, known := l.metrics.failing.Load([2]string{typeName, region})
	return known && f.(failures).count >= 3 && time.Since(f.(failures).last) < 5*time.Minute
}

func (m *metrics) countPage(merged *MergedPage, err error, took time.Duration) {
	outcome := "complete"
	switch {
	case errors.Is(err, context.Canceled):
		outcome = "abandoned"
	case err != nil:
		outcome = "failed"
	case !merged.Complete:
		outcome = "partial"
	}
	m.pages.WithLabelValues(outcome).Inc()
	m.seconds.Observe(took.Seconds())
	if merged != nil {
		m.strays.Add(float64(merged.Strays))
		m.size.Observe(float64(merged.Size()))
	}
}
