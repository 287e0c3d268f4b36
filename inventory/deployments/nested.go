package deployments

import (
	"bytes"
	"context"
	"errors"

	"portico/inventory/engine"
	"portico/inventory/jobrow"
	"portico/inventory/transaction"
)

const (
	abandonNested = `UPDATE deployments SET state = ?, operations = ? WHERE job = ? AND state = ?`
	renewNested   = `UPDATE deployments SET record = ? WHERE subscription = ? AND grp = ? AND name = ?`
)

// Nested is a nested deployment that begins: the job of its parent runs it.
type Nested struct {
	Name
	ID      string // its whole ID
	Parent  Name
	Record  []byte // what clients see while it runs
	History int    // as of [Begun]
}

// BeginNested durably records a nested deployment, in place of one of its name that has ended
// or that the same job began. The errors are those of [Deployments.Begin], jobrow.ErrLeaseLost
// if the caller no longer holds the job, and engine.ErrNotFound if the parent is there no more.
func (d *Deployments) BeginNested(ctx context.Context, b Nested, j jobrow.Job) error {
	n, parent := b.folded(), b.Parent.folded()
	if n == parent {
		return ErrActive
	}
	record, err := d.database.Cipher.Encrypt(ctx, place(n, j.ID, "record"), b.Record)
	if err != nil {
		return err
	}
	return d.database.Write(ctx, engine.Flushed, locksOf(n), func(t *transaction.Tx) error {
		running, err := d.hold(t, parent, &j)
		if err != nil {
			return err
		}
		if err := open(t, n); err != nil {
			return err
		}
		found, job, err := remove(t, n)
		if errors.Is(err, ErrActive) && bytes.Equal(job, j.ID[:]) { // it had begun before a takeover
			_, err = t.Exec(renewNested, record, n.Subscription, n.Group, n.Name)
			return err
		}
		if err != nil {
			return err
		}
		begun, err := d.begun(t.Context, running)
		if err != nil {
			return err
		}
		begun.Resource, begun.New = b.ID, !found
		return d.insert(t, n, j.ID, begun, record, []byte{}, b.History)
	})
}

// EndNested durably ends a nested deployment. One that is there no more has ended. The error
// is jobrow.ErrLeaseLost if the caller no longer holds the job.
func (d *Deployments) EndNested(ctx context.Context, name Name, j jobrow.Job, e Ended) error {
	n := name.folded()
	end, err := d.ending(ctx, n, j, e)
	if err != nil {
		return err
	}
	return d.database.Write(ctx, engine.Flushed, transaction.RecordLocks(n.Subscription), func(t *transaction.Tx) error {
		_, err := end(t)
		return err
	})
}

// Abandon ends the nested deployments of a job whose parent is there no more: they have
// failed.
func (d *Deployments) Abandon(ctx context.Context, j jobrow.Job) error {
	return d.database.Write(ctx, engine.Flushed, transaction.RecordLocks(j.Subscription), func(t *transaction.Tx) error {
		if err := j.CheckHeld(t.Tx); err != nil {
			return err
		}
		return d.abandon(t, j.ID)
	})
}
