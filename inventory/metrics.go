package inventory

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"portico/meter"
)

// metrics tell how the store does. Labels are words from lists. Without a
// registry they count, and nobody sees it.
type metrics struct {
	size     prometheus.Histogram
	lock     prometheus.Observer
	flushed  prometheus.Observer
	visible  prometheus.Observer
	failures *prometheus.CounterVec
}

func newMetrics(registry prometheus.Registerer) *metrics {
	size := prometheus.NewHistogram(meter.Counts("portico_store_batch_writes", "Writes that shared a transaction."))
	lock := prometheus.NewHistogram(meter.Seconds(
		"portico_store_lock_seconds", "Time until a transaction that writes had begun and held the locks of its rows.",
	))
	commit := prometheus.NewHistogramVec(meter.Seconds(
		"portico_store_commit_seconds", "Time that a commit took: flushed, with the wait for the disk, or visible, without.",
	), []string{"durability"})
	m := &metrics{
		size: size, lock: lock, flushed: commit.WithLabelValues("flushed"), visible: commit.WithLabelValues("visible"),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "portico_store_errors_total", Help: "Transactions that failed: unreachable (no connection), unsure (whether the commit was made is not known), repeated (others won, or a refusal had the rest run again), failed (all else).",
		}, []string{"kind"}),
	}
	for _, kind := range []string{"unreachable", "unsure", "repeated", "failed"} {
		m.failures.WithLabelValues(kind)
	}
	if registry != nil {
		registry.MustRegister(size, lock, commit, m.failures)
	}
	return m
}

func (m *metrics) committed(d durability, took time.Duration) {
	if d == flushed {
		m.flushed.Observe(took.Seconds())
		return
	}
	m.visible.Observe(took.Seconds())
}

func (m *metrics) failed(b *batch, err error) {
	var unsure commitError
	kind := "failed"
	switch {
	case b.unreachable:
		kind = "unreachable"
	case retryable(err), errors.Is(err, errSingly):
		kind = "repeated"
	case errors.As(err, &unsure):
		kind = "unsure"
	}
	m.failures.WithLabelValues(kind).Inc()
}

// show registers what the store counts anyway.
func (s *Store) show(registry prometheus.Registerer) {
	counted := func(name, help string, of func(Stats) uint64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 { return float64(of(s.Stats())) })
	}
	registry.MustRegister(
		counted("portico_store_writes_total", "Writes that were committed.", func(s Stats) uint64 { return s.Writes }),
		counted("portico_store_transactions_total", "Transactions that were committed.", func(s Stats) uint64 { return s.Commits }),
		counted("portico_store_flushes_total", "Transactions whose commit waited for the disk.", func(s Stats) uint64 { return s.Flushes }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "portico_store_writes_waiting", Help: "Writes that wait for their transaction.",
		}, func() float64 { return float64(s.Stats().Waiting) }),
		counted("portico_index_cache_hits_total", "Questions where a resource lies that memory answered.", func(s Stats) uint64 { return s.CacheHits }),
		counted("portico_index_cache_misses_total", "Questions where a resource lies that the store had to answer.", func(s Stats) uint64 { return s.CacheMisses }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "portico_index_cache_entries", Help: "Locations in memory, of at most index.cacheEntries.",
		}, func() float64 { return float64(s.locations.entries()) }),
		collectors.NewDBStatsCollector(s.reads, "reads"),
	)
}
