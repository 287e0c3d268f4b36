package inventory

import (
	"context"
	"fmt"
	"net/url"
	"slices"
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
	selectDrain  = `SELECT ` + drainColumns + ` FROM drains WHERE subscription = ? AND place = ? AND until > ?`
	listDrains   = `SELECT ` + drainColumns + ` FROM drains WHERE subscription = ?`
	deleteDrain  = `DELETE FROM drains WHERE subscription = ? AND place = ?`
	forgetDrains = `DELETE FROM drains WHERE subscription = ? AND until <= ?`
)

func scanDrain(scan engine.Scanner) (d Drain, err error) {
	var since, until int64
	err = scan(&d.Place, &d.Reason, &d.By, &since, &until)
	d.Since, d.Until = engine.TimeOf(since), engine.TimeOf(until)
	return d, err
}

// Drains has the methods for drains. It keeps them in memory, which Refresh renews.
type Drains struct {
	store *Store
	known atomic.Pointer[map[string]Drain] // by place, with some whose time is over
}

// Refresh reads the drains that this and other gateways have recorded.
func (s *Drains) Refresh(ctx context.Context) error {
	known := map[string]Drain{}
	err := s.store.engine.Read(ctx).Each(func(scan engine.Scanner) error {
		d, err := scanDrain(scan)
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

// Put begins a drain, or changes the reason and the end of the one that its place has. It returns
// the drain with its beginning.
func (s *Drains) Put(ctx context.Context, d Drain) (Drain, error) {
	return s.change(ctx, d.Place, index.WriteVerb, func(t *tx) (Drain, error) {
		now := engine.Micros(t.Now)
		if _, err := t.Exec(forgetDrains, drainSource, now); err != nil {
			return d, err
		}
		if _, err := t.Exec(putDrain, drainSource, d.Place, d.Reason, d.By, now, engine.Micros(d.Until)); err != nil {
			return d, err
		}
		return scanDrain(t.One(selectDrain, drainSource, d.Place, now))
	})
}

// End ends a drain before its time, and returns it. The error is ErrNotFound if the place is not
// drained.
func (s *Drains) End(ctx context.Context, place string) (Drain, error) {
	return s.change(ctx, place, index.DeleteVerb, func(t *tx) (Drain, error) {
		d, err := scanDrain(t.One(selectDrain, drainSource, place, engine.Micros(t.Now)))
		if err == nil {
			_, err = t.Exec(deleteDrain, drainSource, place)
		}
		return d, engine.OrNotFound(err)
	})
}

// change changes a drain, with an event of that.
func (s *Drains) change(ctx context.Context, place, verb string, change func(*tx) (Drain, error)) (Drain, error) {
	d, err := commit(ctx, s.store, engine.Flushed, transaction.RecordLocks(drainSource), func(t *tx) (d Drain, err error) {
		if d, err = change(t); err != nil {
			return d, err
		}
		return d, t.RecordOwn(drainSource, events.Payload{
			Resource: "/providers/Portico.Operations/drains/" + url.PathEscape(place), Action: "Portico.Operations/drains" + verb, Status: events.Succeeded,
		})
	})
	if err == nil {
		err = s.Refresh(ctx)
	}
	return d, err
}
