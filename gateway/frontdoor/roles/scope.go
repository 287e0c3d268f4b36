package roles

import (
	"context"

	rbac "portico/access/roles"
	"portico/arm"
	"portico/gateway/exchange"
	"portico/gateway/frontdoor/route"
	"portico/gateway/frontdoor/scope"
	"portico/inventory"
	"portico/routing"
)

const namespace = "Microsoft.Authorization"

// atTenant limits a route to the scope of the tenant.
func atTenant(matches func(*routing.Request) bool) func(*routing.Request) bool {
	return func(q *routing.Request) bool { return q.Path.Subscription() == "" && matches(q) }
}

// path matches paths whose last hop is of a type of roles, at a scope that can have
// some: one segment for all of the scope, two for the one that the second names.
func path(typeName string, segments int) func(*routing.Request) bool {
	return func(q *routing.Request) bool {
		if q.Path.Hops() == 0 || q.Path.Hops() > 1 && q.Path.Subscription() == "" {
			return false
		}
		hop := q.Path.LastHop()
		return hop.Len() == segments && arm.EqualFold(hop.Namespace(), namespace) && arm.EqualFold(hop.Segment(0), typeName)
	}
}

// place is the scope that a request names, with its tenant.
type place struct {
	inventory.RoleScope
	Host string // as in scope.Scope
}

// find returns the scope of a request, which has to exist.
func find(ctx context.Context, scopes scope.Finder, x *exchange.Exchange, req route.Request) (p place, err error) {
	p.TenantID, p.ID = x.Principal.TenantID, rbac.TenantScope
	if req.Subscription.ID == "" {
		return p, nil
	}
	found, err := scopes.Find(ctx, x)
	if err != nil {
		return p, err
	}
	p.RoleScope = inventory.RoleScope{
		TenantID: req.Subscription.TenantID, Subscription: req.Subscription.ID, Group: x.Request.Path.Group(), ID: found.ID,
	}
	p.Host = arm.Fold(found.Host)
	return p, nil
}

// needTenant refuses what belongs to a tenant to the caller who has none.
func (p place) needTenant() error {
	if p.TenantID != "" {
		return nil
	}
	return arm.NewError(arm.InvalidRequestURI, "a caller of no tenant has nothing at the scope '/'; name a subscription")
}

// below is the id of what lies at a scope, of a type of roles.
func below(scopeID, typeName, name string) string {
	if scopeID == rbac.TenantScope {
		scopeID = ""
	}
	return scopeID + "/providers/" + namespace + "/" + typeName + "/" + name
}

// named is the name in a request.
func named(x *exchange.Exchange) string { return x.Request.Path.LastHop().Segment(1) }

// definitionID is the id of a role definition, as it is shown in a subscription, or at
// the tenant where that is "".
func definitionID(subscription, id string) string {
	scopeID := rbac.TenantScope
	if subscription != "" {
		scopeID = "/subscriptions/" + subscription
	}
	return below(scopeID, definitionsName, id)
}

// missing refuses content that lacks a member.
func missing(member string) *arm.Error {
	return arm.NewError(arm.InvalidRequestContent, "The member '"+member+"' is required. Path '"+member+"'").About(member)
}
