// Package sweep compares the index with the providers' lists. If they differ, it corrects the
// index, but only after a GET of the single resource.
package sweep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"portico/inventory"
	"portico/jobs"
	"portico/limits"
	"portico/probe"
	"portico/regions"
)

// Job is the kind of the jobs that sweep.
const Job = "sweep"

// Sweeper lists each type of each subscription at each regional endpoint, all pages,
// and nested types below each of their parents. Then it adopts each resource without a
// row, after a GET of its own; probes each row that a complete list did not show;
// reports resources that lie in a second region or in an unknown group; recounts the
// quotas; and records the regions that were listed in full. After a list that failed or ended
// early it removes nothing and records nothing.
type Sweeper struct {
	Prober   probe.Prober  // its Timeout bounds a probe of one resource
	Patience time.Duration // for a page of a list
	Interval time.Duration // between two sweeps of everything; 0: none are scheduled
	Region   string        // of the front door, for the ids of its calls
	Searches Searches      // nil: results of searches are not used
	Log      *zap.Logger

	metrics *metrics
	slots   *limits.Endpoints
	scan    jobs.SubscriptionScan // for uncovered subscriptions
	covers  covers
}

// Start implements [jobs.Lasting].
func (s *Sweeper) Start(registry prometheus.Registerer) {
	s.metrics, s.slots = newMetrics(registry), limits.NewEndpoints(callsPerEndpoint, callsPerEndpoint)
}

// Succeed implements [jobs.Lasting].
func (s *Sweeper) Succeed(before jobs.Kind) {
	b := before.(*Sweeper)
	s.metrics, s.slots = b.metrics, b.slots
}

// callsPerEndpoint is the number of calls that one replica's sweeps make to an endpoint
// at a time.
const callsPerEndpoint = 8

func (s *Sweeper) slotsAt(e *regions.Endpoint) *limits.Concurrency {
	return s.slots.At(e.Region, e.String())
}

// Order selects what to sweep.
type Order struct {
	Subscription string `json:"subscription,omitempty"` // folded; empty: all
	DryRun       bool   `json:"dryRun,omitempty"`       // report only
	// Uncovered: sweep only regions that were not listed in full yet, and repeat that until
	// all are.
	Uncovered bool `json:"uncovered,omitempty"`
}

// place is the progress of a sweep: the type in a subscription that was done last.
type place struct {
	Subscription string `json:"subscription,omitempty"`
	Type         string `json:"type,omitempty"`
}

// Sweep executes an order at once, without a job, and calls progress after each step.
func (s *Sweeper) Sweep(ctx context.Context, order Order, progress func(Report)) (Report, error) {
	report := Report{Started: s.Prober.Store.Now(), CorrelationID: uuid.NewString()}
	err := s.sweep(ctx, order, &report, place{}, func(place) error {
		progress(report)
		return nil
	})
	return report, err
}

// sweep continues after a place, and calls done after each step, when nothing is under
// way. Its error is the store's or the context's: the faults of providers are in the
// report.
func (s *Sweeper) sweep(ctx context.Context, order Order, report *Report, from place, done func(place) error) error {
	report.Subscription, report.DryRun = order.Subscription, order.DryRun
	w := &sweep{Sweeper: s, store: s.Prober.Store, order: order, ledger: ledger{report: report}}
	subs, err := w.subscriptions(ctx)
	if err != nil {
		return err
	}
	types := tracked(s.Prober.Map)
	report.Of = 0
	for _, t := range types {
		report.Of += len(subs) * listsOf(t)
	}
	for _, sub := range subs {
		first := 0
		switch strings.Compare(sub, from.Subscription) {
		case -1:
			continue
		case 0: // from the first, if the map no longer has the type
			first = 1 + slices.IndexFunc(types, func(t *regions.ResourceType) bool { return t.Key == from.Type })
		}
		for j := first; j < len(types); j++ {
			if err := w.step(ctx, sub, types[j], j == len(types)-1); err != nil {
				return fmt.Errorf("sweep of subscription %s: %w", sub, err)
			}
			if err := done(place{sub, types[j].Key}); err != nil {
				return err
			}
		}
	}
	report.Done = max(0, report.Of-report.unlisted())
	slices.SortFunc(report.Counts, func(a, b Count) int {
		return cmp.Or(strings.Compare(a.Type, b.Type), strings.Compare(a.Region, b.Region))
	})
	ended := w.store.Now()
	report.Ended = &ended
	return ctx.Err()
}

// sweep is one sweep under way.
type sweep struct {
	*Sweeper
	ledger
	store *inventory.Store
	order Order
}

// subscriptions lists the subscriptions to sweep, in order.
func (w *sweep) subscriptions(ctx context.Context) (ids []string, err error) {
	if w.order.Subscription != "" {
		one, err := w.store.Subscription(ctx, w.order.Subscription)
		if errors.Is(err, inventory.ErrNotFound) {
			return nil, nil
		}
		return []string{one.ID}, err
	}
	err = new(jobs.SubscriptionScan).Visit(ctx, w.store, func(sub inventory.Subscription) error {
		if sub.State != inventory.Deleted {
			ids = append(ids, sub.ID)
		}
		return nil
	})
	return ids, err
}

// tracked returns the types that have rows, each after its parent.
func tracked(m *regions.Map) (types []*regions.ResourceType) {
	for _, p := range m.Providers() {
		for _, t := range p.Types() {
			if t.Kind == regions.Tracked {
				types = append(types, t)
			}
		}
	}
	slices.SortStableFunc(types, func(a, b *regions.ResourceType) int {
		return strings.Count(a.Key, "/") - strings.Count(b.Key, "/")
	})
	return types
}

// listsOf returns the number of lists that a sweep reads for a type in a subscription: one in
// each region, or none if its parents have no rows.
func listsOf(t *regions.ResourceType) int {
	for above := t.Parent; above != nil; above = above.Parent {
		if above.Kind != regions.Tracked {
			return 0
		}
	}
	return len(t.EffectiveRegions())
}

// step sweeps one type of a subscription and, after the last one, its quotas.
func (w *sweep) step(ctx context.Context, sub string, t *regions.ResourceType, last bool) error {
	ts := newTypeSweep(w, sub, t)
	if err := ts.run(ctx); err != nil {
		return err
	}
	w.addLists(listsOf(t), ts.missing)
	if !last {
		return nil
	}
	off, err := w.store.Recount(ctx, sub, !w.order.DryRun)
	w.addMiscounts(sub, off)
	return err
}
