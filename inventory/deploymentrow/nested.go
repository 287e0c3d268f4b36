package deploymentrow

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"portico/events"
	"portico/inventory/engine"
	"portico/inventory/jobrow"
	"portico/inventory/transaction"
)

// Parent is a deployment that contains others, with the job that runs all of them.
type Parent struct {
	Name
	Job jobrow.Job
}

const (
	endNested          = `UPDATE deployments SET state = ?, operations = ? WHERE job = ? AND state = ?`
	updateNestedRecord = `UPDATE deployments SET record = ? WHERE subscription = ? AND resource_group = ? AND name = ?`
)

// Nested describes a nested deployment that begins. Its parent's job runs it.
type Nested struct {
	Name
	ID      string // the deployment's full ID
	Parent  Parent
	Record  []byte // what clients see while it runs
	History int    // see [Started]
}

// BeginNested durably records a nested deployment. It replaces one of the same name that has
// ended or that the same job began; created reports whether there was none. It returns the
// same errors as [Deployments.Begin], jobrow.ErrLeaseLost if the caller no longer holds the
// job, and engine.ErrNotFound if the parent no longer exists.
func (d *Deployments) BeginNested(ctx context.Context, b Nested) (created bool, err error) {
	return d.beginNested(ctx, b, func(t *transaction.Tx) (Active, error) { return d.lockRunning(t, b.Parent.folded(), &b.Parent.Job) })
}

// TryNested returns the result that BeginNested would have if the parent ran, and records
// nothing.
func (d *Deployments) TryNested(ctx context.Context, b Nested) (created bool, err error) {
	return d.beginNested(engine.Rehearse(ctx), b, func(*transaction.Tx) (Active, error) { return Active{}, nil })
}

func (d *Deployments) beginNested(ctx context.Context, b Nested, hold func(*transaction.Tx) (Active, error)) (created bool, err error) {
	n, parent, j := b.folded(), b.Parent.folded(), b.Parent.Job
	if n == parent {
		return false, ErrActive
	}
	record, err := d.database.Cipher.Encrypt(ctx, sealPlace(n, j.ID, "record"), b.Record)
	if err != nil {
		return false, fmt.Errorf("encrypt the record of a nested deployment: %w", err)
	}
	return transaction.Commit(ctx, d.database, engine.Flushed, scopeLocks(n), func(t *transaction.Tx) (bool, error) {
		running, err := hold(t)
		if err != nil {
			return false, err
		}
		if err := openScope(t, n); err != nil {
			return false, err
		}
		found, job, err := deleteEnded(t, n)
		if errors.Is(err, ErrActive) && bytes.Equal(job, j.ID[:]) { // an earlier holder of the job began it
			_, err = t.Exec(updateNestedRecord, record, n.Subscription, n.Group, n.Name)
			return false, err
		}
		if err != nil {
			return false, err
		}
		return !found, d.insert(t, n, j.ID, startEvent(b.ID, !found, events.CauseOf(t.Context)), record, []byte{}, running.caller, b.History)
	})
}

// EndNested durably ends a nested deployment, if it still exists. The error is
// jobrow.ErrLeaseLost if the caller no longer holds the job.
func (d *Deployments) EndNested(ctx context.Context, name Name, j jobrow.Job, e Ended) error {
	n := name.folded()
	end, err := d.prepareEnd(ctx, n, j, e)
	if err != nil {
		return err
	}
	return d.database.Write(ctx, engine.Flushed, transaction.RecordLocks(n.Subscription), func(t *transaction.Tx) error {
		_, err := end(t)
		return err
	})
}

// Abandon ends the running nested deployments of a job as failed, because their parent no
// longer exists.
func (d *Deployments) Abandon(ctx context.Context, j jobrow.Job) error {
	return d.database.Write(ctx, engine.Flushed, transaction.RecordLocks(j.Subscription), func(t *transaction.Tx) error {
		if err := j.CheckLease(t.Tx); err != nil {
			return err
		}
		return d.failNested(t, j.ID)
	})
}
