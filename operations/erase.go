package operations

import (
	"context"
	"time"

	"portico/failpoint"
	"portico/inventory"
)

// Erasing is the kind of work that erases what is left of a Deleted subscription
// when all providers have confirmed that they know. They cascade; no resource of
// it is deleted by a call (subscription lifecycle, Subscription States).
type Erasing struct {
	Store *inventory.Store
	Floor time.Duration // the least time between two looks
}

// eraseRecheck is how often it is looked whether all have confirmed, at most: the
// last to do so hastens this.
const eraseRecheck = 10 * time.Second

// Run goes on until nothing is left, or there is something to wait for.
func (k Erasing) Run(ctx context.Context, h *Held) (Verdict, error) {
	for {
		failpoint.Pass(failpoint.EraseBefore)
		e, err := k.Store.EraseSubscription(ctx, h.Job)
		failpoint.Pass(failpoint.EraseAfter)
		switch {
		case err != nil:
			return Verdict{}, err
		case e.Done, e.Revived:
			return Verdict{Recorded: true}, nil
		case e.Notices > 0, e.Intents > 0, e.Moves > 0:
			return Verdict{Again: max(k.Floor, eraseRecheck), Payload: progressOf(e)}, nil
		}
	}
}

func progressOf(e inventory.Erasure) string {
	return inventory.PayloadOf(map[string]any{"progress": map[string]int{"unconfirmed": e.Notices, "openWrites": e.Intents, "movingGroups": e.Moves}})
}
