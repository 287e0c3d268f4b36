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

// recordTime bounds how long an answer waits until its event is recorded.
const recordTime = 2 * time.Second

// Activity records those events of the activity log that belong to no change of the store:
// refused requests, and the answers to requests that were only forwarded.
//
// Events of changes are recorded in the transaction of the change. Activity records its
// events in transactions of their own, before the client gets its answer. If the store fails,
// the answer is sent nevertheless and a counter is increased. The number of events for one
// caller's refusals is bounded per minute. It is safe for concurrent use.
type Activity struct {
	store    *inventory.Store
	refusals *budget
	// Events that were not recorded, because the caller had too many or the store failed.
	overBudget, failed prometheus.Counter
}

// NewActivity returns an Activity that records in store. It registers its metrics.
func NewActivity(store *inventory.Store, registry prometheus.Registerer) *Activity {
	unrecorded := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "portico_activity_unrecorded_total",
		Help: "Refused requests, and requests forwarded to a provider, without an event in the activity log, by the reason: budget (the caller " +
			"is refused too often), or store (the event could not be stored).",
	}, []string{"why"})
	registry.MustRegister(unrecorded)
	return &Activity{
		store: store, refusals: newBudget(refusalsPerMinute),
		overBudget: unrecorded.WithLabelValues("budget"), failed: unrecorded.WithLabelValues("store"),
	}
}

// Refused records that Portico itself refused the request of x, if the log has such refusals.
// A nil Activity records nothing.
func (a *Activity) Refused(ctx context.Context, x *exchange.Exchange, fault *arm.Error) {
	if a == nil || x.Request == nil || !exchange.Changes(x.Request.Method) || !logged(fault) {
		return
	}
	action := x.RouteAction
	if action == "" {
		action = x.Request.Action()
	}
	if action == "" || strings.HasSuffix(action, "/read") || !a.inOwnLog(ctx, x) {
		return // no action, a read, or a foreign subscription
	}
	a.record(ctx, x, events.Payload{Action: action, Status: events.Failed, Origin: events.Decided, HTTPStatus: fault.Status, Error: fault})
}

// logged reports whether the activity log has such refusals: missing permissions, conflicts
// with the state of the resource, and missing resources, parents and groups. Malformed
// requests, unknown callers and too many requests are left out.
func logged(fault *arm.Error) bool {
	switch fault.Status {
	case http.StatusForbidden, http.StatusConflict, http.StatusPreconditionFailed:
		return true
	case http.StatusNotFound:
		return fault.Code == arm.ResourceGroupNotFound || fault.Code == arm.ParentResourceNotFound || fault.Code == arm.ResourceNotFound
	}
	return false
}

// Answered records a provider's answer to the request of x, which was only forwarded. why is
// the provider's error, or nil.
func (a *Activity) Answered(ctx context.Context, x *exchange.Exchange, status int, accepted bool, why *arm.Error) {
	payload := events.Payload{Action: x.Request.Action(), Origin: events.Answered, HTTPStatus: status, Status: events.Succeeded, Error: why}
	switch {
	case status >= http.StatusBadRequest:
		payload.Status = events.Failed
	case status >= http.StatusMultipleChoices:
		return // nothing was done; the client is redirected
	case accepted:
		payload.Status = events.Accepted
	}
	a.record(ctx, x, payload)
}

// Unanswered records that a forwarded request got no answer from its provider. unverified
// means that the provider may have executed it nevertheless.
func (a *Activity) Unanswered(ctx context.Context, x *exchange.Exchange, fault *arm.Error, unverified bool) {
	a.record(ctx, x, events.Payload{
		Action: x.Request.Action(), Status: events.Failed, Origin: events.Answered, HTTPStatus: fault.Status, Error: fault, Unverified: unverified,
	})
}

// inOwnLog reports whether the request of x is in a subscription of its caller, or in none: no
// caller may write into the log of another tenant or of a subscription that does not exist.
func (a *Activity) inOwnLog(ctx context.Context, x *exchange.Exchange) bool {
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
		ok, omitted := a.refusals.countRefusal(x.Caller(), time.Now())
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
		x.Warn("a request was not recorded in the activity log", err)
	}
}

// resourceOf returns the ID of the resource that a request is for. For an action, it is the
// resource that the action is done to.
func resourceOf(q *routing.Request) string {
	if q.Method == http.MethodPost {
		return q.Scope()
	}
	return q.Path.String()
}
