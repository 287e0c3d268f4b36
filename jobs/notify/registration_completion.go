package notify

import (
	"context"
	"fmt"

	"portico/arm"
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

// Describe implements [jobs.Kind].
func (k RegistrationCompletion) Describe() jobs.Description {
	return jobs.Description{
		Reason: "registrationUnderWay", Message: "The registration of the provider, or its end, is being settled.",
		Refusals: []arm.Code{arm.MissingSubscriptionRegistration},
		HoldsAt: func(ctx context.Context, path *arm.Path) ([]jobs.Hold, error) {
			if path.Hops() == 0 {
				return nil, nil
			}
			namespace := path.LastHop().Namespace()
			return jobs.HoldOf(ctx, k.Store.Jobs, path.Subscription(), jobrow.ID(inventory.RegistrationJob, arm.Fold(namespace)),
				"/subscriptions/"+path.Subscription()+"/providers/"+namespace)
		},
	}
}

// Run settles the registration.
func (k RegistrationCompletion) Run(ctx context.Context, claim *jobs.Claim) (jobs.Result, error) {
	name, etag := claim.Job.Subject, func(inventory.RegistrationState) string { return "" }
	if p := k.Map.Provider(name); p != nil { // the map of another replica may have it
		name, etag = p.Namespace, k.ETag(p)
	}
	if _, err := k.Store.SettleRegistration(ctx, claim.Job.Subscription, name, etag); err != nil {
		return jobs.Result{}, fmt.Errorf("settle a registration: %w", err)
	}
	return jobs.Result{End: jobrow.Done}, nil
}
