package reconcile

import (
	"context"
	"net/http"

	"portico/events"
	"portico/inventory"
	"portico/jobs"
)

// headerFor returns the ids for a job's call about a row. While the row's group is being deleted,
// these are the ids of the deletion, as all its calls carry the same; otherwise the ids of the
// request that caused the work or, if it is not known, of the job. Only logs depend on them.
func headerFor(ctx context.Context, store *inventory.Store, claim *jobs.Claim, region string, row inventory.Resource, cause events.Cause) http.Header {
	if deletion := deletionOf(ctx, store, row); deletion.Correlation != "" {
		return deletion.Header(region)
	}
	if cause.Correlation != "" {
		return jobs.Header(cause.Correlation, cause.ClientRequest, region)
	}
	return claim.Header(region)
}

// deletionOf returns the request that started the deletion of a row's group; the zero
// Commission if there is none, or if it cannot be read.
func deletionOf(ctx context.Context, store *inventory.Store, row inventory.Resource) jobs.Commission {
	var deletion jobs.Commission
	_, job, err := store.Deletions.Of(ctx, row.Subscription, row.Group)
	if err == nil {
		deletion, err = jobs.CommissionOf(job)
	}
	if err != nil {
		return jobs.Commission{}
	}
	return deletion
}
