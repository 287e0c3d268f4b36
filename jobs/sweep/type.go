package sweep

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

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

	mu      sync.Mutex
	known   map[fingerprint]*knownRow
	missing []UnlistedPlace // regions whose list could not be read in full
}

// fingerprint replaces a key to save memory: a type may have a million resources.
type fingerprint [16]byte

func fingerprintOf(key string) (f fingerprint) {
	sum := sha256.Sum256([]byte(key))
	copy(f[:], sum[:])
	return f
}

// listedTags returns the fingerprint of the tags of a resource in a list; for unreadable tags,
// one that no row has.
func listedTags(text []byte) fingerprint {
	_, details := inventory.ReadDetails(text)
	if details == nil {
		return fingerprint{}
	}
	return tagsOf(details.Tags)
}

// tagsOf returns the fingerprint of tags.
func tagsOf(tags map[string]string) fingerprint {
	var text []byte
	for _, name := range slices.Sorted(maps.Keys(tags)) {
		text = strconv.AppendQuote(strconv.AppendQuote(text, name), tags[name])
	}
	return fingerprintOf(string(text))
}

// knownRow is a row that was there before the lists began.
type knownRow struct {
	region string
	tags   fingerprint
	listed bool // by that region
}

func newTypeSweep(w *sweep, sub string, t *regions.ResourceType) *typeSweep {
	return &typeSweep{sweep: w, sub: sub, typ: t, known: map[fingerprint]*knownRow{}}
}

func (ts *typeSweep) run(ctx context.Context) error {
	wanted, err := ts.regions(ctx)
	if err != nil || len(wanted) == 0 {
		return err
	}
	if err := ts.rows(ctx, func(row inventory.Resource) error {
		ts.known[fingerprintOf(row.Key)] = &knownRow{region: row.Region, tags: tagsOf(row.Details.Tags)}
		return nil
	}); err != nil {
		return err
	}
	listed := map[string]bool{} // the regions that were listed to the end
	group := &workGroup{}
	slots := limits.NewConcurrency(regionsAtOnce, regionsAtOnce, nil)
	for _, region := range wanted {
		group.do(ctx, slots, func() error {
			complete, err := ts.region(ctx, region)
			ts.mu.Lock()
			defer ts.mu.Unlock()
			listed[region] = complete
			return err
		})
	}
	if err := group.wait(ctx); err != nil {
		return err
	}
	return ts.verify(ctx, listed)
}

// regions returns the regions that the order names, and those with rows.
func (ts *typeSweep) regions(ctx context.Context) ([]string, error) {
	if ts.order.Uncovered {
		return ts.store.Coverage.Uncovered(ctx, ts.sub, ts.typ.Key, ts.typ.EffectiveRegions())
	}
	held, _, err := ts.store.Coverage.MayHold(ctx, ts.sub, "", ts.typ.Key, ts.typ.EffectiveRegions())
	if err != nil {
		return nil, fmt.Errorf("read which regions may hold resources: %w", err)
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
			return fmt.Errorf("read the rows of a type: %w", err)
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

// markListed records that a region listed a resource, and reports whether the index has it there
// with the same tags.
func (ts *typeSweep) markListed(l *listedResource, region string) bool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	row := ts.known[fingerprintOf(l.Key())]
	if row == nil || row.region != region {
		return false
	}
	row.listed, l.known = true, true
	return l.tags == row.tags || l.tags == fingerprint{}
}

// addMissing records that the list of a region could not be read in full. at is the zero time if
// the list was not requested.
func (ts *typeSweep) addMissing(region string, reason error, at time.Time, silent bool) {
	if listsOf(ts.typ) == 0 || !slices.Contains(ts.typ.EffectiveRegions(), region) {
		return
	}
	ts.mu.Lock()
	defer ts.mu.Unlock()
	ts.missing = append(ts.missing, UnlistedPlace{
		Region: region, Provider: ts.typ.Provider.Namespace, Lists: 1, Reason: reasonOf(reason), At: at, Silent: silent,
	})
}

// unlisted reports whether a row existed before the lists began and is missing from its
// region's list.
func (ts *typeSweep) unlisted(row inventory.Resource) bool {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	before := ts.known[fingerprintOf(row.Key)]
	return before != nil && before.region == row.Region && !before.listed
}

// verify probes the rows that the complete list of their region did not show.
// Unverified rows have jobs that probe them.
func (ts *typeSweep) verify(ctx context.Context, whole map[string]bool) error {
	group := &workGroup{}
	failure := ts.rows(ctx, func(row inventory.Resource) error {
		if !whole[row.Region] || row.NeedsVerify() || !ts.unlisted(row) {
			return nil
		}
		group.do(ctx, ts.slotsAt(ts.typ.Endpoint(row.Region)), func() error { return ts.verifyRow(ctx, row) })
		return group.failure()
	})
	return errors.Join(failure, group.wait(ctx))
}

// verifyRow probes a row's resource. If the provider does not answer whether it exists,
// it flags the row.
func (ts *typeSweep) verifyRow(ctx context.Context, row inventory.Resource) error {
	if ts.order.DryRun {
		return ts.wouldRemove(ctx, row)
	}
	probed, err := ts.Prober.Probe(ctx, ts.header(), row)
	switch {
	case probed.Removed():
		ts.updateReport(func(r *Report) { r.MissingResources.add(row.ID) })
		return nil
	case err == nil || ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, inventory.ErrUnavailable):
		return err
	}
	ts.addFailure(ts.sub, ts.typ.FullName, row.Region, fmt.Errorf("a resource that was not listed, or with other tags, could not be asked for: %w", err))
	return ts.store.RequestVerify(ctx, row.Subscription, row.Key)
}

// workGroup runs pieces of work concurrently, until one fails.
type workGroup struct {
	work sync.WaitGroup

	mu  sync.Mutex
	err error
}

// do starts a piece of work when a slot is free. After a failure, or when ctx has
// ended, it does nothing.
func (g *workGroup) do(ctx context.Context, slots *limits.Concurrency, piece func() error) {
	if g.failure() != nil || slots.Acquire(ctx, "") != nil {
		return
	}
	g.work.Go(func() {
		defer slots.Release("")
		var err error
		if p := limits.CatchPanic(func() { err = piece() }); p != nil {
			err = p
		}
		if err != nil {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.err = errors.Join(g.err, err)
		}
	})
}

func (g *workGroup) failure() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.err
}

// wait returns when all work has ended, with its errors.
func (g *workGroup) wait(ctx context.Context) error {
	g.work.Wait()
	if err := g.failure(); err != nil {
		return err
	}
	return ctx.Err()
}
