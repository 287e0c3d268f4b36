package admin

import (
	"fmt"
	"net/http"

	"portico/arm"
	"portico/gateway/admin/api"
	"portico/inventory"
)

// deleteOrder lists the order of resource types that group deletions learnt in ?subscription=.
func (l *listener) deleteOrder(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	sub := r.URL.Query().Get("subscription")
	if !arm.ValidGUID(sub) {
		return 0, nil, arm.NewError(arm.InvalidSubscriptionID, sub).WithTarget("subscription")
	}
	orders, err := l.Store.Deletions.TypeOrders(r.Context(), sub)
	if err != nil {
		return 0, nil, fmt.Errorf("read the order of deletions: %w", err)
	}
	return http.StatusOK, listOf(orders, func(o inventory.TypeOrder) api.TypeOrder {
		return api.TypeOrder{Before: o.Before, After: o.After, Seen: o.Seen}
	}), nil
}
