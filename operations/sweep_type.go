package operations

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"sync"

	"portico/inventory"
	"portico/limits"
	"portico/regions"
)

const (
	rowsAtOnce    = 1000
	regionsAtOnce = 32
)

// typeSweep compares one type of a subscription.
type typeSweep struct {
	*sweep
	sub string
	typ *regions.ResourceType

	mu    sync.Mutex
	known map[fingerprint]*standing
}

// fingerprint stands for a key: a type may have a million resources.
type fingerprint [16]byte

func fingerprintOf(key string) (f fingerprint) {
	sum := sha256.Sum256([]byte(key))
	copy(f[:], sum[:])
	return f
}

// standing is what is known of a row that was there before the lists began.
type standing struct {
	region string
	listed bool // by that region
}

func newTypeSweep(w *sweep, sub string, t *regions.ResourceType) *typeSweep {
	return &typeSweep{sweep: w, sub: sub, typ: t, known: map[fingerprint]*standing{}}
}

func (ts *typeSweep) run(ctx context.Context) error {
	wanted, err := ts.regions(ctx)
	if err != nil || len(wanted) == 0 {
		return err
	}
	if err := ts.rows(ctx, func(row inventory.Resource) error {
		ts.known[fingerprintOf(row.Key)] = &standing{region: row.Region}
		return nil
	}); err != nil {
		return err
	}
	whole := map[string]bool{} // the regions that were listed to the end
	crew := newCrew()
	slots := make(chan struct{}, regionsAtOnce)
	for _, region := range wanted {
		crew.do(ctx, slots, func() error {
			complete, err := ts.region(ctx, region)
			ts.mu.Lock()
			defer ts.mu.Unlock()
			whole[region] = complete
			return err
		})
	}
	if err := crew.wait(ctx); err != nil {
		return err
	}
	return ts.verify(ctx, whole)
}

// regions are those that the order asks for, and where rows are.
func (ts *typeSweep) regions(ctx context.Context) ([]string, error) {
	if ts.order.Uncovered {
		return ts.store.Uncovered(ctx, ts.sub, ts.typ.Key, ts.typ.EffectiveRegions())
	}
	held, err := ts.store.Regions(ctx, ts.sub, "", ts.typ.Key)
	if err != nil {
		return nil, err
	}
	wanted := slices.Clone(ts.typ.EffectiveRegions())
	for _, region := range held {
		if !slices.Contains(wanted, region) {
			wanted = append(wanted, region)
		}
	}
	return wanted, nil
}

// rows visits the rows of the type.
func (ts *typeSweep) rows(ctx context.Context, visit func(inventory.Resource) error) error {
	return eachRow(ctx, ts.store, ts.sub, ts.typ.Key, visit)
}

func eachRow(ctx context.Context, store *inventory.Store, sub, typ string, visit func(inventory.Resource) error) error {
	for after := ""; ; {
		page, err := store.Resources(ctx, inventory.ResourceQuery{Subscription: sub, Type: typ, After: after, Limit: rowsAtOnce})
		if err != nil {
			return err
		}
		for _, row := range page {
			after = row.Key
			if err := visit(row); err != nil {
				return err
			}
		}
		if len(page) < rowsAtOnce {
			return nil
		}
	}
}

// met notes that a region listed a resource, and reports whether the index has
// it there.
func (ts *typeSweep) met(key, region string) bool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	row := ts.known[fingerprintOf(key)]
	if row == nil || row.region != region {
		return false
	}
	row.listed = true
	return true
}

// unlisted reports whether a row was there before the lists began and was not
// shown by that of its region.
func (ts *typeSweep) unlisted(row inventory.Resource) bool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	before := ts.known[fingerprintOf(row.Key)]
	return before != nil && before.region == row.Region && !before.listed
}

// verify asks for the rows that lie in a region whose whole list did not show
// them. Those in doubt are being asked for anyhow.
func (ts *typeSweep) verify(ctx context.Context, whole map[string]bool) error {
	crew := newCrew()
	failure := ts.rows(ctx, func(row inventory.Resource) error {
		if !whole[row.Region] || row.Doubtful() || !ts.unlisted(row) {
			return nil
		}
		crew.do(ctx, ts.slotsOf(ts.typ.Endpoint(row.Region)), func() error { return ts.ask(ctx, row) })
		return crew.failure()
	})
	return errors.Join(failure, crew.wait(ctx))
}

// ask has a row's resource prove that it is there. Where the provider does not
// say, the row is flagged.
func (ts *typeSweep) ask(ctx context.Context, row inventory.Resource) error {
	if ts.order.DryRun {
		return ts.wouldRemove(ctx, row)
	}
	result, err := ts.Asker.Probe(ctx, ts.header(), row)
	switch {
	case result.Removed():
		ts.note(func(r *SweepReport) { r.MissingResources.add(row.ID) })
		return nil
	case err == nil || ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, inventory.ErrUnavailable):
		return err
	}
	ts.failed(ts.sub, ts.typ.FullName, row.Region, fmt.Errorf("a resource that was not listed could not be asked for: %w", err))
	return ts.store.Doubt(ctx, row.Subscription, row.Key)
}

// crew does pieces of work side by side, until one fails.
type crew struct {
	work sync.WaitGroup

	mu  sync.Mutex
	err error
}

func newCrew() *crew { return &crew{} }

// do begins a piece of work when a slot is free. After a failure, or when ctx
// has ended, it does nothing.
func (c *crew) do(ctx context.Context, slots chan struct{}, piece func() error) {
	if c.failure() != nil {
		return
	}
	select {
	case slots <- struct{}{}:
	case <-ctx.Done():
		return
	}
	c.work.Go(func() {
		defer func() { <-slots }()
		var err error
		if p := limits.CatchPanic(func() { err = piece() }); p != nil {
			err = p
		}
		if err != nil {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.err = errors.Join(c.err, err)
		}
	})
}

func (c *crew) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// wait returns when all work has ended, with what failed of it.
func (c *crew) wait(ctx context.Context) error {
	c.work.Wait()
	if err := c.failure(); err != nil {
		return err
	}
	return ctx.Err()
}
