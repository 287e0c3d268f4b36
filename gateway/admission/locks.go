package admission

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"portico/arm"
	"portico/gateway/exchange"
	"portico/inventory"
)

// CheckLocks refuses a request that is no read where a lock on its subscription, or
// on anything below that its path lies in, forbids it. Whatever a path below a
// subscription names lies in it: locations, providers and their actions too. POST
// is a write, whatever it does.
func (a *Admission) CheckLocks(ctx context.Context, x *exchange.Exchange, subscription string) error {
	q := x.Request
	if q.Reads() || subscription == "" {
		return nil
	}
	kind := inventory.Put
	if q.Method == http.MethodDelete {
		kind = inventory.Delete
	}
	return Refusal(x, a.Store.CheckLocks(ctx, subscription, q.Path.Group(), q.Path.String(), kind))
}

// Refusal turns the inventory's refusal of a write, for a lock or for the state of
// the subscription, into ARM's. It returns any other error as it is.
func Refusal(x *exchange.Exchange, err error) error {
	id := x.Request.Path.Subscription()
	var state *inventory.SubscriptionStateError
	var locked *inventory.LockedError
	switch {
	case errors.As(err, &locked):
		what := "write"
		if x.Request.Method == http.MethodDelete {
			what = "delete"
		}
		return Locked(x.Request.Path.String(), what, locked)
	case errors.Is(err, inventory.ErrSubscriptionNotFound):
		return arm.NewError(arm.SubscriptionNotFound, id).About("subscriptionId")
	case errors.As(err, &state):
		return arm.NewError(arm.ReadOnlyDisabledSubscription, id).About("subscriptionId")
	}
	return err
}

// mostScopes bounds how many scopes an error names.
const mostScopes = 20

// Locked says what locks forbid to a scope: "write" or "delete".
func Locked(scope, what string, locked *inventory.LockedError) *arm.Error {
	scopes := locked.Scopes()
	scopes = scopes[:min(len(scopes), mostScopes)]
	return arm.NewError(arm.ScopeLocked, scope, what, strings.Join(scopes, ",")).About(scope)
}
