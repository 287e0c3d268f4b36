package operations

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"portico/arm"
	"portico/inventory"
	"portico/locate"
	"portico/regions"
	"portico/routing"
)

const (
	// faultsPerList ends a list: a region that fails so often is down.
	faultsPerList = 5
	// throttledAtMost is how often a question is put again that the region was
	// too busy for.
	throttledAtMost = 5
	longestThrottle = time.Minute
)

// regionSweep compares what one region holds of a type.
type regionSweep struct {
	*typeSweep
	endpoint *regions.Endpoint
	version  string
	begun    time.Time // by the store

	mu     sync.Mutex
	listed int
	faults int
	// open: something is there of which no row tells, or may be.
	open bool
	// young are resources that could not be adopted yet.
	young []*routing.Request
}

var errSweepFaults = errors.New("too many faults")

// region lists a region, takes in what it shows, and reports whether it was
// seen in full. An error is the store's.
func (ts *typeSweep) region(ctx context.Context, name string) (complete bool, err error) {
	rs := &regionSweep{typeSweep: ts, endpoint: ts.typ.Endpoint(name), version: ts.typ.APIVersions[0], begun: ts.store.Time()}
	if rs.endpoint == nil {
		ts.failed(ts.sub, ts.typ.FullName, name, errors.New("the map has no endpoint for it, but there are rows"))
		return false, nil
	}
	if rs.open, err = rs.parentsUnknown(ctx); err != nil {
		return false, err
	}
	err = rs.lists(ctx)
	if err == nil {
		err = rs.grownUp(ctx)
	}
	ts.listed(ts.typ.FullName, name, rs.listed)
	if err != nil && !errors.Is(err, errSweepFaults) {
		return false, err
	}
	if rs.faults > 0 {
		return false, nil
	}
	if ts.order.DryRun {
		return true, nil
	}
	if !rs.open {
		if err := ts.store.Cover(ctx, ts.sub, ts.typ.Key, name, rs.begun); err != nil {
			return false, err
		}
	}
	_, err = ts.store.ForgetStrays(ctx, ts.sub, ts.typ.Key, name, rs.begun)
	return true, err
}

// parentsUnknown tells whether there may be parents of a nested type in the region
// that the index does not know: nobody lists what is below them then. It is asked
// before the parents are read, which are there when the coverage is.
func (rs *regionSweep) parentsUnknown(ctx context.Context) (bool, error) {
	parent := rs.typ.Parent
	if parent == nil || parent.Kind != regions.Tracked {
		return parent != nil, nil
	}
	unseen, err := rs.store.Uncovered(ctx, rs.sub, parent.Key, []string{rs.endpoint.Region})
	return len(unseen) > 0, err
}

// lists reads the collections: that of the subscription or, of a nested type,
// one below each parent that lies in the region.
func (rs *regionSweep) lists(ctx context.Context) error {
	slots, crew := rs.slotsOf(rs.endpoint), newCrew()
	last := rs.typ.Name
	if rs.typ.Parent == nil {
		path := "/subscriptions/" + rs.sub + "/providers/" + rs.typ.Provider.Namespace + "/" + last
		err := rs.collection(ctx, path, func(q *routing.Request) error {
			crew.do(ctx, slots, func() error { return rs.meet(ctx, q, rs.begun) })
			return crew.failure()
		})
		return errors.Join(crew.wait(ctx), err)
	}
	if rs.typ.Parent.Kind != regions.Tracked {
		return nil
	}
	last = last[len(rs.typ.Parent.Name):] // with its slash
	err := eachRow(ctx, rs.store, rs.sub, rs.typ.Parent.Key, func(parent inventory.Resource) error {
		if parent.Region != rs.endpoint.Region {
			return nil
		}
		crew.do(ctx, slots, func() error {
			return rs.collection(ctx, parent.ID+last, func(q *routing.Request) error { return rs.meet(ctx, q, rs.begun) })
		})
		return crew.failure()
	})
	return errors.Join(crew.wait(ctx), err)
}

// grownUp tries once more to adopt what was too young, as seen by now: it may
// have been deleted. What is still to be settled is no absence.
func (rs *regionSweep) grownUp(ctx context.Context) error {
	young := rs.young
	rs.young = nil
	slots, crew := rs.slotsOf(rs.endpoint), newCrew()
	for _, q := range young {
		crew.do(ctx, slots, func() error { return rs.meet(ctx, q, rs.store.Time()) })
	}
	err := crew.wait(ctx)
	rs.open = rs.open || len(rs.young) > 0
	return err
}

// meet takes in a resource that was listed since a time and that the index does
// not have in this region.
func (rs *regionSweep) meet(ctx context.Context, q *routing.Request, since time.Time) error {
	answer, err := rs.get(ctx, rs.Asker, q.Path.Escaped(), "api-version="+rs.version)
	switch {
	case err != nil:
		return rs.fault(ctx, err)
	case answer.Status == http.StatusNotFound:
		return nil // it has gone since it was listed
	case answer.Status != http.StatusOK:
		return rs.fault(ctx, locate.NewStatusError(answer.Status, answer.Header))
	}
	seen := locate.NewDiscovery(rs.Asker.Map, q, rs.endpoint.Region, rs.version, answer.Body, since)
	result, err := rs.adopt(ctx, seen)
	if err != nil {
		return err
	}
	switch result {
	case inventory.Adopted:
		rs.note(func(r *SweepReport) { r.MissingRows.add(seen.ID) })
	case inventory.Strayed:
		rs.note(func(r *SweepReport) { r.Strays.add(seen.ID) })
	case inventory.NoGroup:
		rs.note(func(r *SweepReport) { r.UnknownGroups.add(seen.ID) })
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

func (rs *regionSweep) adopt(ctx context.Context, seen inventory.Sighting) (inventory.AdoptResult, error) {
	if rs.order.DryRun {
		return rs.wouldAdopt(ctx, seen)
	}
	return rs.store.Adopt(ctx, seen)
}

// fault notes what the provider did wrong; enough of it ends the list. The end
// of ctx is no fault of the provider's.
func (rs *regionSweep) fault(ctx context.Context, reason error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	rs.failed(rs.sub, rs.typ.FullName, rs.endpoint.Region, reason)
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.faults++; rs.faults >= faultsPerList {
		return errSweepFaults
	}
	return nil
}

// named returns the request that the id of a list's element names, or why it
// names none of the type.
func (rs *regionSweep) named(id string) (*routing.Request, error) {
	q, fault := routing.ClassifyID(rs.Asker.Map, http.MethodGet, id)
	if fault != nil || q.Class != routing.Instance || q.Type != rs.typ || q.Path.Hops() != 1 || q.Path.Group() == "" ||
		!arm.EqualFold(q.Path.Subscription(), rs.sub) {
		return nil, fmt.Errorf("an element of its list has no id that is one of the type's in the subscription")
	}
	return q, nil
}
