package admin

import (
	"net/http"
	"time"

	"portico/arm"
	"portico/gateway/exchange"
	"portico/inventory"
)

func (l *listener) deleteOrderRoutes() []route {
	return []route{{http.MethodGet, "/admin/deleteOrder", l.deleteOrder}}
}

// typeOrder is what deletions have learnt about the order of types.
type typeOrder struct {
	Before string    `json:"before"`
	After  string    `json:"after"`
	Seen   time.Time `json:"seen"`
}

// deleteOrder shows what was learnt in ?subscription=.
func (l *listener) deleteOrder(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	sub := r.URL.Query().Get("subscription")
	if !arm.ValidGUID(sub) {
		return 0, nil, arm.NewError(arm.InvalidSubscriptionID, sub).About("subscription")
	}
	orders, err := l.Store.TypeOrders(r.Context(), sub)
	if err != nil {
		return 0, nil, err
	}
	return http.StatusOK, exchange.ListOf(orders, func(o inventory.TypeOrder) typeOrder { return typeOrder{o.Before, o.After, o.Seen} }), nil
}
