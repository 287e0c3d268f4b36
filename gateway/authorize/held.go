package authorize

import (
	"context"
	"slices"

	"portico/access/roles"
	"portico/gateway/exchange"
	"portico/routing"
)

// Held returns the roles that the caller of x has at a scope or above it, by the store.
// Where roles are ignored, that is the one that allows everything.
func (a *Authorizer) Held(ctx context.Context, x *exchange.Exchange, scope string) ([]*roles.Role, error) {
	if !a.enforced {
		return []*roles.Role{ownerRole()}, nil
	}
	granted, err := a.store.Grants(ctx, x.Principal.TenantID, routing.SubscriptionOf(scope), x.Principal)
	if err != nil {
		return nil, err
	}
	var held []*roles.Role
	for _, g := range slices.Concat(a.owners.of(&x.Principal), granted) {
		if g.Holds(scope) {
			held = append(held, g.Role)
		}
	}
	return held, nil
}
