package frontdoor

import (
	"fmt"
	"net/http"
	"slices"

	"portico/gateway/exchange"
	"portico/gateway/frontdoor/route"
	"portico/inventory"
)

// tenants lists the tenants that the caller may see.
type tenants struct{ store *inventory.Store }

// Routes implements Resource.
func (g tenants) Routes() []route.Route {
	return []route.Route{{Method: http.MethodGet, Path: "/tenants", Open: "it is the tenant of the caller", Handle: g.list}}
}

// list returns the caller's tenant; for a principal of all tenants, each tenant that has
// a subscription.
func (g tenants) list(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, _ route.Request) error {
	var tenants []string
	if x.Principal.TenantID != "" {
		tenants = append(tenants, x.Principal.TenantID)
	}
	if x.Principal.AnyTenant {
		all, err := g.store.AllSubscriptions(r.Context(), "", 0)
		if err != nil {
			return fmt.Errorf("list subscriptions: %w", err)
		}
		for _, s := range all {
			tenants = append(tenants, s.TenantID)
		}
		slices.Sort(tenants)
		tenants = slices.Compact(tenants)
	}
	return x.Answer(w, http.StatusOK, exchange.ListOf(tenants, func(t string) map[string]string {
		return map[string]string{"id": "/tenants/" + t, "tenantId": t, "tenantCategory": "Home"}
	}))
}
