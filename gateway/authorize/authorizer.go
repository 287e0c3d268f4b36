// Package authorize decides whether the caller of a request may do what it asks for:
// by the roles that the caller and its groups are assigned, and by the owners that the
// configuration names.
//
// Every question is one action, in ARM's names, at one scope. Memory answers it; what
// memory denies is asked of the store before it is said. A caller with nothing at,
// above or below a subscription learns no more of it than of one that does not exist.
package authorize

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"portico/access"
	"portico/access/roles"
	"portico/arm"
	"portico/config"
	"portico/gateway/exchange"
	"portico/routing"
)

// Assignments are what the inventory knows of roles.
type Assignments interface {
	// GrantsAt returns what a caller has been granted in a subscription of its tenant, as
	// far as a question at a scope there needs it; without a subscription, at the tenant.
	GrantsAt(ctx context.Context, tenant, subscription string, who access.Principal, scope string) (roles.Held, error)
}

// Memory answers without asking the store if it can.
type Memory interface {
	// GrantsAt is that of Assignments, but may be out of date.
	GrantsAt(ctx context.Context, tenant, subscription string, who access.Principal, scope string, now time.Time) (held roles.Held, remembered bool, err error)
	// Grants returns all that a caller has been granted at, above and below a subscription
	// of its tenant. It is not out of date.
	Grants(ctx context.Context, tenant, subscription string, who access.Principal, now time.Time) (roles.Grants, error)
}

// Authorizer answers by one configuration. It is safe for concurrent use.
type Authorizer struct {
	enforced bool
	named    []config.Owner
	owners   owners
	store    Assignments
	memory   Memory
	metrics  *Metrics
}

// New returns an authorizer by the settings of a configuration.
func New(settings *config.Auth, store Assignments, memory Memory, metrics *Metrics) *Authorizer {
	return &Authorizer{
		enforced: settings.RolesEnforced(), named: settings.Owners, owners: newOwners(settings.Owners),
		store: store, memory: memory, metrics: metrics,
	}
}

// Enforced reports whether callers may do only what roles allow them.
func (a *Authorizer) Enforced() bool { return a.enforced }

// Check returns nil if the caller of x may do an action at a scope, which is an ID in
// any casing; "" is an action that needs no role. The error is AuthorizationFailed or,
// where the caller has nothing in the scope's subscription, that of a subscription that
// does not exist; or a failure of the store.
func (a *Authorizer) Check(ctx context.Context, x *exchange.Exchange, action, scope string) error {
	_, err := a.Ask(ctx, x, Question{Action: action, Scope: scope})
	return err
}

// Readable returns what of a list at a scope, for which an action is needed, the caller
// of x may see: nil for all of it. The error is that of Check where it may see nothing.
func (a *Authorizer) Readable(ctx context.Context, x *exchange.Exchange, action, scope string) (*Readable, error) {
	return a.Ask(ctx, x, Question{Action: action, Scope: scope, Partly: true})
}

// Question is what a request asks of its caller's roles.
type Question struct {
	Action, Scope string
	// Partly: it is enough if the caller may do the action somewhere below the scope.
	Partly bool
	// Excused, unless it is nil, reports whether the caller needs no role. It is asked of
	// callers whose roles do not allow the action.
	Excused func(context.Context, *exchange.Exchange) (bool, error)
}

// Ask answers a question of the request x: by nil, by what the caller may see where it
// may do the action at a part of the scope alone, or by the error of [Authorizer.Check].
func (a *Authorizer) Ask(ctx context.Context, x *exchange.Exchange, need Question) (*Readable, error) {
	if !a.enforced || need.Action == "" {
		return nil, nil
	}
	// What its caller may do is decided now, long after the request arrived if it had to wait.
	q := question{who: x.Principal, received: time.Now(), action: need.Action, scope: need.Scope}
	var part *Readable
	grant, err := a.decide(ctx, &q)
	if need.Partly && refused(err) {
		var failure error
		if part, failure = a.readable(ctx, &q); part != nil || failure != nil {
			err = failure
		}
	}
	if need.Excused != nil && refused(err) {
		if excused, failure := need.Excused(ctx, x); excused || failure != nil {
			err = failure
		}
	}
	a.metrics.count(err)
	note(x, need.Action, grant, err)
	if x.Trail != nil {
		x.Trail.RoleChecks = append(x.Trail.RoleChecks, exchange.RoleCheck{
			Action: need.Action, Scope: need.Scope, Grant: grant, Partly: part != nil, Err: err, Held: slices.Concat(q.owned, q.granted.Grants),
		})
	}
	return part, err
}

// refused reports whether an error is an answer to the question, rather than a failure
// to find it.
func refused(err error) bool {
	_, ok := errors.AsType[*arm.Error](err)
	return ok
}

// Explain returns the grant that allows a caller an action at a scope, as the store
// says; none where roles are not enforced. The error is as that of Check.
func (a *Authorizer) Explain(ctx context.Context, who access.Principal, action, scope string) (roles.Grant, error) {
	if !a.enforced {
		return roles.Grant{}, nil
	}
	return a.decide(ctx, &question{who: who, action: action, scope: scope})
}

// MayStill is Check for work that goes on for a caller whose request was answered.
func (a *Authorizer) MayStill(ctx context.Context, who access.Principal, action, scope string) error {
	_, err := a.Explain(ctx, who, action, scope)
	return err
}

// question is what is asked of the roles of a caller.
type question struct {
	who           access.Principal
	received      time.Time // zero: the store alone answers
	action, scope string

	// What the caller has, as the answer was found in it.
	owned   roles.Grants
	granted roles.Held
}

// decide answers a question, from memory if that allows it. The error says why not.
func (a *Authorizer) decide(ctx context.Context, q *question) (roles.Grant, error) {
	q.owned, q.granted = a.owners.of(&q.who), roles.Held{Whole: true}
	if grant, ok := q.owned.Find(q.action, q.scope); ok {
		return grant, nil
	}
	subscription := routing.SubscriptionOf(q.scope)
	if subscription != "" && !arm.ValidGUID(subscription) {
		return roles.Grant{}, arm.NewError(arm.InvalidSubscriptionID, subscription).About("subscriptionId")
	}
	var err error
	remembered := !q.received.IsZero()
	if remembered {
		q.granted, remembered, err = a.memory.GrantsAt(ctx, q.who.TenantID, subscription, q.who, q.scope, q.received)
		if err != nil {
			return roles.Grant{}, fmt.Errorf("read the grants of a caller from memory: %w", err)
		}
		if grant, ok := q.granted.Find(q.action, q.scope); ok {
			return grant, nil
		}
	}
	if remembered || q.received.IsZero() {
		if q.granted, err = a.store.GrantsAt(ctx, q.who.TenantID, subscription, q.who, q.scope); err != nil {
			return roles.Grant{}, fmt.Errorf("read the grants of a caller: %w", err)
		}
		if grant, ok := q.granted.Find(q.action, q.scope); ok {
			return grant, nil
		}
	}
	return roles.Grant{}, q.refusal(subscription)
}

// refusal is why the caller may not do what it asked for.
func (q *question) refusal(subscription string) error {
	if subscription != "" && !q.granted.Any() && !concerns(q.owned, subscription) {
		return arm.NewError(arm.SubscriptionNotFound, subscription).About("subscriptionId")
	}
	return Denial(q.who, q.action, q.scope)
}

// concerns reports whether some grant is at, above or below a subscription.
func concerns(g roles.Grants, subscription string) bool {
	for i := range g {
		if of := routing.SubscriptionOf(g[i].Scope); of == "" || arm.EqualFold(of, subscription) {
			return true
		}
	}
	return false
}

// Denial is ARM's answer to a caller that may not do an action at a scope.
func Denial(who access.Principal, action, scope string) *arm.Error {
	return arm.NewError(arm.AuthorizationFailed, who.Signature(), who.ObjectID, action, scope)
}

// readable is what of a list at the scope the caller may see though it may not see all;
// nil is nothing.
func (a *Authorizer) readable(ctx context.Context, q *question) (*Readable, error) {
	granted := q.granted.Grants
	if !q.granted.Whole {
		var err error
		if granted, err = a.memory.Grants(ctx, q.who.TenantID, routing.SubscriptionOf(q.scope), q.who, q.received); err != nil {
			return nil, err
		}
	}
	if q.owned.Below(q.action, q.scope) || granted.Below(q.action, q.scope) {
		return &Readable{action: q.action, owned: q.owned, granted: granted}, nil
	}
	return nil, nil
}

// What allowed a request, in the audit log, where no role assignment did.
const (
	byOwners = "auth.owners"
	denied   = "denied"
)

// note notes what a request asked for first, and what allowed that, for the logs. A
// later question counts if it was refused.
func note(x *exchange.Exchange, action string, grant roles.Grant, err error) {
	switch {
	case err != nil:
		x.Action, x.AllowedBy = action, denied
	case x.Action == "":
		x.Action, x.AllowedBy = action, grant.Assignment
		if grant.Role != nil && grant.Assignment == "" {
			x.AllowedBy = byOwners
		}
	}
}

// Held returns the roles that the caller of x has at a scope or above it, by the store.
// Where roles are ignored, that is the one that allows everything.
func (a *Authorizer) Held(ctx context.Context, x *exchange.Exchange, scope string) ([]*roles.Role, error) {
	if !a.enforced {
		return []*roles.Role{ownerRole()}, nil
	}
	granted, err := a.store.GrantsAt(ctx, x.Principal.TenantID, routing.SubscriptionOf(scope), x.Principal, scope)
	if err != nil {
		return nil, fmt.Errorf("read the grants of a caller: %w", err)
	}
	var held []*roles.Role
	for _, g := range slices.Concat(a.owners.of(&x.Principal), granted.Grants) {
		if g.Holds(scope) {
			held = append(held, g.Role)
		}
	}
	return held, nil
}
