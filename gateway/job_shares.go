package gateway

import (
	"context"
	"time"

	"portico/inventory"
	"portico/operations"
)

// jobTurn is when a job is looked at again whose caller has as many of its kind under
// way as one may.
const jobTurn = time.Second

// jobShares are those of the kinds of work that clients have made for them.
func jobShares(part float64) map[string]*operations.Shares {
	shares := map[string]*operations.Shares{}
	for _, kind := range []string{inventory.GroupDeleteJob, inventory.RequestBatchJob, inventory.MoveJob, inventory.ValidateMoveJob} {
		shares[kind] = operations.NewShares(part)
	}
	return shares
}

// shared bounds what of a kind of work is done for one caller at a time.
func (g *Gateway) shared(name string, kind operations.Kind, caller func(context.Context, inventory.Job) (string, error)) operations.Kind {
	return operations.Shared{Kind: kind, Shares: g.jobShares[name], Caller: caller, Pause: max(g.config.Index.PollFloor, jobTurn)}
}

// deleter names the one who has a group deleted.
func deleter(_ context.Context, job inventory.Job) (string, error) {
	p, err := operations.ReadDeletion(job)
	return p.Caller.Caller(), err
}

// mover names the one who has resources moved.
func mover(_ context.Context, job inventory.Job) (string, error) {
	p, err := operations.ReadMove(job)
	return p.Caller.Caller(), err
}
