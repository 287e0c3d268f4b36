package operations

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"portico/inventory"
	"portico/meter"
)

const (
	houseTime    = 10 * time.Second // for one round of housekeeping
	cleanUp      = 1000             // records ended or removed at a time
	measureEvery = 10               // rounds
	overdueAfter = 3                // leases
)

// keepHouse ends what time has ended, forgets what is old, and counts the jobs,
// until ctx ends. Replicas that do so at the same time do no harm.
func (r *Runner) keepHouse(ctx context.Context) {
	trouble := complaint{log: r.Log, what: "the inventory could not be tidied"}
	damage := complaint{log: r.Log, what: "what the inventory has of some resources cannot be read"}
	timer := time.NewTimer(r.pace())
	defer timer.Stop()
	for round := 0; ; round++ {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		more, left, err := r.tidy(ctx)
		damage.after(ctx, left)
		if round%measureEvery == 0 && err == nil {
			err = r.measure(ctx)
		}
		if pause := trouble.after(ctx, err); err != nil || !more {
			timer.Reset(r.pace() + pause)
		} else {
			timer.Reset(0)
		}
	}
}

// tidy makes one bounded round, and tells whether there may be more to do, and
// what it had to leave.
func (r *Runner) tidy(ctx context.Context) (more bool, left, err error) {
	ctx, cancel := context.WithTimeout(ctx, houseTime)
	defer cancel()
	for _, part := range []func(context.Context, int) (int, error){
		r.Store.Expire, r.Store.ForgetOperations, r.Store.ForgetJobs, r.Store.ForgetRequestBatches, r.Store.ForgetTurns,
	} {
		n, failure := part(ctx, cleanUp)
		if skipped := new(inventory.SkippedError); errors.As(failure, &skipped) {
			left, failure = skipped, nil
		}
		more, err = more || n >= cleanUp, errors.Join(err, failure)
	}
	return more, left, err
}

// measure counts the jobs.
func (r *Runner) measure(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, houseTime)
	defer cancel()
	intents, failures := r.Store.Intents(ctx)
	if failures == nil {
		r.index.intents.Set(float64(intents))
	}
	for name, kind := range *r.kinds.Load() {
		counts, err := r.Store.CountJobs(ctx, name, overdueAfter*r.Lease, 0)
		if err != nil {
			failures = errors.Join(failures, err)
			continue
		}
		r.metrics.stored.WithLabelValues(name).Set(float64(counts.All))
		r.metrics.due.WithLabelValues(name).Set(float64(counts.Due))
		r.metrics.overdue.WithLabelValues(name).Set(float64(counts.Overdue))
		r.metrics.oldest.WithLabelValues(name).Set(counts.Oldest.Seconds())
		r.metrics.putOff.WithLabelValues(name).Set(float64(counts.PutOff))
		if m, ok := kind.(Measured); ok {
			failures = errors.Join(failures, m.Measure(ctx))
		}
		if s, ok := kind.(Scheduled); ok {
			failures = errors.Join(failures, s.Schedule(ctx))
		}
	}
	return failures
}

// runnerMetrics are labelled by the names of kinds, and by outcomes.
type runnerMetrics struct {
	stored, running, due, overdue, oldest, putOff *prometheus.GaugeVec
	attempts, ended                               *prometheus.CounterVec
	seconds                                       *prometheus.HistogramVec
}

func newRunnerMetrics(registry prometheus.Registerer) *runnerMetrics {
	jobs := prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "portico_jobs",
		Help: "Durable jobs that have not ended: stored, of all replicas; running, on this one.",
	}, []string{"kind", "state"})
	m := &runnerMetrics{
		stored:  jobs.MustCurryWith(prometheus.Labels{"state": "stored"}),
		running: jobs.MustCurryWith(prometheus.Labels{"state": "running"}),
		due: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "portico_jobs_due", Help: "Jobs that are due and that nobody works on.",
		}, []string{"kind"}),
		overdue: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "portico_jobs_overdue", Help: "Jobs that have been due for more than three leases.",
		}, []string{"kind"}),
		oldest: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "portico_jobs_overdue_seconds", Help: "How long the first of the overdue jobs has been due.",
		}, []string{"kind"}),
		putOff: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "portico_jobs_put_off", Help: fmt.Sprintf("Jobs of which more than %d attempts in a row have come to nothing.", inventory.ManyAttempts),
		}, []string{"kind"}),
		attempts: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "portico_job_attempts_total", Help: "Attempts at jobs, by what they came to: done, again (it goes on), unfinished (nothing yet), failed, panicked, deposed (another replica has it), released (this one ends).",
		}, []string{"kind", "outcome"}),
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "portico_jobs_ended_total", Help: "Jobs that this replica has brought to their ends, by how they ended.",
		}, []string{"kind", "end"}),
		seconds: prometheus.NewHistogramVec(meter.Long("portico_job_seconds", "Time that an attempt took."), []string{"kind"}),
	}
	registry.MustRegister(jobs, m.due, m.overdue, m.oldest, m.putOff, m.attempts, m.ended, m.seconds)
	return m
}
