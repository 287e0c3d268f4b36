package gateway

import (
	"errors"
	"net/http"

	"portico/arm"
	"portico/inventory"
	"portico/operations/sweep"
)

// sweepBody is what an operator asks for; nothing at all means everything.
type sweepBody struct {
	DryRun       bool   `json:"dryRun"`
	Subscription string `json:"subscription"`
}

// Sweeper returns what compares the index with the providers, for sweeps without a
// runner.
func (g *Gateway) Sweeper() *sweep.Sweeper { return g.sweeper }

// adminSweep orders a sweep, and names the job that makes it. An order that is
// being carried out already is joined.
func (g *Gateway) adminSweep(w http.ResponseWriter, r *http.Request) (int, any, error) {
	var sent sweepBody
	if err := adminBody(w, r, &sent); err != nil {
		return 0, nil, err
	}
	order := sweep.Order{DryRun: sent.DryRun}
	if sent.Subscription != "" {
		if !arm.ValidGUID(sent.Subscription) {
			return 0, nil, arm.NewError(arm.InvalidSubscriptionID, sent.Subscription).About("subscription")
		}
		known, err := g.store.Subscription(r.Context(), sent.Subscription)
		if errors.Is(err, inventory.ErrNotFound) {
			return 0, nil, arm.NewError(arm.SubscriptionNotFound, sent.Subscription).About("subscription")
		}
		if err != nil {
			return 0, nil, err
		}
		order.Subscription = known.ID
	}
	job, err := g.sweeper.Order(r.Context(), order)
	if err != nil {
		return 0, nil, err
	}
	w.Header()["Location"] = []string{"/admin/jobs/" + job.Name()}
	return http.StatusAccepted, adminJobOf(job), nil
}
