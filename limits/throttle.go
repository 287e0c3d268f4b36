package limits

import (
	"net/http"
	"time"

	"portico/arm"
)

// RequestKind is a kind of requests with its own buckets.
type RequestKind uint8

// The kinds of requests.
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

// String returns the kind's name in ARM's messages.
func (k RequestKind) String() string { return kindNames[k] }

// BucketScope identifies the owner of a bucket.
type BucketScope uint8

// The scopes of buckets.
const (
	NoBucket           BucketScope = iota
	CallerBucket                   // a caller in a subscription
	SubscriptionBucket             // a subscription as a whole
	TenantBucket                   // a caller at its tenant
)

var scopeNames = [...]string{"nothing", "caller", "subscription", "tenant"}

// String returns the scope's name as a metric label.
func (s BucketScope) String() string { return scopeNames[s] }

// RequestLimits are the limits of a subscription, or the default.
type RequestLimits struct {
	Rates  [RequestKinds]Rate // of one caller
	Factor float64            // the subscription's rates as a multiple of a caller's
}

// ThrottleSettings are the limits of a configuration.
type ThrottleSettings struct {
	RequestLimits                           // the default, and the limits of callers at their tenants
	Subscriptions map[string]*RequestLimits // exceptions, by case-folded ID
}

// Throttle charges requests to buckets, with the limits of one configuration. It is safe for
// concurrent use.
type Throttle struct {
	settings ThrottleSettings
	levels   *BucketLevels
	replicas func() int
}

// NewThrottle returns a throttle. replicas returns the number of replicas that share the limits,
// including this one.
func NewThrottle(s ThrottleSettings, levels *BucketLevels, replicas func() int) *Throttle {
	return &Throttle{settings: s, levels: levels, replicas: replicas}
}

// limits returns a subscription's limits, or a tenant's for "".
func (t *Throttle) limits(subscription string) *RequestLimits {
	if len(t.settings.Subscriptions) > 0 && subscription != "" {
		var buffer [64]byte
		if own := t.settings.Subscriptions[string(arm.AppendFold(buffer[:0], subscription))]; own != nil {
			return own
		}
	}
	return &t.settings.RequestLimits
}

// ThrottledRequest is a request to be charged.
type ThrottledRequest struct {
	Kind         RequestKind
	Caller       string // the principal or, without authentication, the address
	Subscription string // in any case; "" for requests outside of subscriptions
	Arrived      time.Time
}

// Refusal is the reason why a request is refused. A request may succeed after RetryAfter.
type Refusal struct {
	Scope      BucketScope
	RetryAfter time.Duration // whole seconds, from one to [MaxThrottleWait]
}

// Take takes the cost of one request, or returns a refusal. The ticket has the remaining tokens in
// either case. exists reports whether the subscription exists for the caller. It is called only if
// the caller has no bucket there, after the caller's bucket at its tenant has paid.
func (t *Throttle) Take(r ThrottledRequest, exists func() bool) (Ticket, *Refusal) {
	ticket := Ticket{throttle: t, kind: r.Kind, now: r.Arrived.Sub(t.levels.started)}
	ticket.tenantKey, ticket.callerKey, ticket.subscriptionKey = t.levels.keys(r.Caller, r.Subscription)
	replicas := t.replicas()
	ticket.tenantRate = t.settings.Rates[r.Kind].share(replicas)
	if r.Subscription == "" {
		refusal := ticket.takeAtTenant()
		return ticket, refusal
	}
	limits := t.limits(r.Subscription)
	ticket.callerRate = limits.Rates[r.Kind].share(replicas)
	ticket.subscriptionRate = limits.Rates[r.Kind].times(limits.Factor).share(replicas)
	if known, refusal := ticket.takeInSubscription(false); known {
		return ticket, refusal
	}
	if refusal := ticket.takeAtTenant(); refusal != nil || !exists() {
		return ticket, refusal
	}
	ticket.charge(&t.levels.callers, ticket.tenantKey, ticket.tenantRate, -1)
	_, refusal := ticket.takeInSubscription(true)
	return ticket, refusal
}
