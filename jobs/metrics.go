package jobs

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"portico/internal/meter"
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
