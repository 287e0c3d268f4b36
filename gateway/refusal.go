package gateway

import (
	"errors"

	"portico/arm"
	"portico/inventory"
)

// refusedBySubscription turns the inventory's refusal of a write, for the sake
// of the subscription's state, into ARM's; any other error gives nil.
func refusedBySubscription(x *exchange, err error) *arm.Error {
	id := x.request.Path.Subscription()
	var state *inventory.SubscriptionStateError
	switch {
	case errors.Is(err, inventory.ErrSubscriptionNotFound):
		return arm.NewError(arm.SubscriptionNotFound, id).About("subscriptionId")
	case errors.As(err, &state):
		return arm.NewError(arm.ReadOnlyDisabledSubscription, id).About("subscriptionId")
	}
	return nil
}
