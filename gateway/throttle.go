package gateway

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

// newThrottle returns what counts requests by the configuration, nil if nothing does.
func (g *Gateway) newThrottle() *limits.Throttle {
	c := g.config.Throttle
	if !c.Enabled {
		return nil
	}
	settings := limits.ThrottleSettings{RequestLimits: limitsOf(c.ThrottleLimits), Subscriptions: map[string]*limits.RequestLimits{}}
	for _, s := range c.Subscriptions {
		own := limitsOf(s.ThrottleLimits)
		settings.Subscriptions[arm.Fold(s.ID)] = &own
	}
	return limits.NewThrottle(settings, g.levels, func() int { return g.runner.Replicas() })
}

func limitsOf(c config.ThrottleLimits) limits.RequestLimits {
	l := limits.RequestLimits{Factor: float64(c.SubscriptionFactor)}
	for kind, r := range map[limits.RequestKind]config.ThrottleRate{limits.Reads: c.Reads, limits.Writes: c.Writes, limits.Deletes: c.Deletes} {
		l.Rates[kind] = limits.Rate{Bucket: float64(r.Bucket), PerSecond: float64(r.PerSecond)}
	}
	return l
}

// limitRate refuses the requests of callers that send too many. It comes after what
// knows the caller and what the request is about, and before all that costs more.
func (g *Gateway) limitRate(w http.ResponseWriter, r *http.Request) (goesOn bool) {
	x := exchange.From(r)
	if g.throttle == nil || isMetadata(x.Path) { // it needs no sign-in
		return true
	}
	kind, id := limits.RequestKindOf(r.Method), x.Request.Path.Subscription()
	if refusal := g.take(r.Context(), x, kind, id); refusal != nil {
		g.throttled.Refused(kind, refusal)
		exchange.Fail(w, r, throttledFault(x, kind, id, refusal))
		return false
	}
	return true
}

// take charges the request as one of a kind in a subscription.
func (g *Gateway) take(ctx context.Context, x *exchange.Exchange, kind limits.RequestKind, id string) (refusal *limits.Refusal) {
	x.Ticket, refusal = g.throttle.Take(
		limits.ThrottledRequest{Kind: kind, Caller: x.Caller(), Subscription: id, Arrived: x.Started},
		func() bool { return g.exists(ctx, x, id) },
	)
	return refusal
}

// chargeReads charges a request for so many reads in a subscription, in place of what it has
// paid, but for no more than its caller has left.
func (g *Gateway) chargeReads(ctx context.Context, x *exchange.Exchange, id string, n int) error {
	if g.throttle == nil {
		return nil
	}
	x.Ticket.Return()
	if refusal := g.take(ctx, x, limits.Reads, id); refusal != nil {
		g.throttled.Refused(limits.Reads, refusal)
		return throttledFault(x, limits.Reads, id, refusal)
	}
	x.Ticket.ChargeLeft(n - 1)
	return nil
}

// exists reports whether a subscription exists for the caller. Where memory knows it,
// the store is not asked.
func (g *Gateway) exists(ctx context.Context, x *exchange.Exchange, id string) bool {
	found, _, err := g.store.Scopes.Subscription(ctx, id, x.Started)
	return err == nil && found.State != inventory.Deleted && x.Principal.CanSee(found.TenantID)
}

// throttledFault returns the client's error. Only the caller's own buckets blame it.
func throttledFault(x *exchange.Exchange, of limits.RequestKind, id string, refusal *limits.Refusal) *arm.Error {
	kind, who := of.String(), x.Principal
	seconds := int(refusal.RetryAfter / time.Second)
	fault := arm.NewError(arm.SubscriptionRequestsThrottled, kind, id, who.ObjectID, seconds)
	switch refusal.Scope {
	case limits.TenantBucket:
		fault = arm.NewError(arm.TenantRequestsThrottled, kind, who.TenantID, who.ObjectID, seconds)
	case limits.SubscriptionBucket:
		fault = fault.Saying("Number of '%s' requests for subscription '%s' exceeded. Please try again after '%d' seconds after additional tokens are available. "+
			"Refer to https://aka.ms/arm-throttling for additional information.", kind, id, seconds)
	case limits.CallerBucket, limits.NoBucket:
	}
	fault.RetryAfter = refusal.RetryAfter
	return fault
}
