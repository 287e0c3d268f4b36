package notify

import (
	"context"

	"portico/inventory"
	"portico/inventory/jobrow"
	"portico/jobs"
)

// RegistrationCompletion settles the state of a registration, in case the gateway
// that waited for the endpoints died first.
type RegistrationCompletion struct{ Store *inventory.Store }

// Run settles the registration.
func (k RegistrationCompletion) Run(ctx context.Context, claim *jobs.Claim) (jobs.Result, error) {
	if _, err := k.Store.SettleRegistration(ctx, claim.Job.Subscription, claim.Job.Subject); err != nil {
		return jobs.Result{}, err
	}
	return jobs.Result{End: jobrow.Done}, nil
}
