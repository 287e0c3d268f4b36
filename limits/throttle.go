package limits

import (
	"net/http"
	"time"

	"portico/arm"
)

// RequestKind is a kind of requests, which have buckets of their own.
type RequestKind uint8

// The kinds.
const (
	Reads RequestKind = iota
	Writes
	Deletes

	RequestKinds = iota // the number of kinds
)

// RequestKindOf returns the kind of requests with a method.
func RequestKindOf(method string) RequestKind {
	switch method {
	case http.MethodGet, http.MethodHead:
		return Reads
	case http.MethodDelete:
		return Deletes
	}
	return Writes
}

var kindNames = [RequestKinds]string{"read", "write", "delete"}

// String returns the name of a kind, as ARM's messages have it.
func (k RequestKind) String() string { return kindNames[k] }

// BucketScope says whose bucket is meant.
type BucketScope uint8

// The scopes.
const (
	NoBucket           BucketScope = iota
	CallerBucket                   // of one caller in one subscription
	SubscriptionBucket             // of a subscription as a whole
	TenantBucket                   // of one caller at its tenant
)

var scopeNames = [...]string{"nothing", "caller", "subscription", "tenant"}

// String returns a name that is fit for a metric label.
func (s BucketScope) String() string { return scopeNames[s] }

// RequestLimits are those of one subscription, or of all.
type RequestLimits struct {
	Rates  [RequestKinds]Rate // of one caller
	Factor float64            // the subscription's, as a multiple of one caller's
}

// ThrottleSettings are the limits of one configuration.
type ThrottleSettings struct {
	RequestLimits                           // also of callers at their tenants
	Subscriptions map[string]*RequestLimits // by folded ids, where they differ
}

// Throttle takes tokens by one configuration. It is safe for concurrent use.
type Throttle struct {
	settings ThrottleSettings
	levels   *BucketLevels
	replicas func() int
}

// NewThrottle returns a throttle. replicas is how many replicas share the limits, this one
// included.
func NewThrottle(s ThrottleSettings, levels *BucketLevels, replicas func() int) *Throttle {
	return &Throttle{settings: s, levels: levels, replicas: replicas}
}

// limits returns those of a subscription, of a tenant for "".
func (t *Throttle) limits(subscription string) *RequestLimits {
	if len(t.settings.Subscriptions) > 0 && subscription != "" {
		var buffer [64]byte
		if own := t.settings.Subscriptions[string(arm.AppendFold(buffer[:0], subscription))]; own != nil {
			return own
		}
	}
	return &t.settings.RequestLimits
}

// ThrottledRequest is a request as its buckets see it.
type ThrottledRequest struct {
	Kind         RequestKind
	Caller       string // names the principal or, without authentication, the address
	Subscription string // in any casing; "" at the tenant
	Arrived      time.Time
}

// Refusal says why a request is not let through. One will be RetryAfter later.
type Refusal struct {
	Scope      BucketScope
	RetryAfter time.Duration // in whole seconds, from one to [MaxThrottleWait]
}

// Take takes what one request costs, or returns a refusal; the ticket says in either case
// what is left. exists reports whether the subscription exists for the caller. It is asked
// only where the caller has no bucket there, after the caller's tenant has paid.
func (t *Throttle) Take(r ThrottledRequest, exists func() bool) (Ticket, *Refusal) {
	ticket := Ticket{throttle: t, kind: r.Kind, now: r.Arrived.Sub(t.levels.started)}
	ticket.atTenant, ticket.within, ticket.whole = t.levels.keys(r.Caller, r.Subscription)
	replicas := t.replicas()
	ticket.tenantRate = t.settings.Rates[r.Kind].share(replicas)
	if r.Subscription == "" {
		refusal := ticket.takeAtTenant()
		return ticket, refusal
	}
	limits := t.limits(r.Subscription)
	ticket.rate = limits.Rates[r.Kind].share(replicas)
	ticket.wholeRate = limits.Rates[r.Kind].times(limits.Factor).share(replicas)
	if known, refusal := ticket.takeWithin(false); known {
		return ticket, refusal
	}
	if refusal := ticket.takeAtTenant(); refusal != nil || !exists() {
		return ticket, refusal
	}
	ticket.charge(&t.levels.callers, ticket.atTenant, ticket.tenantRate, -1)
	_, refusal := ticket.takeWithin(true)
	return ticket, refusal
}
