package inventory

import (
	"context"

	"portico/arm"
	"portico/inventory/deploymentrow"
	"portico/inventory/engine"
	"portico/inventory/jobrow"
	"portico/inventory/transaction"
)

// CancelJob makes a job Cancelling and due, and revokes its holder's lease; the code of
// its kind does the rest. It records an event if the job is a deployment. The error is
// ErrNotFound if there is no such job, and jobrow.ErrEnded if the job has ended.
// Canceling a job again changes nothing.
func (s *Store) CancelJob(ctx context.Context, sub string, id [16]byte) error {
	return s.write(ctx, engine.Flushed, transaction.RecordLocks(sub), func(t *tx) error {
		j, canceled, err := jobrow.Cancel(t.Base(), arm.Fold(sub), id)
		if err != nil || !canceled || j.Kind != deploymentrow.Job {
			return err
		}
		return deploymentrow.RecordCanceled(&t.Tx, j)
	})
}
