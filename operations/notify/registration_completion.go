package notify

import (
	"context"

	"portico/inventory"
	"portico/inventory/jobrow"
	"portico/jobs"
	"portico/regions"
)

// RegistrationCompletion settles the state of a registration, in case the gateway
// that waited for the endpoints died first.
type RegistrationCompletion struct {
	Map   *regions.Map
	Store *inventory.Store
	ETag  func(*regions.Provider) func(inventory.RegistrationState) string // as [inventory.RegistrationChange].ETag
}

// Run settles the registration.
func (k RegistrationCompletion) Run(ctx context.Context, claim *jobs.Claim) (jobs.Result, error) {
	name, etag := claim.Job.Subject, func(inventory.RegistrationState) string { return "" }
	if p := k.Map.Provider(name); p != nil { // the map of another replica may have it
		name, etag = p.Namespace, k.ETag(p)
	}
	if _, err := k.Store.SettleRegistration(ctx, claim.Job.Subscription, name, etag); err != nil {
		return jobs.Result{}, err
	}
	return jobs.Result{End: jobrow.Done}, nil
}
