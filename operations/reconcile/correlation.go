package reconcile

import (
	"context"
	"net/http"

	"portico/inventory"
	"portico/inventory/index"
	"portico/jobs"
)

// headerFor returns the ids of a job's call about a row. While the row's group is
// being deleted they are those of the deletion, because all its calls have one
// correlation id. Nothing depends on it: if the deletion cannot be read, they are the
// job's own.
func headerFor(ctx context.Context, store *inventory.Store, claim *jobs.Claim, region string, row inventory.Resource) http.Header {
	group, err := store.Group(ctx, row.Subscription, row.Group)
	if err != nil || group.State != index.GroupDeleting {
		return claim.Header(region)
	}
	job, err := store.Job(ctx, row.Subscription, group.Generation)
	if err != nil {
		return claim.Header(region)
	}
	deletion, err := jobs.CommissionOf(job)
	if err != nil || deletion.Correlation == "" {
		return claim.Header(region)
	}
	return jobs.Header(deletion.Correlation, region)
}
