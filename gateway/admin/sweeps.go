package admin

import (
	"errors"
	"fmt"
	"net/http"

	"portico/arm"
	"portico/gateway/admin/api"
	"portico/inventory"
	"portico/jobs/sweep"
)

// orderSweep orders a sweep, or joins one under way with the same order, and shows its job.
func (l *listener) orderSweep(w http.ResponseWriter, r *http.Request) (int, any, error) {
	var sent api.Sweep
	if err := readBody(w, r, &sent); err != nil {
		return 0, nil, err
	}
	order := sweep.Order{DryRun: sent.DryRun}
	if sent.Subscription != "" {
		if !arm.ValidGUID(sent.Subscription) {
			return 0, nil, arm.NewError(arm.InvalidSubscriptionID, sent.Subscription).WithTarget("subscription")
		}
		known, err := l.Store.Subscription(r.Context(), sent.Subscription)
		if errors.Is(err, inventory.ErrNotFound) {
			return 0, nil, arm.NewError(arm.SubscriptionNotFound, sent.Subscription).WithTarget("subscription")
		}
		if err != nil {
			return 0, nil, fmt.Errorf("read the subscription of a sweep: %w", err)
		}
		order.Subscription = known.ID
	}
	job, err := l.Sweeps.Order(r.Context(), order)
	if err != nil {
		return 0, nil, fmt.Errorf("start a sweep: %w", err)
	}
	w.Header()["Location"] = []string{"/admin/jobs/" + job.Name()}
	return http.StatusAccepted, l.jobOf(job), nil
}
