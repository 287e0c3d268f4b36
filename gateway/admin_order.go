package gateway

import (
	"net/http"
	"time"

	"portico/arm"
	"portico/gateway/exchange"
)

// adminTypeOrder is what was learnt about the order in which types can be
// deleted, as operators see it.
type adminTypeOrder struct {
	Before string    `json:"before"`
	After  string    `json:"after"`
	Seen   time.Time `json:"seen"`
}

// adminDeleteOrder shows what was learnt in ?subscription=.
func (g *Gateway) adminDeleteOrder(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	sub := r.URL.Query().Get("subscription")
	if !arm.ValidGUID(sub) {
		return 0, nil, arm.NewError(arm.InvalidSubscriptionID, sub).About("subscription")
	}
	orders, err := g.store.TypeOrders(r.Context(), sub)
	if err != nil {
		return 0, nil, err
	}
	all := exchange.List{Value: make([]any, 0, len(orders))}
	for _, o := range orders {
		all.Value = append(all.Value, adminTypeOrder{o.Before, o.After, o.Seen})
	}
	return http.StatusOK, all, nil
}
