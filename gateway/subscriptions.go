package gateway

import (
	"net/http"
	"slices"

	"portico/gateway/exchange"
	"portico/inventory"
	"portico/regions"
)

// subscriptionBody is a subscription as clients see it.
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

// policies are what the subscription's offer comes with.
type policies struct {
	LocationPlacementID string `json:"locationPlacementId"`
	QuotaID             string `json:"quotaId"`
	SpendingLimit       string `json:"spendingLimit"`
}

func subscriptionOf(s inventory.Subscription) subscriptionBody {
	return subscriptionBody{
		ID: "/subscriptions/" + s.ID, SubscriptionID: s.ID, TenantID: s.TenantID, DisplayName: s.DisplayName,
		State: s.State.String(), AuthorizationSource: "Bypassed", ManagedByTenants: []string{},
		Policies: policies{s.PlacementID, s.OfferID, "Off"}, Tags: s.Tags,
	}
}

func (g *Gateway) getSubscription(w http.ResponseWriter, _ *http.Request, x *exchange.Exchange, c ownCall) error {
	return x.Answer(w, http.StatusOK, subscriptionOf(c.Subscription))
}

func (g *Gateway) listSubscriptions(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, _ ownCall) error {
	p, err := g.pageOf(x.Request)
	if err != nil {
		return err
	}
	all, rest, err := source[inventory.Subscription]{
		read: func(after string, limit int) ([]inventory.Subscription, error) {
			if x.Principal.AnyTenant {
				return g.store.AllSubscriptions(r.Context(), after, limit)
			}
			return g.store.SubscriptionsOf(r.Context(), x.Principal.TenantID, after, limit)
		},
		key:  func(s inventory.Subscription) string { return s.ID },
		keep: func(s inventory.Subscription) bool { return s.State != inventory.Deleted },
	}.cut(p)
	if err != nil {
		return err
	}
	return x.Answer(w, http.StatusOK, listOf(g, x, all, rest, func(s inventory.Subscription) any { return subscriptionOf(s) }))
}

// listTenants names the caller's tenant; to the principal of every tenant, each
// that has a subscription.
func (g *Gateway) listTenants(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, _ ownCall) error {
	var tenants []string
	if x.Principal.TenantID != "" {
		tenants = append(tenants, x.Principal.TenantID)
	}
	if x.Principal.AnyTenant {
		all, err := g.store.AllSubscriptions(r.Context(), "", 0)
		if err != nil {
			return err
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

// locationBody is a region as clients see it.
type locationBody struct {
	ID                  string           `json:"id"`
	Name                string           `json:"name"`
	Type                string           `json:"type"`
	DisplayName         string           `json:"displayName"`
	RegionalDisplayName string           `json:"regionalDisplayName"`
	Metadata            locationMetadata `json:"metadata"`
}

type locationMetadata struct {
	RegionType       string         `json:"regionType"`
	RegionCategory   string         `json:"regionCategory"`
	Geography        string         `json:"geography,omitempty"`
	GeographyGroup   string         `json:"geographyGroup,omitempty"`
	Latitude         string         `json:"latitude,omitempty"`
	Longitude        string         `json:"longitude,omitempty"`
	PhysicalLocation string         `json:"physicalLocation,omitempty"`
	PairedRegion     []pairedRegion `json:"pairedRegion"`
}

type pairedRegion struct {
	Name string `json:"name"`
	ID   string `json:"id"`
}

func (g *Gateway) listLocations(w http.ResponseWriter, _ *http.Request, x *exchange.Exchange, c ownCall) error {
	l := exchange.List{Value: []any{}}
	for _, region := range g.router.Map.Regions() {
		l.Value = append(l.Value, locationOf(c.Subscription.ID, region))
	}
	return x.Answer(w, http.StatusOK, l)
}

func locationOf(subscription string, region regions.Region) locationBody {
	prefix := "/subscriptions/" + subscription + "/locations/"
	body := locationBody{
		ID: prefix + region.Name, Name: region.Name, Type: "Region", DisplayName: region.DisplayName, RegionalDisplayName: region.DisplayName,
		Metadata: locationMetadata{
			RegionType: "Physical", RegionCategory: "Recommended",
			Geography: region.Geography, GeographyGroup: region.GeographyGroup, PhysicalLocation: region.PhysicalLocation,
			Latitude: region.Latitude, Longitude: region.Longitude, PairedRegion: []pairedRegion{},
		},
	}
	if region.GeographyGroup != "" {
		body.RegionalDisplayName = "(" + region.GeographyGroup + ") " + region.DisplayName
	}
	if region.PairedRegion != "" {
		body.Metadata.PairedRegion = append(body.Metadata.PairedRegion, pairedRegion{region.PairedRegion, prefix + region.PairedRegion})
	}
	return body
}
