package engine

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"portico/internal/meter"
)

// metrics are the engine's metrics. All label values are known beforehand. Without a
// registry they are not exported.
type metrics struct {
	size     prometheus.Histogram
	lock     prometheus.Observer
	flushed  prometheus.Observer
	visible  prometheus.Observer
	failures *prometheus.CounterVec
}

func newMetrics(registry prometheus.Registerer) *metrics {
	size := prometheus.NewHistogram(meter.Counts("portico_store_batch_writes", "Number of writes in one transaction."))
	lock := prometheus.NewHistogram(meter.Seconds(
		"portico_store_lock_seconds", "Time until a write transaction had started and locked its rows.",
	))
	commit := prometheus.NewHistogramVec(meter.Seconds(
		"portico_store_commit_seconds", "Duration of commits, by durability: flushed (with the wait for the disk), or visible (without it).",
	), []string{"durability"})
	m := &metrics{
		size: size, lock: lock, flushed: commit.WithLabelValues("flushed"), visible: commit.WithLabelValues("visible"),
		failures: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "portico_store_errors_total",
			Help: "Failed transactions, by kind: unreachable (no connection), unsure (the outcome of the commit is unknown), repeated (a " +
				"conflict, or run again without a refused write), failed (other errors).",
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

func (m *metrics) committed(d Durability, took time.Duration) {
	if d == Flushed {
		m.flushed.Observe(took.Seconds())
		return
	}
	m.visible.Observe(took.Seconds())
}

func (m *metrics) failed(g *groupCommit, err error) {
	kind := "failed"
	switch {
	case g.unreachable:
		kind = "unreachable"
	case retryable(err), errors.Is(err, ErrRunSeparately):
		kind = "repeated"
	case isUnsure(err):
		kind = "unsure"
	}
	m.failures.WithLabelValues(kind).Inc()
}

// registerCounters registers metrics of the counts that the engine keeps anyway.
func (e *Engine) registerCounters(registry prometheus.Registerer) {
	counted := func(name, help string, of func(Stats) uint64) prometheus.Collector {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: name, Help: help}, func() float64 { return float64(of(e.Stats())) })
	}
	registry.MustRegister(
		counted("portico_store_writes_total", "Writes that were committed.", func(s Stats) uint64 { return s.Writes }),
		counted("portico_store_transactions_total", "Transactions that were committed.", func(s Stats) uint64 { return s.Commits }),
		counted("portico_store_flushes_total", "Transactions whose commit waited for the disk.", func(s Stats) uint64 { return s.Flushes }),
		counted("portico_store_statements_total", "Statements that reads and writes have run.", func(s Stats) uint64 { return s.Statements }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "portico_store_writes_waiting", Help: "Writes that wait for their transaction.",
		}, func() float64 { return float64(e.Stats().Waiting) }),
		collectors.NewDBStatsCollector(e.reads, "reads"),
	)
}
