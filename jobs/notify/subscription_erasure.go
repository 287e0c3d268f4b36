package notify

import (
	"context"
	"fmt"
	"time"

	"portico/arm"
	"portico/internal/failpoint"
	"portico/inventory"
	"portico/inventory/jobrow"
	"portico/jobs"
)

// SubscriptionErasure erases the records of a Deleted subscription once all providers
// have confirmed the deletion. Providers delete its resources by themselves, so Portico
// makes no DELETE calls (subscription lifecycle, Subscription States).
type SubscriptionErasure struct {
	Store *inventory.Store
	Floor time.Duration // the least time between two attempts
}

// eraseRecheck is the longest pause between two checks for confirmations. Usually the
// last confirmation triggers the job.
const eraseRecheck = 10 * time.Second

// Describe implements [jobs.Kind].
func (k SubscriptionErasure) Describe() jobs.Description {
	return jobs.Description{
		AfterRestore: jobs.Removed,
		Reason:       "erasureUnderWay", Message: "The subscription is deleted; what is left of it is being erased.",
		Refusals: []arm.Code{arm.SubscriptionNotFound},
		HoldsAt: func(ctx context.Context, path *arm.Path) ([]jobs.Hold, error) {
			return jobs.HoldOf(ctx, k.Store.Jobs, path.Subscription(), inventory.EraseJobID, "/subscriptions/"+path.Subscription())
		},
	}
}

// Run erases until nothing is left, or until it has to wait.
func (k SubscriptionErasure) Run(ctx context.Context, claim *jobs.Claim) (jobs.Result, error) {
	for after := ""; ; {
		failpoint.Pass(failpoint.EraseBefore)
		e, err := k.Store.EraseSubscription(ctx, claim.Job, after)
		after = e.After
		failpoint.Pass(failpoint.EraseAfter)
		switch {
		case err != nil:
			return jobs.Result{}, fmt.Errorf("erase a deleted subscription: %w", err)
		case e.Done, e.Recreated:
			return jobs.Result{Recorded: true}, nil
		case e.Notices > 0, e.Intents > 0, e.Moves > 0:
			return jobs.Result{Again: max(k.Floor, eraseRecheck), Payload: progressOf(e)}, nil
		}
	}
}

func progressOf(e inventory.Erasure) string {
	return jobrow.PayloadOf(map[string]any{"progress": map[string]int{"unconfirmed": e.Notices, "openWrites": e.Intents, "movingGroups": e.Moves}})
}
