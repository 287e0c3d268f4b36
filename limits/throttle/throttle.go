package throttle

import (
	"net/http"
	"time"

	"portico/arm"
)

// Kind is a kind of requests, which have buckets of their own.
type Kind uint8

// The kinds.
const (
	Reads Kind = iota
	Writes
	Deletes

	Kinds = iota // the number of kinds
)

// KindOf returns the kind of requests with a method.
func KindOf(method string) Kind {
	switch method {
	case http.MethodGet, http.MethodHead:
		return Reads
	case http.MethodDelete:
		return Deletes
	}
	return Writes
}

var kindNames = [Kinds]string{"read", "write", "delete"}

// String returns the name of a kind, as ARM's messages have it.
func (k Kind) String() string { return kindNames[k] }

// Scope says whose bucket is meant.
type Scope uint8

// The scopes.
const (
	Nothing      Scope = iota
	Caller             // of one caller in one subscription
	Subscription       // of a subscription as a whole
	Tenant             // of one caller at its tenant
)

var scopeNames = [...]string{"nothing", "caller", "subscription", "tenant"}

// String returns a name that is fit for a metric label.
func (s Scope) String() string { return scopeNames[s] }

// Limits are those of one subscription, or of all.
type Limits struct {
	Rates  [Kinds]Rate // of one caller
	Factor float64     // the subscription's, as a multiple of one caller's
}

// Settings are the limits of one configuration.
type Settings struct {
	Limits                           // also of callers at their tenants
	Subscriptions map[string]*Limits // by folded ids, where they differ
}

// Throttle takes tokens by one configuration. It is safe for concurrent use.
type Throttle struct {
	settings Settings
	levels   *Levels
	replicas func() int
}

// New returns a throttle. replicas is how many replicas share the limits, this one
// included.
func New(s Settings, levels *Levels, replicas func() int) *Throttle {
	return &Throttle{settings: s, levels: levels, replicas: replicas}
}

// limits returns those of a subscription, of a tenant for "".
func (t *Throttle) limits(subscription string) *Limits {
	if len(t.settings.Subscriptions) > 0 && subscription != "" {
		var buffer [64]byte
		if own := t.settings.Subscriptions[string(arm.AppendFold(buffer[:0], subscription))]; own != nil {
			return own
		}
	}
	return &t.settings.Limits
}

// Request is a request as its buckets see it.
type Request struct {
	Kind         Kind
	Caller       string // names the principal or, without authentication, the address
	Subscription string // in any casing; "" at the tenant
	Arrived      time.Time
}

// Refusal says why a request is not let through. One will be RetryAfter later.
type Refusal struct {
	Scope      Scope
	RetryAfter time.Duration // in whole seconds, from one to [MaxWait]
}

// Take takes what one request costs, or returns a refusal; the ticket says in either case
// what is left. exists reports whether the subscription exists for the caller. It is asked
// only where the caller has no bucket there, after the caller's tenant has paid.
func (t *Throttle) Take(r Request, exists func() bool) (Ticket, *Refusal) {
	ticket := Ticket{throttle: t, kind: r.Kind, now: r.Arrived.Sub(t.levels.begun)}
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
