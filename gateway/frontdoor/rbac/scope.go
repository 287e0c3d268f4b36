package rbac

import (
	"context"

	"portico/access/roles"
	"portico/arm"
	"portico/gateway/exchange"
	"portico/gateway/frontdoor/route"
	"portico/inventory/assignments"
	"portico/routing"
)

const namespace = "Microsoft.Authorization"

// atTenant limits a route to the scope of the tenant.
func atTenant(matches func(*routing.Request) bool) func(*routing.Request) bool {
	return func(q *routing.Request) bool { return q.Path.Subscription() == "" && matches(q) }
}

// rolesPath matches paths whose last hop is of a type of access control, at a scope that
// can have it: one segment for all of the scope, two for a single one.
func rolesPath(typeName string, segments int) func(*routing.Request) bool {
	return func(q *routing.Request) bool {
		return route.EndsIn(q, namespace, typeName, segments) && (q.Path.Hops() == 1 || q.Path.Subscription() != "")
	}
}

// place is the scope that a request names, with its tenant.
type place struct {
	assignments.Scope
	Host string // as in route.Scope
}

// findScope returns the scope of a request, which has to exist.
func findScope(ctx context.Context, scopes route.Scopes, x *exchange.Exchange, req route.Request) (p place, err error) {
	p.TenantID, p.ID = x.Principal.TenantID, roles.TenantScope
	if req.Subscription.ID == "" {
		return p, nil
	}
	found, err := scopes.Find(ctx, x)
	if err != nil {
		return p, err
	}
	p.Scope = assignments.Scope{
		TenantID: req.Subscription.TenantID, Subscription: req.Subscription.ID, Group: x.Request.Path.Group(), ID: found.ID,
	}
	p.Host = arm.Fold(found.Host)
	return p, nil
}

// needTenant refuses a caller without a tenant if the scope is the tenant.
func (p place) needTenant() error {
	if p.TenantID != "" {
		return nil
	}
	return arm.NewError(arm.InvalidRequestURI, "a caller of no tenant has nothing at the scope '/'; name a subscription")
}

func requestedName(x *exchange.Exchange) string { return x.Request.Path.LastHop().Segment(1) }

// definitionID returns the id of a role definition, as shown in a subscription, or at the
// tenant if subscription is "".
func definitionID(subscription, id string) string {
	scopeID := ""
	if subscription != "" {
		scopeID = "/subscriptions/" + subscription
	}
	return scopeID + "/providers/" + definitionsType + "/" + id
}

// missingMember refuses content that lacks a member.
func missingMember(member string) *arm.Error {
	return arm.NewError(arm.InvalidRequestContent, "The member '"+member+"' is required. Path '"+member+"'").WithTarget(member)
}
