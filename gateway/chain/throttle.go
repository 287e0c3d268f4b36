package chain

import (
	"context"
	"net/http"
	"time"

	"portico/arm"
	"portico/config"
	"portico/gateway/exchange"
	"portico/inventory"
	"portico/limits"
)

// ThrottleOptions are the dependencies of [Throttle].
type ThrottleOptions struct {
	Config   *config.Throttle
	Levels   *limits.BucketLevels
	Replicas func() int
	Scopes   *inventory.Scopes
	Metrics  *limits.ThrottleMetrics
}

// Throttle limits the rate of requests, for one configuration: each takes tokens of its
// caller's and of its subscription's buckets. A nil Throttle limits nothing.
type Throttle struct {
	ThrottleOptions
	buckets *limits.Throttle
}

// NewThrottle returns a Throttle; nil if the configuration disables it.
func NewThrottle(o ThrottleOptions) *Throttle {
	c := o.Config
	if !c.Enabled {
		return nil
	}
	settings := limits.ThrottleSettings{RequestLimits: limitsOf(c.ThrottleLimits), Subscriptions: map[string]*limits.RequestLimits{}}
	for _, s := range c.Subscriptions {
		own := limitsOf(s.ThrottleLimits)
		settings.Subscriptions[arm.Fold(s.ID)] = &own
	}
	return &Throttle{o, limits.NewThrottle(settings, o.Levels, o.Replicas)}
}

func limitsOf(c config.ThrottleLimits) limits.RequestLimits {
	l := limits.RequestLimits{Factor: float64(c.SubscriptionFactor)}
	for kind, r := range map[limits.RequestKind]config.ThrottleRate{limits.Reads: c.Reads, limits.Writes: c.Writes, limits.Deletes: c.Deletes} {
		l.Rates[kind] = limits.Rate{Bucket: float64(r.Bucket), PerSecond: float64(r.PerSecond)}
	}
	return l
}

// Limit refuses the requests of callers that send too many. It must follow the links that
// authenticate and classify the request, and precede all that cost more.
func (t *Throttle) Limit(w http.ResponseWriter, r *http.Request) (goesOn bool) {
	x := exchange.From(r)
	if t == nil || x.ForMetadata() { // metadata needs no sign-in
		return true
	}
	kind, id := limits.RequestKindOf(r.Method), x.Request.Path.Subscription()
	if refusal := t.chargeRequest(r.Context(), x, kind, id); refusal != nil {
		t.Metrics.Refused(kind, refusal)
		exchange.Fail(w, r, throttleFault(x, kind, id, refusal))
		return false
	}
	return true
}

// Explain applies Limit to a request that is explained, and gives back the tokens it
// takes.
func (t *Throttle) Explain(w http.ResponseWriter, r *http.Request) (goesOn bool) {
	x := exchange.From(r)
	if t == nil || x.ForMetadata() {
		return true
	}
	x.RecordStage(exchange.AtLimits)
	kind, id := limits.RequestKindOf(r.Method), x.Request.Path.Subscription()
	refusal := t.chargeRequest(r.Context(), x, kind, id)
	x.Ticket.Return()
	x.Ticket, x.Trail.Limit = limits.Ticket{}, refusal
	if refusal != nil {
		exchange.Fail(w, r, throttleFault(x, kind, id, refusal))
		return false
	}
	return true
}

// chargeRequest charges the request to the buckets of a kind in a subscription.
func (t *Throttle) chargeRequest(ctx context.Context, x *exchange.Exchange, kind limits.RequestKind, id string) (refusal *limits.Refusal) {
	x.Ticket, refusal = t.buckets.Take(
		limits.ThrottledRequest{Kind: kind, Caller: x.Caller(), Subscription: id, Arrived: x.Started},
		func() bool { return t.exists(ctx, x, id) },
	)
	return refusal
}

// ChargeReads charges a request for n reads in a subscription, instead of its first
// charge, but for no more than its caller has left.
func (t *Throttle) ChargeReads(ctx context.Context, x *exchange.Exchange, id string, n int) error {
	if t == nil {
		return nil
	}
	x.Ticket.Return()
	if refusal := t.chargeRequest(ctx, x, limits.Reads, id); refusal != nil {
		t.Metrics.Refused(limits.Reads, refusal)
		return throttleFault(x, limits.Reads, id, refusal)
	}
	x.Ticket.ChargeLeft(n - 1)
	return nil
}

// exists reports whether a subscription exists for the caller. It asks memory first, then
// the store.
func (t *Throttle) exists(ctx context.Context, x *exchange.Exchange, id string) bool {
	found, _, err := t.Scopes.Subscription(ctx, id, x.Started)
	return err == nil && found.State != inventory.Deleted && x.Principal.CanSee(found.TenantID)
}

// throttleFault returns the client's error. It blames the caller only if its own bucket is empty.
func throttleFault(x *exchange.Exchange, of limits.RequestKind, id string, refusal *limits.Refusal) *arm.Error {
	kind, who := of.String(), x.Principal
	seconds := int(refusal.RetryAfter / time.Second)
	fault := arm.NewError(arm.SubscriptionRequestsThrottled, kind, id, who.ObjectID, seconds)
	switch refusal.Scope {
	case limits.TenantBucket:
		fault = arm.NewError(arm.TenantRequestsThrottled, kind, who.TenantID, who.ObjectID, seconds)
	case limits.SubscriptionBucket:
		fault = fault.WithMessage("Number of '%s' requests for subscription '%s' exceeded. Please try again after '%d' seconds after additional tokens are available. "+
			"Refer to https://aka.ms/arm-throttling for additional information.", kind, id, seconds)
	case limits.CallerBucket, limits.NoBucket:
	}
	fault.RetryAfter = refusal.RetryAfter
	return fault
}
