package jobs

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"portico/inventory"
)

const (
	roundTime     = 10 * time.Second // for one round of housekeeping
	recordsAtOnce = 1000             // ended or removed
	seldom        = 20               // every so many rounds, a round also forgets and measures
	overdueAfter  = 3                // leases
)

// housekeeper expires intents, numbers events, forgets old records, counts jobs and
// events for the metrics, has the store count its rows, and calls the kinds that are
// Measured or Scheduled. Replicas may do so at the same time.
type housekeeper struct {
	*Runner
	intents  prometheus.Gauge
	events   *eventMetrics
	replaced chan struct{} // receives when the kinds were replaced
	// forgetting: there may be more to forget. numbering: events keep coming; numbering them
	// every round delays writes less than numbering many at once.
	forgetting, numbering bool
}

func newHousekeeper(r *Runner) *housekeeper {
	return &housekeeper{Runner: r, intents: newIntentsGauge(r.Metrics), events: newEventMetrics(r.Metrics), replaced: make(chan struct{}, 1)}
}

// measureSoon makes the housekeeper count the jobs and call the kinds' Schedule at once.
func (h *housekeeper) measureSoon() {
	select {
	case h.replaced <- struct{}{}:
	default: // the signal is already waiting
	}
}

func (h *housekeeper) run(ctx context.Context) {
	warning := throttledWarning{log: h.Log, what: "housekeeping of the inventory failed"}
	damage := throttledWarning{log: h.Log, what: "the stored data of some resources cannot be read"}
	round := -1
	repeatOnWake(ctx, h.pace(), h.replaced, func(woken bool) time.Duration {
		if round++; woken {
			round = 0
		}
		more, unreadable, err := h.work(ctx, round%seldom == 0)
		damage.after(ctx, unreadable)
		if pause := warning.after(ctx, err); err != nil || !more {
			return h.pace() + pause
		}
		return 0
	})
}

// work makes one round; a full round also starts to number and forget, and measures. It
// reports whether there may be more to do, and which records could not be read.
func (h *housekeeper) work(ctx context.Context, full bool) (more bool, unreadable, err error) {
	more, unreadable, err = h.expire(ctx)
	if h.numbering = h.numbering || full; h.numbering && err == nil {
		var numbered int
		numbered, err = h.number(ctx)
		h.numbering, more = numbered > 0, more || numbered >= recordsAtOnce
	}
	if h.forgetting = h.forgetting || full; h.forgetting && err == nil {
		h.forgetting, err = h.forget(ctx)
		more = more || h.forgetting
	}
	if err == nil {
		err = h.countRows(ctx)
	}
	if full {
		if err == nil {
			err = h.measure(ctx)
		}
		err = errors.Join(err, h.countEvents(ctx))
	}
	return more, unreadable, err
}

// expire ends a bounded number of intents whose time is over. It reports whether there
// may be more to do, and which records could not be read.
func (h *housekeeper) expire(ctx context.Context) (more bool, unreadable, err error) {
	ctx, cancel := context.WithTimeout(ctx, roundTime)
	defer cancel()
	n, err := h.Store.Expire(ctx, recordsAtOnce)
	if skipped := new(inventory.SkippedError); errors.As(err, &skipped) {
		unreadable, err = skipped, nil
	}
	if err != nil {
		err = fmt.Errorf("end the intents whose time is over: %w", err)
	}
	return n >= recordsAtOnce, unreadable, err
}

// number numbers a bounded number of events that no reader has requested.
func (h *housekeeper) number(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, roundTime)
	defer cancel()
	n, err := h.Store.Events.Number(ctx, recordsAtOnce)
	if err != nil {
		return n, fmt.Errorf("number new events: %w", err)
	}
	return n, nil
}

func (h *housekeeper) countRows(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, roundTime)
	defer cancel()
	if err := h.Store.CountRows(ctx); err != nil {
		return fmt.Errorf("have the rows counted: %w", err)
	}
	return nil
}

// forget removes a bounded number of each kind of records that are no longer needed. It
// reports whether there may be more to do. No request waits for it.
func (h *housekeeper) forget(ctx context.Context) (more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, roundTime)
	defer cancel()
	for _, part := range []struct {
		what string
		do   func(context.Context, int) (int, error)
	}{
		{"forget tombstones", h.Store.ForgetTombstones},
		{"forget operations", h.Store.Operations.Forget},
		{"forget jobs", h.Store.Jobs.Forget},
		{"forget batches", h.Store.Batches.Forget},
		{"forget advisory leases", h.Store.Jobs.ForgetAdvisoryLeases},
		{"forget events", h.Store.Events.Forget},
		{"forget the names of callers", h.Store.Names.Forget},
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
func (h *housekeeper) measure(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, roundTime)
	defer cancel()
	intents, failures := h.Store.CountIntents(ctx)
	if failures != nil {
		failures = fmt.Errorf("count intents: %w", failures)
	} else {
		h.intents.Set(float64(intents))
	}
	stored, err := h.Store.Jobs.Count(ctx, overdueAfter*h.Lease, 0)
	if err != nil {
		return errors.Join(failures, fmt.Errorf("count jobs: %w", err))
	}
	for name, kind := range *h.kinds.Load() {
		counts := stored[name]
		h.metrics.stored.WithLabelValues(name).Set(float64(counts.All))
		h.metrics.due.WithLabelValues(name).Set(float64(counts.Due))
		h.metrics.overdue.WithLabelValues(name).Set(float64(counts.Overdue))
		h.metrics.oldest.WithLabelValues(name).Set(counts.Oldest.Seconds())
		h.metrics.putOff.WithLabelValues(name).Set(float64(counts.PutOff))
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

// countEvents counts the events for the metrics, also after failures of other parts of the
// round, which may leave events unnumbered.
func (h *housekeeper) countEvents(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, roundTime)
	defer cancel()
	counts, err := h.Store.Events.Count(ctx)
	if err != nil {
		return fmt.Errorf("count waiting events: %w", err)
	}
	h.events.show(counts)
	return nil
}
