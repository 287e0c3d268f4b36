package api

import "net/http"

var subscriptionOperations = []Operation{
	{Method: http.MethodGet, Path: "/admin/subscriptions", Summary: "The subscriptions of all tenants, by id.", Query: paging, Answer: Page[Subscription]{}, Status: http.StatusOK},
	{Method: http.MethodGet, Path: "/admin/subscriptions/{id}", Summary: "One subscription.", Answer: Subscription{}, Status: http.StatusOK},
	{
		Method: http.MethodPut, Path: "/admin/subscriptions/{id}", Summary: "Makes or changes a subscription, and notifies the providers.",
		Content: Subscription{}, Answer: Subscription{}, Status: http.StatusOK, Creates: true,
	},
}

// Subscription is a subscription, with what providers are told of it.
type Subscription struct {
	ID string `json:"id"`
	// TenantID is needed where the subscription is put.
	TenantID    string `json:"tenantId" content:"required"`
	DisplayName string `json:"displayName"`
	State       string `json:"state"`             // Enabled, Warned, PastDue, Disabled or Deleted
	OfferID     string `json:"offerId,omitempty"` // what providers know as quotaId
	PlacementID string `json:"locationPlacementId,omitempty"`
	// Features are full names. Left out they stay as they are, as clients register for them
	// too.
	Features []string `json:"registeredFeatures,omitempty"`
	// Covered says that Portico is the first that ever writes to the subscription. It is
	// read only when the subscription is made; left out it is true.
	Covered *bool `json:"covered,omitempty"`
	// Erased says that nothing is left of a Deleted subscription, here or at any provider:
	// it can be made again. It is not read.
	Erased bool `json:"erased,omitempty"`
	// Unconfirmed are regions that the map lacks and that do not know the newest state. They
	// will learn it when the map has them again; until then an erased subscription cannot be
	// made again. Only a GET of one subscription shows them.
	Unconfirmed []string `json:"unconfirmed,omitempty"`
}
