package operations

import (
	"context"
	"net/http"

	"portico/inventory"
	"portico/locate"
)

// rowHeader carries the ids of a job's call about a row: those of the group's
// deletion, as long as there is one, since all calls of one deletion have one
// correlation id; else those of the job itself. Nothing depends on it, so what
// cannot be read is done without.
func rowHeader(ctx context.Context, p locate.Prober, h *Held, region string, row inventory.Resource) http.Header {
	group, err := p.Store.Group(ctx, row.Subscription, row.Group)
	if err != nil || group.State != inventory.GroupDeleting {
		return h.header(region)
	}
	job, err := p.Store.Job(ctx, row.Subscription, group.Generation)
	if err != nil {
		return h.header(region)
	}
	deletion, err := ReadDeletion(job)
	if err != nil || deletion.Correlation == "" {
		return h.header(region)
	}
	return headerOf(deletion.Correlation, region)
}
