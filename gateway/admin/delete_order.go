package admin

import (
	"net/http"
	"time"

	"portico/arm"
	"portico/gateway/exchange"
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
	all := exchange.List{Value: make([]any, 0, len(orders))}
	for _, o := range orders {
		all.Value = append(all.Value, typeOrder{o.Before, o.After, o.Seen})
	}
	return http.StatusOK, all, nil
}
