package api

import "net/http"

var subscriptionOperations = []Operation{
	{
		Method: http.MethodGet, Path: "/admin/subscriptions",
		Summary: "The subscriptions of all tenants, by id.",
		Query:   paging, Answer: Page[Subscription]{}, Status: http.StatusOK,
	},
	{Method: http.MethodGet, Path: "/admin/subscriptions/{id}", Summary: "One subscription.", Answer: Subscription{}, Status: http.StatusOK},
	{
		Method: http.MethodPut, Path: "/admin/subscriptions/{id}", Summary: "Creates or changes a subscription, and notifies the providers.",
		Content: Subscription{}, Answer: Subscription{}, Status: http.StatusOK, Creates: true,
	},
}

// Subscription is a subscription, with the properties that providers are notified of.
type Subscription struct {
	ID string `json:"id"`
	// TenantID is required in a PUT.
	TenantID    string `json:"tenantId" content:"required"`
	DisplayName string `json:"displayName"`
	State       string `json:"state"`             // Enabled, Warned, PastDue, Disabled or Deleted
	OfferID     string `json:"offerId,omitempty"` // what providers know as quotaId
	PlacementID string `json:"locationPlacementId,omitempty"`
	// Features are full names. If they are left out they stay as they are, because clients
	// register for them too.
	Features []string `json:"registeredFeatures,omitempty"`
	// Covered says that no resources were created in the subscription before Portico. It
	// is read only when the subscription is created; by default it is true.
	Covered *bool `json:"covered,omitempty"`
	// Erased says that nothing is left of a Deleted subscription, here or at any provider,
	// so that it can be created again. It is not read.
	Erased bool `json:"erased,omitempty"`
	// Unconfirmed are regions that the map lacks and that do not know the newest state.
	// Portico notifies them when the map has them again; until then an erased subscription
	// cannot be created again. Only a GET of one subscription shows them.
	Unconfirmed []string `json:"unconfirmed,omitempty"`
}
