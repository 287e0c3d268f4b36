package sweep

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"portico/arm"
	"portico/internal/timing"
	"portico/inventory"
	"portico/probe"
	"portico/regions"
	"portico/routing"
	"portico/tracing/spans"
)

const (
	// faultsPerList is the number of faults that end a list: a region that fails so
	// often is down.
	faultsPerList = 5
	// triesAtMost bounds the calls of one request to a busy region.
	triesAtMost     = 5
	longestThrottle = time.Minute
)

// regionSweep compares the resources of a type in one region.
type regionSweep struct {
	*typeSweep
	endpoint *regions.Endpoint
	version  string
	started  time.Time // by the store

	mu     sync.Mutex
	listed int
	faults int
	reason error // of the latest fault
	// answered: a call was answered, if only by an absence.
	answered bool
	// open: there may be a resource without a row.
	open bool
	// young has resources that could not be adopted yet.
	young []*routing.Request
}

var (
	errTooManyFaults   = errors.New("too many faults")
	errParentsUnlisted = errors.New("the list of the type above is missing there")
	errUnknownGroups   = errors.New("resources there are in resource groups that do not exist")
	errTooYoung        = errors.New("resources there were being deleted, or written to, while they were listed")
)

// region lists a region, adopts the listed resources, and reports whether the region
// was listed in full. An error is the store's.
func (ts *typeSweep) region(ctx context.Context, name string) (complete bool, err error) {
	ctx, span := spans.Begin(ctx, spans.SweepRegion, "sweep region")
	complete, err = ts.listRegion(ctx, name)
	if span != nil {
		span.Text(spans.ResourceType, ts.typ.FullName)
		span.Text(spans.Region, name)
		span.Text(spans.Outcome, regionOutcome(complete, err))
		span.End()
	}
	return complete, err
}

// regionOutcome returns the outcome of a region in one word.
func regionOutcome(complete bool, err error) string {
	switch {
	case err != nil:
		return "failed"
	case complete:
		return "complete"
	}
	return "incomplete"
}

func (ts *typeSweep) listRegion(ctx context.Context, name string) (complete bool, err error) {
	rs := &regionSweep{typeSweep: ts, endpoint: ts.typ.Endpoint(name), version: ts.typ.APIVersions[0], started: ts.store.Now()}
	if rs.endpoint == nil {
		ts.addFailure(ts.sub, ts.typ.FullName, name, errors.New("the map has no endpoint for it, but there are rows"))
		return false, nil
	}
	unseen, err := rs.parentsUnknown(ctx)
	if err != nil {
		return false, err
	}
	rs.open = unseen
	err = rs.readLists(ctx)
	if err == nil {
		err = rs.adoptYoung(ctx)
	}
	ts.addListed(ts.typ.FullName, name, rs.listed)
	if err != nil && !errors.Is(err, errTooManyFaults) {
		return false, err
	}
	if rs.faults > 0 {
		ts.addMissing(name, rs.reason, ts.store.Now(), !rs.answered)
		return false, nil
	}
	if ts.order.DryRun {
		return true, nil
	}
	switch {
	case unseen:
		ts.addMissing(name, errParentsUnlisted, time.Time{}, false)
	case len(rs.young) > 0:
		ts.addMissing(name, errTooYoung, ts.store.Now(), false)
	case rs.open && ts.order.Uncovered:
		ts.addMissing(name, errUnknownGroups, ts.store.Now(), false)
	}
	if !rs.open {
		if err := ts.store.Coverage.Cover(ctx, ts.sub, ts.typ.Key, name, rs.started); err != nil {
			return false, fmt.Errorf("record that a region is listed: %w", err)
		}
	}
	_, err = ts.store.Strays.ForgetUnseen(ctx, ts.sub, ts.typ.Key, name, rs.started)
	return true, err
}

// parentsUnknown reports whether the region may hold parents of a nested type that the
// index does not know: resources below those are not listed. It is called before the
// parents are read, because their rows precede the coverage.
func (rs *regionSweep) parentsUnknown(ctx context.Context) (bool, error) {
	parent := rs.typ.Parent
	if parent == nil || parent.Kind != regions.Tracked {
		return parent != nil, nil
	}
	unseen, err := rs.store.Coverage.Uncovered(ctx, rs.sub, parent.Key, []string{rs.endpoint.Region})
	return len(unseen) > 0, err
}

// readLists reads the collection of the subscription or, for a nested type, one collection
// below each parent in the region.
func (rs *regionSweep) readLists(ctx context.Context) error {
	slots, group := rs.slotsAt(rs.endpoint), &workGroup{}
	last := rs.typ.Name
	if rs.typ.Parent == nil {
		path := "/subscriptions/" + rs.sub + "/providers/" + rs.typ.Provider.Namespace + "/" + last
		err := rs.readCollection(ctx, path, func(l listedResource) error {
			group.do(ctx, slots, func() error { return rs.examine(ctx, l, rs.started) })
			return group.failure()
		})
		return errors.Join(group.wait(ctx), err)
	}
	if rs.typ.Parent.Kind != regions.Tracked {
		return nil
	}
	last = last[len(rs.typ.Parent.Name):] // with its slash
	err := eachRow(ctx, rs.store, rs.sub, rs.typ.Parent.Key, func(parent inventory.Resource) error {
		if parent.Region != rs.endpoint.Region {
			return nil
		}
		group.do(ctx, slots, func() error {
			return rs.readCollection(ctx, parent.ID+last, func(l listedResource) error { return rs.examine(ctx, l, rs.started) })
		})
		return group.failure()
	})
	return errors.Join(group.wait(ctx), err)
}

// adoptYoung tries once more to adopt the resources that were too young and may have
// been deleted since. A resource that is still unsettled does not count as absent.
func (rs *regionSweep) adoptYoung(ctx context.Context) error {
	young := rs.young
	rs.young = nil
	if len(young) > 0 { // until removals here count as earlier than the next list
		if err := timing.Sleep(ctx, rs.store.ClockSlack()); err != nil {
			return err
		}
	}
	slots, group := rs.slotsAt(rs.endpoint), &workGroup{}
	for _, q := range young {
		group.do(ctx, slots, func() error { return rs.adoptListed(ctx, q, rs.store.Now()) })
	}
	err := group.wait(ctx)
	rs.open = rs.open || len(rs.young) > 0
	return err
}

// adoptListed adopts a resource that was listed since a time and that the index lacks
// in this region.
func (rs *regionSweep) adoptListed(ctx context.Context, q *routing.Request, since time.Time) error {
	answer, err := rs.get(ctx, rs.Prober, q.Path.Escaped(), "api-version="+rs.version)
	switch {
	case err != nil:
		return rs.recordFault(ctx, err)
	case answer.Status == http.StatusNotFound:
		return nil // it was removed after it was listed
	}
	if err := probe.CheckShown(answer); err != nil {
		return rs.recordFault(ctx, err)
	}
	seen := probe.NewDiscovery(rs.Prober.Map, q, rs.endpoint.Region, rs.version, answer.Body, since)
	result, err := rs.adopt(ctx, seen)
	if err == nil && result == inventory.Strayed {
		result, err = rs.adoptStray(ctx, seen)
	}
	if err != nil {
		return err
	}
	switch result {
	case inventory.Adopted:
		rs.updateReport(func(r *Report) { r.MissingRows.add(seen.ID) })
	case inventory.Strayed:
		rs.updateReport(func(r *Report) { r.Strays.add(seen.ID) })
	case inventory.NoGroup:
		rs.updateReport(func(r *Report) { r.UnknownGroups.add(seen.ID) })
	case inventory.Known, inventory.TooYoung:
	}
	rs.mu.Lock()
	defer rs.mu.Unlock()
	switch result {
	case inventory.NoGroup:
		rs.open = true
	case inventory.TooYoung:
		rs.young = append(rs.young, q)
	case inventory.Adopted, inventory.Known, inventory.Strayed:
	}
	return nil
}

func (rs *regionSweep) adopt(ctx context.Context, seen inventory.Discovery) (inventory.AdoptResult, error) {
	if rs.order.DryRun {
		return rs.wouldAdopt(ctx, seen)
	}
	return rs.store.Adopt(ctx, seen)
}

// adoptStray probes the resource of the row that makes a discovery a stray. If that resource
// is gone, the row goes, and the discovery counts as young: it is probed and adopted after
// the list.
func (rs *regionSweep) adoptStray(ctx context.Context, seen inventory.Discovery) (inventory.AdoptResult, error) {
	if rs.order.DryRun {
		return inventory.Strayed, nil
	}
	row, err := rs.store.Resource(ctx, seen.Subscription, seen.ID)
	if err != nil {
		if errors.Is(err, inventory.ErrNotFound) {
			return inventory.TooYoung, nil
		}
		return 0, fmt.Errorf("read the row of a resource that may be a stray: %w", err)
	}
	probed, err := rs.Prober.Probe(ctx, rs.header(), row)
	switch {
	case probed.Removed():
		rs.updateReport(func(r *Report) { r.MissingResources.add(row.ID) })
		return inventory.TooYoung, nil
	case errors.Is(err, inventory.ErrUnavailable):
		return 0, err
	case err == nil && !probed.Found: // but the row has changed meanwhile, and may have gone
		return inventory.TooYoung, nil
	}
	return inventory.Strayed, ctx.Err() // the row's region has it too, or gives no answer
}

// recordFault records a fault of the provider, unless ctx has ended; too many of them end the list.
func (rs *regionSweep) recordFault(ctx context.Context, reason error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	rs.addFailure(rs.sub, rs.typ.FullName, rs.endpoint.Region, reason)
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.reason = reason
	if rs.faults++; rs.faults >= faultsPerList {
		return errTooManyFaults
	}
	return nil
}

// requestFor returns the request for the id of a list's element, or an error if the id names no
// resource of the type.
func (rs *regionSweep) requestFor(id string) (*routing.Request, error) {
	q, fault := routing.ClassifyID(rs.Prober.Map, http.MethodGet, id)
	if fault != nil || q.Class != routing.Instance || q.Type != rs.typ || q.Path.Hops() != 1 || q.Path.Group() == "" ||
		!arm.EqualFold(q.Path.Subscription(), rs.sub) {
		return nil, fmt.Errorf("an element of its list has no id that is one of the type's in the subscription")
	}
	return q, nil
}
