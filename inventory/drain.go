package inventory

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"portico/events"
	"portico/inventory/engine"
	"portico/inventory/index"
	"portico/inventory/transaction"
)

// Drain is the maintenance of a region or of an address of providers.
type Drain struct {
	Place        string // the name of a region, or an address such as https://host:port
	Reason, By   string
	Since, Until time.Time
}

// drainSource stands for a subscription: drains belong to none, and their events come from here.
const drainSource = "/"

const (
	drainColumns = `place, reason, ordered_by, since, until`

	putDrain = `INSERT INTO drains (subscription, ` + drainColumns + `) VALUES (?, ?, ?, ?, ?, ?)
		ON CONFLICT (subscription, place) DO UPDATE SET reason = excluded.reason, ordered_by = excluded.ordered_by, until = excluded.until`
	listDrains   = `SELECT ` + drainColumns + ` FROM drains WHERE subscription = ?`
	endDrain     = `DELETE FROM drains WHERE subscription = ? AND place = ? AND until > ?`
	forgetDrains = `DELETE FROM drains WHERE subscription = ? AND until <= ?`
)

// Drains has the methods for drains. It keeps them in memory, which Refresh renews.
type Drains struct {
	store *Store
	known atomic.Pointer[map[string]Drain] // by place, with some whose time is over
	read  sync.Mutex                       // so that no earlier read replaces a later one
}

// Refresh reads the drains that this and other gateways have recorded.
func (s *Drains) Refresh(ctx context.Context) error {
	s.read.Lock()
	defer s.read.Unlock()
	known := map[string]Drain{}
	err := s.store.engine.Read(ctx).Each(func(scan engine.Scanner) error {
		var d Drain
		var since, until int64
		err := scan(&d.Place, &d.Reason, &d.By, &since, &until)
		d.Since, d.Until = engine.TimeOf(since), engine.TimeOf(until)
		known[d.Place] = d
		return err
	}, listDrains, drainSource)
	if err != nil {
		return fmt.Errorf("read the drains: %w", err)
	}
	s.known.Store(&known)
	return nil
}

// At returns the drain of a place, if the place is drained now. It asks memory alone.
func (s *Drains) At(place string) (d Drain, drained bool) {
	d, drained = (*s.known.Load())[place]
	return d, drained && d.Until.After(s.store.Now())
}

// Is reports whether a place is drained now. It asks memory alone.
func (s *Drains) Is(place string) bool {
	_, drained := s.At(place)
	return drained
}

// Without returns those of some regions that are not drained now.
func (s *Drains) Without(regions []string) []string {
	return slices.DeleteFunc(slices.Clone(regions), s.Is)
}

// Put begins a drain now, or changes the reason and the end of the one that its place has.
func (s *Drains) Put(ctx context.Context, d Drain) error {
	return s.change(ctx, d.Place, index.WriteVerb, func(t *tx) (int64, error) {
		now := engine.Micros(t.Now)
		if _, err := t.Exec(forgetDrains, drainSource, now); err != nil {
			return 0, err
		}
		return t.Exec(putDrain, drainSource, d.Place, d.Reason, d.By, now, engine.Micros(d.Until))
	})
}

// End ends a drain before its time. The error is ErrNotFound if the place is not drained.
func (s *Drains) End(ctx context.Context, place string) error {
	return s.change(ctx, place, index.DeleteVerb, func(t *tx) (int64, error) {
		return t.Exec(endDrain, drainSource, place, engine.Micros(t.Now))
	})
}

// change changes a drain in the store and in memory, and records an event.
func (s *Drains) change(ctx context.Context, place, verb string, change func(*tx) (changed int64, err error)) error {
	err := s.store.write(ctx, engine.Flushed, transaction.RecordLocks(drainSource), func(t *tx) error {
		if changed, err := change(t); err != nil || changed == 0 {
			return cmp.Or(err, ErrNotFound)
		}
		return t.RecordOwn(drainSource, events.Payload{
			Resource: "/providers/Portico.Operations/drains/" + url.PathEscape(place), Action: "Portico.Operations/drains" + verb, Status: events.Succeeded,
		})
	})
	return cmp.Or(err, s.Refresh(ctx))
}
