package frontdoor

import (
	"net/http"

	"portico/gateway/authorize"
	"portico/gateway/exchange"
	"portico/gateway/frontdoor/route"
	"portico/inventory"
)

// subscriptions serves reads of subscriptions; operators create them (package admin).
type subscriptions struct {
	store      *inventory.Store
	authorizer *authorize.Authorizer
	lists      route.Lists
}

// Routes implements Resource.
func (g subscriptions) Routes() []route.Route {
	return []route.Route{
		{Method: http.MethodGet, Path: "/subscriptions", Open: "it lists the subscriptions in which the caller has a role", Handle: g.list},
		{Method: http.MethodGet, Path: "/subscriptions/{s}", Action: "Microsoft.Resources/subscriptions/read", Partly: true, Handle: g.get},
	}
}

type subscriptionBody struct {
	ID                  string            `json:"id"`
	SubscriptionID      string            `json:"subscriptionId"`
	TenantID            string            `json:"tenantId"`
	DisplayName         string            `json:"displayName"`
	State               string            `json:"state"`
	AuthorizationSource string            `json:"authorizationSource"`
	ManagedByTenants    []string          `json:"managedByTenants"`
	Policies            policies          `json:"subscriptionPolicies"`
	Tags                map[string]string `json:"tags,omitempty"`
}

// policies are set by the subscription's offer.
type policies struct {
	LocationPlacementID string `json:"locationPlacementId"`
	QuotaID             string `json:"quotaId"`
	SpendingLimit       string `json:"spendingLimit"`
}

func subscriptionOf(s inventory.Subscription, authorizedBy string) subscriptionBody {
	return subscriptionBody{
		ID: "/subscriptions/" + s.ID, SubscriptionID: s.ID, TenantID: s.TenantID, DisplayName: s.DisplayName,
		State: s.State.String(), AuthorizationSource: authorizedBy, ManagedByTenants: []string{},
		Policies: policies{s.PlacementID, s.OfferID, "Off"}, Tags: s.Tags,
	}
}

func (g subscriptions) get(w http.ResponseWriter, _ *http.Request, x *exchange.Exchange, req route.Request) error {
	return x.Answer(w, http.StatusOK, subscriptionOf(req.Subscription, x.Principal.AuthorizationSource()))
}

// list lists the subscriptions where the caller has any role.
func (g subscriptions) list(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, _ route.Request) error {
	p, err := g.lists.Read(x)
	if err != nil {
		return err
	}
	all, named, err := g.authorizer.Subscriptions(r.Context(), x)
	if err != nil {
		return err
	}
	return route.ListSource[inventory.Subscription]{
		Read: func(after string, limit int) ([]inventory.Subscription, error) {
			switch {
			case !all:
				return g.store.GrantedSubscriptions(r.Context(), x.Principal.TenantID, x.Principal, named, after, limit)
			case x.Principal.AnyTenant:
				return g.store.AllSubscriptions(r.Context(), after, limit)
			}
			return g.store.SubscriptionsOf(r.Context(), x.Principal.TenantID, after, limit)
		},
		Key:  func(s inventory.Subscription) string { return s.ID },
		Keep: func(s inventory.Subscription) bool { return s.State != inventory.Deleted },
		Show: func(s inventory.Subscription) any { return subscriptionOf(s, x.Principal.AuthorizationSource()) },
	}.Answer(w, x, g.lists, p)
}
