package jobs

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"portico/internal/meter"
	"portico/inventory"
	"portico/inventory/eventlog"
	"portico/inventory/index"
	"portico/inventory/jobrow"
)

// runnerMetrics are labelled by the names of kinds, and by outcomes.
type runnerMetrics struct {
	stored, running, due, overdue, oldest, putOff *prometheus.GaugeVec
	attempts, ended                               *prometheus.CounterVec
	seconds                                       *prometheus.HistogramVec
}

func newRunnerMetrics(registry prometheus.Registerer) *runnerMetrics {
	jobs := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "portico_jobs",
		Help: "Durable jobs that have not ended: stored (in all replicas), or running (in this one).",
	}, []string{"kind", "state"})
	m := &runnerMetrics{
		stored:  jobs.MustCurryWith(prometheus.Labels{"state": "stored"}),
		running: jobs.MustCurryWith(prometheus.Labels{"state": "running"}),
		due: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "portico_jobs_due", Help: "Jobs that are due and not running.",
		}, []string{"kind"}),
		overdue: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "portico_jobs_overdue", Help: "Jobs that have been due for more than three leases.",
		}, []string{"kind"}),
		oldest: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "portico_jobs_overdue_seconds", Help: "How long the oldest overdue job has been due.",
		}, []string{"kind"}),
		putOff: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "portico_jobs_put_off", Help: fmt.Sprintf("Jobs of which more than %d attempts in a row have come to nothing.", jobrow.ManyAttempts),
		}, []string{"kind"}),
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "portico_job_attempts_total",
			Help: "Attempts at jobs, by outcome: done, again (the job continues), unfinished (no progress yet), failed, panicked, deposed " +
				"(another replica has the job), released (this replica shuts down).",
		}, []string{"kind", "outcome"}),
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "portico_jobs_ended_total", Help: "Jobs that this replica completed, by outcome.",
		}, []string{"kind", "end"}),
		seconds: prometheus.NewHistogramVec(meter.Long("portico_job_seconds", "Duration of attempts."), []string{"kind"}),
	}
	registry.MustRegister(jobs, m.due, m.overdue, m.oldest, m.putOff, m.attempts, m.ended, m.seconds)
	return m
}

// indexMetrics show the rows of the index, by phase.
type indexMetrics struct {
	rows    *prometheus.GaugeVec
	flagged prometheus.Gauge
}

func newIndexMetrics(registry prometheus.Registerer) *indexMetrics {
	m := &indexMetrics{
		rows: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "portico_index_resources",
			Help: "Resources in the index, by phase: Pending (only the write is known), Live, Deleting. They are counted continually, in parts.",
		}, []string{"phase"}),
		flagged: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "portico_index_flagged_resources",
			Help: "Resources in the index whose state is unverified after an ambiguous answer, so that their providers will be asked.",
		}),
	}
	registry.MustRegister(m.rows, m.flagged)
	return m
}

func (m *indexMetrics) show(c inventory.IndexCounts) {
	for phase, n := range c.Rows {
		m.rows.WithLabelValues(index.Phase(phase).String()).Set(float64(n))
	}
	m.flagged.Set(float64(c.Flagged))
}

func newIntentsGauge(registry prometheus.Registerer) prometheus.Gauge {
	intents := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "portico_index_intents", Help: "Open writes: in progress, or unanswered, so that they may still take effect.",
	})
	registry.MustRegister(intents)
	return intents
}

// eventMetrics show the numbers of events in the store.
type eventMetrics struct {
	kept, waiting, oldest prometheus.Gauge
}

func newEventMetrics(registry prometheus.Registerer) *eventMetrics {
	gauge := func(name, help string) prometheus.Gauge {
		return prometheus.NewGauge(prometheus.GaugeOpts{Name: name, Help: help})
	}
	m := &eventMetrics{
		kept: gauge("portico_events_kept", "Events in the store, for the activity log and the change feed."),
		waiting: gauge("portico_events_waiting",
			"Events that are recorded but not numbered yet, so that they cannot be read. Only the first 10,000 transactions are counted."),
		oldest: gauge("portico_events_waiting_seconds", "How long the oldest event has waited to be numbered. Readers number events, and housekeeping does every 20 s."),
	}
	registry.MustRegister(m.kept, m.waiting, m.oldest)
	return m
}

func (m *eventMetrics) show(c eventlog.Counts) {
	m.kept.Set(float64(c.Kept))
	m.waiting.Set(float64(c.Waiting))
	m.oldest.Set(c.Oldest.Seconds())
}
