package gateway

import (
	"errors"
	"net/http"
	"strings"

	"portico/arm"
	"portico/gateway/exchange"
	"portico/inventory"
)

// refusedBySubscription turns the inventory's refusal of a write, for the sake
// of the subscription's state or of a lock, into ARM's; any other error gives nil.
func refusedBySubscription(x *exchange.Exchange, err error) *arm.Error {
	id := x.Request.Path.Subscription()
	var state *inventory.SubscriptionStateError
	var locked *inventory.LockedError
	switch {
	case errors.As(err, &locked):
		return scopeLocked(x, locked)
	case errors.Is(err, inventory.ErrSubscriptionNotFound):
		return arm.NewError(arm.SubscriptionNotFound, id).About("subscriptionId")
	case errors.As(err, &state):
		return arm.NewError(arm.ReadOnlyDisabledSubscription, id).About("subscriptionId")
	}
	return nil
}

// mostScopes bounds how many scopes a refusal names.
const mostScopes = 20

func scopeLocked(x *exchange.Exchange, locked *inventory.LockedError) *arm.Error {
	what := "write"
	if x.Request.Method == http.MethodDelete {
		what = "delete"
	}
	return lockedScope(x.Request.Path.String(), what, locked)
}

// lockedScope tells what is locked, and what that forbids to what scope.
func lockedScope(scope, what string, locked *inventory.LockedError) *arm.Error {
	scopes := locked.Scopes()
	scopes = scopes[:min(len(scopes), mostScopes)]
	return arm.NewError(arm.ScopeLocked, scope, what, strings.Join(scopes, ",")).About(scope)
}
