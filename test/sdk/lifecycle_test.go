package sdk

import (
	"slices"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resources/armfeatures"

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
