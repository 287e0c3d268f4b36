// Package authorize decides whether the caller of a request may do what it asks for, by
// the roles assigned to the caller and its groups, and by the owners that the
// configuration names.
//
// Every question is one action, in ARM's names, at one scope. Memory answers it; a denial
// from memory is confirmed by the store. To a caller with no role at, above or below a
// subscription, the subscription does not exist.
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

// Assignments reads role assignments from the inventory.
type Assignments interface {
	// GrantsAt returns the grants of a caller in a subscription of its tenant that matter
	// for a scope there; without a subscription, at the tenant.
	GrantsAt(ctx context.Context, tenant, subscription string, who access.Principal, scope string) (roles.CallerGrants, error)
}

// Memory reads role assignments without asking the store if it can.
type Memory interface {
	// GrantsAt does what GrantsAt of Assignments does, but may be out of date.
	GrantsAt(ctx context.Context, tenant, subscription string, who access.Principal, scope string, now time.Time) (held roles.CallerGrants, remembered bool, err error)
	// Grants returns all grants of a caller at, above and below a subscription of its
	// tenant. They are not out of date.
	Grants(ctx context.Context, tenant, subscription string, who access.Principal, now time.Time) (roles.Grants, error)
}

// Authorizer decides by one configuration. It is safe for concurrent use.
type Authorizer struct {
	enforced bool
	named    []config.Owner
	owners   owners
	store    Assignments
	memory   Memory
	metrics  *Metrics
}

// New returns an authorizer for the settings of a configuration.
func New(settings *config.Auth, store Assignments, memory Memory, metrics *Metrics) *Authorizer {
	return &Authorizer{
		enforced: settings.RolesEnforced(), named: settings.Owners, owners: newOwners(settings.Owners),
		store: store, memory: memory, metrics: metrics,
	}
}

// Enforced reports whether callers may do only what roles allow them.
func (a *Authorizer) Enforced() bool { return a.enforced }

// Check returns nil if the caller of x may do an action at a scope, which is an ID in any
// casing; the action "" needs no role. The error is AuthorizationFailed, or
// SubscriptionNotFound if the caller has no role in the scope's subscription; or a
// failure of the store.
func (a *Authorizer) Check(ctx context.Context, x *exchange.Exchange, action, scope string) error {
	_, err := a.Decide(ctx, x, Question{Action: action, Scope: scope})
	return err
}

// Readable returns the part of a list at a scope that the caller of x may see by an
// action: nil for all of it. If it may see nothing, the error is the one that Check
// returns.
func (a *Authorizer) Readable(ctx context.Context, x *exchange.Exchange, action, scope string) (*Readable, error) {
	return a.Decide(ctx, x, Question{Action: action, Scope: scope, Partly: true})
}

// Question is an action that a caller needs a role for.
type Question struct {
	Action, Scope string
	// Partly: the caller may do the action somewhere below the scope, and that is enough.
	Partly bool
	// Excused, if not nil, reports whether the caller needs no role. It is called only if
	// the caller's roles do not allow the action.
	Excused func(context.Context, *exchange.Exchange) (bool, error)
}

// Decide answers a question of the request x. It returns nil if the caller may do the
// action, a part if it may do it only at parts of the scope, or the error of
// [Authorizer.Check].
func (a *Authorizer) Decide(ctx context.Context, x *exchange.Exchange, need Question) (*Readable, error) {
	if !a.enforced || need.Action == "" {
		return nil, nil
	}
	// A request may have waited long since it arrived: decide as of now.
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
	recordGrant(x, need.Action, grant, err)
	if x.Trail != nil {
		x.Trail.RoleChecks = append(x.Trail.RoleChecks, exchange.RoleCheck{
			Action: need.Action, Scope: need.Scope, Grant: grant, Partly: part != nil, Err: err, Grants: slices.Concat(q.owned, q.granted.Grants),
		})
	}
	return part, err
}

// refused reports whether an error denies the action, rather than reports a failure to
// decide.
func refused(err error) bool {
	_, ok := errors.AsType[*arm.Error](err)
	return ok
}

// Explain returns the grant in the store that allows a caller an action at a scope, or an
// empty grant if roles are not enforced. Errors are those that Check returns.
func (a *Authorizer) Explain(ctx context.Context, who access.Principal, action, scope string) (roles.Grant, error) {
	if !a.enforced {
		return roles.Grant{}, nil
	}
	return a.decide(ctx, &question{who: who, action: action, scope: scope})
}

// CheckPrincipal does what Check does for work that continues after the caller's request was
// answered.
func (a *Authorizer) CheckPrincipal(ctx context.Context, who access.Principal, action, scope string) error {
	_, err := a.Explain(ctx, who, action, scope)
	return err
}

// question is an action that a caller needs a role for.
type question struct {
	who           access.Principal
	received      time.Time // if zero, only the store is asked
	action, scope string

	// The grants that decided.
	owned   roles.Grants
	granted roles.CallerGrants
}

// decide answers a question, from memory if possible. It returns the grant that allows
// the action, or an error that denies it.
func (a *Authorizer) decide(ctx context.Context, q *question) (roles.Grant, error) {
	q.owned, q.granted = a.owners.grantsOf(&q.who), roles.CallerGrants{Whole: true}
	if grant, ok := q.owned.Find(q.action, q.scope); ok {
		return grant, nil
	}
	subscription := routing.SubscriptionOf(q.scope)
	if subscription != "" && !arm.ValidGUID(subscription) {
		return roles.Grant{}, arm.NewError(arm.InvalidSubscriptionID, subscription).WithTarget("subscriptionId")
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

// refusal returns the error for a caller without a grant.
func (q *question) refusal(subscription string) error {
	if subscription != "" && !q.granted.Any() && !concerns(q.owned, subscription) {
		return arm.NewError(arm.SubscriptionNotFound, subscription).WithTarget("subscriptionId")
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

// Denial returns ARM's error for a caller that may not do an action at a scope.
func Denial(who access.Principal, action, scope string) *arm.Error {
	return arm.NewError(arm.AuthorizationFailed, who.Signature(), who.ObjectID, action, scope)
}

// readable returns the part of the list at the scope that the caller may see if it may
// not see all; nil if it may see nothing.
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

// Values of AllowedBy in the audit log if no role assignment allowed the request.
const (
	byOwners = "auth.owners"
	denied   = "denied"
)

// recordGrant records the first action that a request needed and the grant that allowed
// it, for the logs. A later action replaces it if it was denied.
func recordGrant(x *exchange.Exchange, action string, grant roles.Grant, err error) {
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

// RolesAt returns the roles that the caller of x has at or above a scope, as the store knows
// them. If roles are not enforced, it returns only the role that allows everything.
func (a *Authorizer) RolesAt(ctx context.Context, x *exchange.Exchange, scope string) ([]*roles.Role, error) {
	if !a.enforced {
		return []*roles.Role{ownerRole()}, nil
	}
	granted, err := a.store.GrantsAt(ctx, x.Principal.TenantID, routing.SubscriptionOf(scope), x.Principal, scope)
	if err != nil {
		return nil, fmt.Errorf("read the grants of a caller: %w", err)
	}
	var held []*roles.Role
	for _, g := range slices.Concat(a.owners.grantsOf(&x.Principal), granted.Grants) {
		if g.AppliesAt(scope) {
			held = append(held, g.Role)
		}
	}
	return held, nil
}
