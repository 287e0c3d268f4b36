package observe

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"portico/arm"
	"portico/events"
	"portico/gateway/exchange"
	"portico/inventory"
	"portico/inventory/memory"
	"portico/routing"
)

// recordTime bounds for how long an answer waits for its event.
const recordTime = 2 * time.Second

// Activity records what the activity log shows besides changes: requests that were refused,
// and what providers answered to requests that were only passed on to them.
//
// The events of changes are recorded in the transactions that make them. These have none;
// Activity gives each one of its own, before the client has its answer. Nothing depends on
// it: if the store does not take the event, the answer goes out, and a counter says so.
// What one caller is refused in a minute makes a bounded number of events. It is safe for
// concurrent use.
type Activity struct {
	store    *inventory.Store
	refusals *budget
	// Events that were not recorded, as their caller has too many, or the store failed.
	overBudget, failed prometheus.Counter
}

// NewActivity returns a recorder of events. It registers its metrics.
func NewActivity(store *inventory.Store, registry prometheus.Registerer) *Activity {
	unrecorded := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "portico_activity_unrecorded_total",
		Help: "Refused requests, and requests that were passed on to a provider, of which the activity log has no event: budget (their caller is refused " +
			"too often), or store (it did not take the event).",
	}, []string{"why"})
	registry.MustRegister(unrecorded)
	return &Activity{
		store: store, refusals: newBudget(refusalsPerMinute),
		overBudget: unrecorded.WithLabelValues("budget"), failed: unrecorded.WithLabelValues("store"),
	}
}

// Refused records that Portico itself refuses the request of x, if that belongs in the log.
// A nil one records nothing.
func (a *Activity) Refused(ctx context.Context, x *exchange.Exchange, fault *arm.Error) {
	if a == nil || x.Request == nil || !exchange.Changes(x.Request.Method) || !logged(fault) {
		return
	}
	action := x.RouteAction
	if action == "" {
		action = x.Request.Action()
	}
	if action == "" || strings.HasSuffix(action, "/read") || !a.concerns(ctx, x) {
		return // it leads nowhere
	}
	a.record(ctx, x, events.Payload{Action: action, Status: events.Failed, Origin: events.Decided, HTTPStatus: fault.Status, Error: fault})
}

// logged reports whether a refusal belongs in the log: somebody was not allowed, or found
// the resource in another state, or what it is to lie in missing. Requests that are wrong in
// themselves, unknown callers and too many requests do not.
func logged(fault *arm.Error) bool {
	switch fault.Status {
	case http.StatusForbidden, http.StatusConflict, http.StatusPreconditionFailed:
		return true
	case http.StatusNotFound:
		return fault.Code == arm.ResourceGroupNotFound || fault.Code == arm.ParentResourceNotFound || fault.Code == arm.ResourceNotFound
	}
	return false
}

// Answered records what a provider answered to the request of x, which was only passed on.
// why is the provider's error, nil where it gave none.
func (a *Activity) Answered(ctx context.Context, x *exchange.Exchange, status int, accepted bool, why *arm.Error) {
	payload := events.Payload{Action: x.Request.Action(), Origin: events.Answered, HTTPStatus: status, Status: events.Succeeded, Error: why}
	switch {
	case status >= http.StatusBadRequest:
		payload.Status = events.Failed
	case status >= http.StatusMultipleChoices:
		return // nothing was done, and the client goes on elsewhere
	case accepted:
		payload.Status = events.Accepted
	}
	a.record(ctx, x, payload)
}

// Unanswered records that a request that was only passed on got no answer but Portico's
// own. In doubt it may have been carried out all the same.
func (a *Activity) Unanswered(ctx context.Context, x *exchange.Exchange, fault *arm.Error, unverified bool) {
	a.record(ctx, x, events.Payload{
		Action: x.Request.Action(), Status: events.Failed, Origin: events.Answered, HTTPStatus: fault.Status, Error: fault, Unverified: unverified,
	})
}

// concerns reports whether the request of x is in a subscription of its caller's, or in none:
// no caller writes into the log of others, nor of what does not exist.
func (a *Activity) concerns(ctx context.Context, x *exchange.Exchange) bool {
	id := x.Subscription()
	if id == "" {
		return x.Principal.TenantID != ""
	}
	found, _, err := a.store.Scopes.Subscription(ctx, id, x.Started)
	return err == nil && found.State != inventory.Deleted && x.Principal.CanSee(found.TenantID)
}

// record records an event of the request of x, at its scope.
func (a *Activity) record(ctx context.Context, x *exchange.Exchange, payload events.Payload) {
	if payload.Status == events.Failed {
		ok, omitted := a.refusals.take(x.Caller(), time.Now())
		if !ok {
			a.overBudget.Inc()
			return
		}
		payload.Omitted = omitted
	}
	partition := x.Subscription()
	if partition == "" {
		partition = memory.TenantPartition(x.Principal.TenantID)
	}
	payload.Resource, payload.Began = resourceOf(x.Request), x.Started
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTime)
	defer cancel()
	if err := a.store.Events.Record(ctx, partition, payload); err != nil {
		a.failed.Inc()
		x.Warn("a request is not in the activity log", err)
	}
}

// resourceOf is the ID of what a request is about: of an action, what it is done to.
func resourceOf(q *routing.Request) string {
	if q.Method == http.MethodPost {
		return q.Scope()
	}
	return q.Path.String()
}
