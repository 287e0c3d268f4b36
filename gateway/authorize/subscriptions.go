package authorize

import (
	"context"

	"portico/gateway/exchange"
	"portico/routing"
)

// Subscriptions reports whether the caller of x has something in all subscriptions of its
// tenant. If not, named are those in which the configuration makes it an owner; the
// inventory knows where roles are assigned to it.
func (a *Authorizer) Subscriptions(ctx context.Context, x *exchange.Exchange) (all bool, named []string, err error) {
	if !a.enforced {
		return true, nil, nil
	}
	for _, grant := range a.owners.of(&x.Principal) {
		id := routing.SubscriptionOf(grant.Scope)
		if id == "" {
			return true, nil, nil
		}
		named = append(named, id)
	}
	granted, err := a.store.Grants(ctx, x.Principal.TenantID, "", x.Principal)
	return granted.Any(), named, err
}
