package inventory

import (
	"context"

	"portico/arm"
	"portico/inventory/deploymentrow"
	"portico/inventory/engine"
	"portico/inventory/jobrow"
	"portico/inventory/transaction"
)

// CancelJob makes a job Cancelling and due, and revokes its holder's lease. Its kind decides
// what cancelling does; an event reports who cancels a deployment. The error is ErrNotFound
// if there is no such job, and jobrow.ErrEnded if it is over; cancelling a job again changes
// nothing.
func (s *Store) CancelJob(ctx context.Context, sub string, id [16]byte) error {
	return s.write(ctx, engine.Flushed, transaction.RecordLocks(sub), func(t *tx) error {
		j, canceled, err := jobrow.Cancel(t.Base(), arm.Fold(sub), id)
		if err != nil || !canceled || j.Kind != deploymentrow.Job {
			return err
		}
		return deploymentrow.RecordCanceled(&t.Tx, j)
	})
}
