package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"portico/inventory"
)

const (
	roundTime     = 10 * time.Second // for one round of housekeeping
	recordsAtOnce = 1000             // ended or removed
	seldom        = 20               // rounds, between those that also forget and measure
	overdueAfter  = 3                // leases
)

// runHousekeeping expires intents, numbers events, forgets old records, counts the jobs, and
// has the store count its rows, until ctx ends. Replicas may do so at the same time.
func (r *Runner) runHousekeeping(ctx context.Context) {
	warning := throttledWarning{log: r.Log, what: "housekeeping of the inventory failed"}
	damage := throttledWarning{log: r.Log, what: "the stored data of some resources cannot be read"}
	timer := time.NewTimer(r.pace())
	defer timer.Stop()
	forgetting := false // there may be more to forget
	numbering := false  // events come: writes wait for a second's numbers less than for those of many
	for round := 0; ; round++ {
		select {
		case <-ctx.Done():
			return
		case <-r.replaced:
			round = 0
		case <-timer.C:
		}
		more, unreadable, err := r.expire(ctx)
		damage.after(ctx, unreadable)
		if numbering = numbering || round%seldom == 0; numbering && err == nil {
			var numbered int
			numbered, err = r.number(ctx)
			numbering, more = numbered > 0, more || numbered >= recordsAtOnce
		}
		if forgetting = forgetting || round%seldom == 0; forgetting && err == nil {
			forgetting, err = r.forget(ctx)
			more = more || forgetting
		}
		if err == nil {
			err = r.countRows(ctx)
		}
		if round%seldom == 0 {
			if err == nil {
				err = r.measure(ctx)
			}
			err = errors.Join(err, r.countEvents(ctx))
		}
		if pause := warning.after(ctx, err); err != nil || !more {
			timer.Reset(r.pace() + pause)
		} else {
			timer.Reset(0)
		}
	}
}

// expire ends a bounded number of intents whose time is over. It reports whether there
// may be more to do, and which records could not be read.
func (r *Runner) expire(ctx context.Context) (more bool, unreadable, err error) {
	ctx, cancel := context.WithTimeout(ctx, roundTime)
	defer cancel()
	n, err := r.Store.Expire(ctx, recordsAtOnce)
	if skipped := new(inventory.SkippedError); errors.As(err, &skipped) {
		unreadable, err = skipped, nil
	}
	if err != nil {
		err = fmt.Errorf("end the intents whose time is over: %w", err)
	}
	return n >= recordsAtOnce, unreadable, err
}

// number gives numbers to a bounded number of events that no reader has asked for.
func (r *Runner) number(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, roundTime)
	defer cancel()
	n, err := r.Store.Events.Number(ctx, recordsAtOnce)
	if err != nil {
		return n, fmt.Errorf("number new events: %w", err)
	}
	return n, nil
}

func (r *Runner) countRows(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, roundTime)
	defer cancel()
	if err := r.Store.CountRows(ctx); err != nil {
		return fmt.Errorf("have the rows counted: %w", err)
	}
	return nil
}

// forget removes a bounded number of each kind of records that are no longer needed. It
// reports whether there may be more to do. No request waits for it.
func (r *Runner) forget(ctx context.Context) (more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, roundTime)
	defer cancel()
	for _, part := range []struct {
		what string
		do   func(context.Context, int) (int, error)
	}{
		{"forget tombstones", r.Store.ForgetTombstones},
		{"forget operations", r.Store.Operations.Forget},
		{"forget jobs", r.Store.ForgetJobs},
		{"forget batches", r.Store.Batches.Forget},
		{"forget advisory leases", r.Store.ForgetAdvisoryLeases},
		{"forget events", r.Store.Events.Forget},
		{"forget the names of callers", r.Store.Names.Forget},
	} {
		n, failure := part.do(ctx, recordsAtOnce)
		more = more || n >= recordsAtOnce
		if failure != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", part.what, failure))
		}
	}
	return more, err
}

// measure counts the jobs and the open writes, and calls the kinds that are Measured
// or Scheduled.
func (r *Runner) measure(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, roundTime)
	defer cancel()
	intents, failures := r.Store.CountIntents(ctx)
	if failures != nil {
		failures = fmt.Errorf("count intents: %w", failures)
	} else {
		r.index.intents.Set(float64(intents))
	}
	stored, err := r.Store.CountJobs(ctx, overdueAfter*r.Lease, 0)
	if err != nil {
		return errors.Join(failures, fmt.Errorf("count jobs: %w", err))
	}
	for name, kind := range *r.kinds.Load() {
		counts := stored[name]
		r.metrics.stored.WithLabelValues(name).Set(float64(counts.All))
		r.metrics.due.WithLabelValues(name).Set(float64(counts.Due))
		r.metrics.overdue.WithLabelValues(name).Set(float64(counts.Overdue))
		r.metrics.oldest.WithLabelValues(name).Set(counts.Oldest.Seconds())
		r.metrics.putOff.WithLabelValues(name).Set(float64(counts.PutOff))
		if m, ok := kind.(Measured); ok {
			if err := m.Measure(ctx, counts.All); err != nil {
				failures = errors.Join(failures, fmt.Errorf("measure jobs of %s: %w", name, err))
			}
		}
		if s, ok := kind.(Scheduled); ok {
			if err := s.Schedule(ctx); err != nil {
				failures = errors.Join(failures, fmt.Errorf("schedule jobs of %s: %w", name, err))
			}
		}
	}
	return failures
}
