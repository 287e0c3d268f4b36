package operations

import (
	"context"

	"portico/inventory"
)

// Settling is the kind of work that sees a registration to its settled state
// where the gateway that waited for the endpoints did not live to do so.
type Settling struct{ Store *inventory.Store }

// Run settles the registration.
func (k Settling) Run(ctx context.Context, h *Held) (Verdict, error) {
	if _, err := k.Store.SettleRegistration(ctx, h.Job.Subscription, h.Job.Subject); err != nil {
		return Verdict{}, err
	}
	return Verdict{End: inventory.JobDone}, nil
}
