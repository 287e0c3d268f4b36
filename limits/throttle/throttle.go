// Package throttle bounds how many requests callers send, as ARM does: by token buckets
// for reads, writes and deletes, of each caller in each subscription, of each caller at
// its tenant, and of each subscription as a whole.
//
// A request takes a token of the caller's bucket and one of the subscription's, or none
// where one of both is empty. The subscription's is several times as large, so that one
// caller can use up that part of it and no more.
//
// # Who pays
//
// A subscription's bucket is touched only by callers for whom the subscription exists.
// Until that is known, and where it turns out otherwise ([Ticket.Disown]), the caller's
// bucket at its tenant pays: whoever invents subscriptions, or calls those of others,
// throttles only itself, and adds no bucket to memory.
//
// A list over several regions costs one token for each. What the buckets lack becomes a
// debt ([Ticket.Charge]): a refusal could never end for a list over more regions than a
// bucket holds, and has no true Retry-After where other requests are let through
// meanwhile. A debt lasts for [MaxWait] at most.
//
// # Replicas
//
// Each replica keeps buckets of its own, of its share of the limits: the limits divided
// by the number of live replicas, as far as the replica knows. Together they let through
// what the limits say. While that number changes, one that joins brings full buckets,
// and the others may not know of it yet: for that time it is less than twice the limits.
// Were each replica to know of no other, it would be the limits times the replicas.
//
// The package reads no clock: requests bring the time of their arrival.
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
