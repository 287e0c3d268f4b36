package sdk

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resources/armfeatures"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resources/armresources"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resources/armsubscriptions"

	"portico/test/harness"
)

const compute = "Contoso.Compute"

func TestFeatures(t *testing.T) {
	c := newClients(t, harness.Config{})
	list := func() (states []string) {
		t.Helper()
		all, _ := collect(t, c.features.NewListAllPager(nil),
			func(p armfeatures.ClientListAllResponse) []*armfeatures.FeatureResult { return p.Value })
		one, _ := collect(t, c.features.NewListPager(compute, nil),
			func(p armfeatures.ClientListResponse) []*armfeatures.FeatureResult { return p.Value })
		if len(all) != len(one) {
			t.Errorf("%d of the subscription, %d of the provider", len(all), len(one))
		}
		for _, f := range one {
			states = append(states, value(f.Name)+" "+value(f.Properties.State))
		}
		return states
	}
	if got := list(); !slices.Equal(got, []string{"Contoso.Compute/bigMachines NotRegistered", "Contoso.Compute/tinyMachines NotRegistered"}) {
		t.Errorf("%q", got)
	}
	registered, err := c.features.Register(t.Context(), compute, "bigmachines", nil)
	if err != nil || value(registered.Properties.State) != "Registered" || value(registered.Type) != "Microsoft.Features/providers/features" {
		t.Errorf("%+v %v", registered, err)
	}
	if got := list(); got[0] != "Contoso.Compute/bigMachines Registered" {
		t.Errorf("%q", got)
	}
	got, err := c.features.Get(t.Context(), compute, "bigMachines", nil)
	if want := c.SubscriptionPath() + "/providers/Microsoft.Features/providers/Contoso.Compute/features/bigMachines"; err != nil || value(got.ID) != want {
		t.Errorf("%+v %v", got, err)
	}
	if _, err := c.features.Unregister(t.Context(), compute, "bigMachines", nil); err != nil {
		t.Error(err)
	}
	if got := list(); got[0] != "Contoso.Compute/bigMachines NotRegistered" {
		t.Errorf("%q", got)
	}
	_, err = c.features.Get(t.Context(), compute, "none", nil)
	wantError(t, err, 404, "FeatureNotFound")
	_, err = c.features.Register(t.Context(), "Contoso.None", "none", nil)
	wantError(t, err, 404, "InvalidResourceNamespace")
}

// Who registers anew, having withdrawn, can write at once: the providers know.
func TestRegisterAnewAndWrite(t *testing.T) {
	c := newClients(t, harness.Config{ComputeRegistration: "required"})
	c.createGroup(t, "rg")
	for i := range 3 {
		if _, err := c.providers.Register(t.Context(), compute, nil); err != nil {
			t.Fatal(err)
		}
		for _, region := range harness.RegionNames() {
			id := c.ResourcePath("rg", fmt.Sprintf("Contoso.Compute/virtualMachines/vm-%s-%d", region, i))
			c.put(t, t.Context(), id, armresources.GenericResource{Location: to.Ptr(region)})
			_, err := c.providers.Unregister(t.Context(), compute, nil)
			wantError(t, err, 409, "CannotUnregisterNamespaceWithResources")
			c.delete(t, t.Context(), id)
		}
		if _, err := c.providers.Unregister(t.Context(), compute, nil); err != nil {
			t.Fatal(err)
		}
		_, err := c.resources.BeginCreateOrUpdateByID(t.Context(), c.ResourcePath("rg", "Contoso.Insight/profiles/p"), harness.Version, armresources.GenericResource{Location: to.Ptr("global")}, nil)
		if err != nil {
			t.Errorf("another provider's resource: %v", err)
		}
	}
}

func TestStatesOfASubscription(t *testing.T) {
	c := newClients(t, harness.Config{})
	c.createGroup(t, "rg")
	id := c.ResourcePath("rg", "Contoso.Compute/virtualMachines/vm")
	c.put(t, t.Context(), id, armresources.GenericResource{Location: to.Ptr("eastus")})
	enter := func(state string) {
		t.Helper()
		c.Portico.Admin(t, harness.Request{
			Method: "PUT", Path: "/admin/subscriptions/" + c.SubscriptionID,
			Body: fmt.Sprintf(`{"tenantId":%q,"displayName":"Mine","state":%q,"offerId":"free","locationPlacementId":"here"}`, harness.TenantID, state),
		}).Want(t, 200, 201)
	}
	enter("Warned")
	got, err := c.subscriptions.Get(t.Context(), c.SubscriptionID, nil)
	if err != nil {
		t.Fatal(err)
	}
	if value(got.State) != armsubscriptions.SubscriptionStateWarned || value(got.SubscriptionPolicies.QuotaID) != "free" ||
		value(got.SubscriptionPolicies.LocationPlacementID) != "here" || value(got.SubscriptionPolicies.SpendingLimit) != armsubscriptions.SpendingLimitOff {
		t.Errorf("%+v", got)
	}
	_, err = c.resources.BeginCreateOrUpdateByID(t.Context(), id, harness.Version, armresources.GenericResource{Location: to.Ptr("eastus")}, nil)
	wantError(t, err, 409, "ReadOnlyDisabledSubscription")
	enter("Deleted")
	_, err = c.resources.GetByID(t.Context(), id, harness.Version, nil)
	wantError(t, err, 404, "SubscriptionNotFound")
	for bound := time.Now().Add(endBound); len(c.Contoso("eastus").Resources(t)) > 0; time.Sleep(20 * time.Millisecond) {
		if time.Now().After(bound) {
			t.Fatal("the provider keeps what was the subscription's")
		}
	}
}
