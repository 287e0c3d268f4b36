package sdk

import (
	"slices"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resources/armsubscriptions"

	"portico/test/harness"
)

const (
	otherSubscription = "00000000-0000-0000-0000-000000000002"
	otherTenant       = "00000000-0000-0000-0000-0000000000cc"
)

// stranger is a caller of another tenant.
var stranger = harness.Token{
	Raw:      "a-token-of-a-stranger",
	TenantID: otherTenant,
	ObjectID: "00000000-0000-0000-0000-0000000000b2",
	Name:     "stranger@fabrikam.example",
}

func twoTenants() harness.Config {
	return harness.Config{
		Tokens: []harness.Token{stranger},
		Subscriptions: []harness.Subscription{
			{ID: harness.SubscriptionID, TenantID: harness.TenantID, DisplayName: "Demo", State: "Enabled"},
			{ID: otherSubscription, TenantID: otherTenant, DisplayName: "Other", State: "Enabled"},
		},
	}
}

func TestSubscriptionsOfTheCallersTenant(t *testing.T) {
	c := newClients(t, twoTenants())
	for _, caller := range []struct {
		token      harness.Token
		own, other string
		name       string
	}{
		{owner, harness.SubscriptionID, otherSubscription, "Demo"},
		{stranger, otherSubscription, harness.SubscriptionID, "Other"},
	} {
		mine := open(t, c.World, caller.token)
		list, _ := collect(t, mine.subscriptions.NewListPager(nil),
			func(p armsubscriptions.ClientListResponse) []*armsubscriptions.Subscription { return p.Value })
		if len(list) != 1 || value(list[0].SubscriptionID) != caller.own {
			t.Errorf("%s sees %d subscriptions", caller.token.Name, len(list))
		}
		got, err := mine.subscriptions.Get(t.Context(), caller.own, nil)
		if err != nil {
			t.Fatal(err)
		}
		if value(got.ID) != "/subscriptions/"+caller.own || value(got.DisplayName) != caller.name ||
			value(got.State) != armsubscriptions.SubscriptionStateEnabled || value(got.TenantID) != caller.token.TenantID {
			t.Errorf("subscription %+v", got.Subscription)
		}
		_, err = mine.subscriptions.Get(t.Context(), caller.other, nil)
		wantError(t, err, 404, "SubscriptionNotFound")
	}
}

func TestLocations(t *testing.T) {
	c := newClients(t, harness.Config{})
	list, _ := collect(t, c.subscriptions.NewListLocationsPager(harness.SubscriptionID, nil),
		func(p armsubscriptions.ClientListLocationsResponse) []*armsubscriptions.Location { return p.Value })
	var names []string
	for _, l := range list {
		names = append(names, value(l.Name))
		if want := c.SubscriptionPath() + "/locations/" + value(l.Name); value(l.ID) != want {
			t.Errorf("id %q, want %q", value(l.ID), want)
		}
		if value(l.Name) != "westus" {
			continue
		}
		if value(l.DisplayName) != "West US" || l.Metadata == nil || len(l.Metadata.PairedRegion) != 1 ||
			value(l.Metadata.PairedRegion[0].Name) != "eastus" {
			t.Errorf("westus: display name %q, metadata %+v", value(l.DisplayName), l.Metadata)
		}
	}
	slices.Sort(names)
	if want := []string{"eastus", "northeurope", "westus"}; !slices.Equal(names, want) {
		t.Errorf("locations %v, want %v", names, want)
	}
}

func TestTenants(t *testing.T) {
	c := newClients(t, twoTenants())
	list, _ := collect(t, c.tenants.NewListPager(nil),
		func(p armsubscriptions.TenantsClientListResponse) []*armsubscriptions.TenantIDDescription {
			return p.Value
		})
	if len(list) != 1 || value(list[0].TenantID) != harness.TenantID || value(list[0].ID) != "/tenants/"+harness.TenantID {
		t.Errorf("tenants %+v", list)
	}
}
