package deletion

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"portico/arm"
	"portico/inventory"
	"portico/inventory/index"
	"portico/jobs/deletion/deletionplan"
	"portico/probe"
	"portico/regions"
	"portico/routing"
	"portico/upstream/answers"
)

// AtOnce is the number of resources in one read or write.
const AtOnce = 500

// GroupRows reads the rows of the group; visible: only the rows that clients see.
func (d *Driver) GroupRows(ctx context.Context, visible bool, each func(inventory.Resource) error) error {
	for after := ""; ; {
		page, err := d.Store.Resources(ctx, inventory.ResourceQuery{
			Subscription: d.Subscription, Group: d.Group, After: after, Limit: AtOnce, Visible: visible,
		})
		if err != nil {
			return fmt.Errorf("read the resources of a group: %w", err)
		}
		for _, row := range page {
			if err := each(row); err != nil {
				return err
			}
			after = row.Key
		}
		if len(page) < AtOnce {
			return nil
		}
	}
}

// ResourceOf returns the resource of a row, with its state from the record of an earlier attempt.
func ResourceOf(row inventory.Resource, recorded deletionplan.Record) *deletionplan.Resource {
	m := &deletionplan.Resource{Key: row.Key, ID: row.ID, Type: row.Type, Region: row.Region, Parent: row.Parent, Manager: arm.Fold(row.Details.ManagedBy)}
	m.Restore(recorded)
	if Followed(row) && m.State != deletionplan.Accepted { // another DELETE; if that fails, it is sent
		m.State, m.Orphan, m.Blockers = deletionplan.Accepted, true, nil
	}
	m.Busy = cmp.Or(row.WriteUnderWay(), m.Busy) // a recorded one stays until Observe finds it ended
	return m
}

// Add adds the resource of a row to the queue.
func (d *Driver) Add(row inventory.Resource, recorded deletionplan.Record) *deletionplan.Resource {
	m := ResourceOf(row, recorded)
	if q, endpoint, err := d.Target(row); err == nil {
		m.Endpoint, m.Refuses = endpoint.Region+" "+endpoint.String(), q.Type.DeletionPolicy == regions.Refuse
	}
	m.Busy = cmp.Or(d.underWay(row), m.Busy)
	d.Queue.Add(m)
	return m
}

// Followed reports whether another job finds out the outcome of a row's delete.
func Followed(row inventory.Resource) bool {
	return row.FollowDelete || row.Phase == index.Deleting
}

// ReadOpenWrites reads which resources of the group have a write without an answer, which may
// still take effect.
func (d *Driver) ReadOpenWrites(ctx context.Context) error {
	open, err := d.Store.GroupWrites(ctx, d.Subscription, d.Group, AtOnce)
	d.writing = make(map[string]string, len(open))
	for _, o := range open {
		d.writing[o.Key] = o.Kind.String()
	}
	return err
}

// underWay returns the kind of a write of a row's resource that may be under way, "" for none.
func (d *Driver) underWay(row inventory.Resource) string {
	return cmp.Or(row.WriteUnderWay(), d.writing[row.Key])
}

// Find reads the resources, adds new ones to the queue, and updates the others. It returns the
// keys of all.
func (d *Driver) Find(ctx context.Context, recorded map[string]deletionplan.Record) (found map[string]bool, err error) {
	found = make(map[string]bool, len(d.Queue.Resources))
	var unverified []*deletionplan.Resource
	err = d.Rows(ctx, func(row inventory.Resource) error {
		found[row.Key] = true
		m := d.Queue.Resources[row.Key]
		switch {
		case m != nil:
			return d.compare(ctx, m, row)
		case d.Fixed:
			return nil
		}
		if m = d.Add(row, recorded[row.Key]); row.Verify && row.Parent != "" && m.State == deletionplan.Waiting {
			unverified = append(unverified, m)
		}
		return nil
	})
	for _, m := range unverified { // its parent has gone, so it is being verified
		if d.Queue.Resources[m.Parent] == nil {
			d.Queue.AwaitProof(m)
		}
	}
	return found, err
}

// Refresh updates the queue from the inventory.
func (d *Driver) Refresh(ctx context.Context) error {
	d.stale = false
	if d.Queue.In(deletionplan.Parked) > 0 {
		if err := d.ReadOpenWrites(ctx); err != nil {
			return fmt.Errorf("read the open writes of a group: %w", err)
		}
	}
	found, err := d.Find(ctx, nil)
	if err != nil {
		return err
	}
	for key := range d.Queue.Resources {
		if !found[key] {
			d.Queue.Drop(key)
		}
	}
	return nil
}

// compare compares a resource with its row.
func (d *Driver) compare(ctx context.Context, m *deletionplan.Resource, row inventory.Resource) error {
	if unknown, err := d.Unknown(ctx, m, row); unknown || err != nil {
		return err
	}
	ours := m.State == deletionplan.Accepted && !m.Orphan
	state := deletionplan.RowState{
		Accepted: Followed(row) || ours && row.Verify, Unverified: row.Verify || row.FollowPut,
		Failure: deletionplan.Result{Outcome: deletionplan.OutcomeRefused}, Busy: d.underWay(row),
	}
	if ours && !state.Accepted {
		text, err := d.Failure(ctx, row.Key)
		if err != nil {
			return err
		}
		state.Failure.Blockers, state.Failure.Named = d.blockers(row.Key, text)
	}
	d.Queue.Observe(row.Key, state)
	return nil
}

// blockers returns the resources that a refusal names.
func (d *Driver) blockers(self, text string) ([]string, bool) {
	scope := arm.Fold(routing.GroupID(d.Subscription, d.Group)) + "/"
	return deletionplan.BlockersIn(text, scope, self, func(key string) bool { return d.Queue.Resources[key] != nil })
}

// Unconfigured returns the result for a resource that has no endpoint. If the map lacks its
// region, the resource waits until the region comes back or is retired, and does not fail for
// it.
func Unconfigured(err error) (a CallResult, fault *arm.Error) {
	a, message := Result(deletionplan.OutcomeRefused), err.Error()
	if missing, is := errors.AsType[probe.MissingEndpointError](err); is {
		a.Outcome, message = deletionplan.OutcomeUnreachable, message+". "+probe.MissingRegionRemedy(missing.Region)
	}
	fault = arm.NewError(arm.NoRegisteredProviderFound).WithMessage("%s", message)
	a.Text = answers.FaultText(fault.Code, fault.Message)
	return a, fault
}
