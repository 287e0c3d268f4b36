package sdk

import (
	"slices"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resources/armresources"

	"portico/test/harness"
)

// The filters that clients send: the CLI and Terraform ask by type, group and
// name, people by tag.
func TestFilters(t *testing.T) {
	c := newClients(t, harness.Config{})
	for name, stage := range map[string]string{"shop": "live", "lab": "test"} {
		_, err := c.groups.CreateOrUpdate(t.Context(), name, armresources.ResourceGroup{
			Location: to.Ptr("westus"), Tags: map[string]*string{"Stage": to.Ptr(stage)},
		}, nil)
		if err != nil {
			t.Fatal(err)
		}
	}
	tagged := map[string]*string{"owner": to.Ptr("ann")}
	c.put(t, t.Context(), c.ResourcePath("shop", "Contoso.Compute/virtualMachines/web"), armresources.GenericResource{Location: to.Ptr("eastus"), Tags: tagged})
	c.put(t, t.Context(), c.ResourcePath("lab", "Contoso.Compute/virtualMachines/web-2"), armresources.GenericResource{Location: to.Ptr("westus")})
	c.put(t, t.Context(), c.ResourcePath("shop", "Contoso.Compute/networkInterfaces/web"), armresources.GenericResource{Location: to.Ptr("westus")})

	for filter, want := range map[string]string{
		"": "lab/virtualMachines/web-2 shop/networkInterfaces/web shop/virtualMachines/web",
		"resourceType eq 'contoso.compute/virtualmachines'":                           "lab/virtualMachines/web-2 shop/virtualMachines/web",
		"resourceGroup eq 'SHOP' and name eq 'web'":                                   "shop/networkInterfaces/web shop/virtualMachines/web",
		"substringof('-2', name)":                                                     "lab/virtualMachines/web-2",
		"location eq 'West US'":                                                       "lab/virtualMachines/web-2 shop/networkInterfaces/web",
		"tagName eq 'Owner' and tagValue eq 'ann'":                                    "shop/virtualMachines/web",
		"location eq 'eastus' or resourceType eq 'Contoso.Compute/networkInterfaces'": "shop/networkInterfaces/web shop/virtualMachines/web",
		"name eq 'nothing'":                                                           "",
	} {
		var found []string
		pager := c.resources.NewListPager(&armresources.ClientListOptions{Filter: to.Ptr(filter), Top: to.Ptr[int32](1)})
		for pager.More() {
			page, err := pager.NextPage(t.Context())
			if err != nil {
				t.Fatalf("%s: %v", filter, err)
			}
			for _, r := range page.Value {
				segments := strings.Split(value(r.ID), "/")
				found = append(found, segments[4]+"/"+strings.Join(segments[7:], "/"))
			}
		}
		slices.Sort(found)
		if got := strings.Join(found, " "); got != want {
			t.Errorf("%s: got %s, want %s", filter, got, want)
		}
	}

	var groups []string
	pager := c.groups.NewListPager(&armresources.ResourceGroupsClientListOptions{Filter: to.Ptr("tagName eq 'stage' and tagValue eq 'live'")})
	for pager.More() {
		page, err := pager.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range page.Value {
			groups = append(groups, value(g.Name))
		}
	}
	if !slices.Equal(groups, []string{"shop"}) {
		t.Errorf("groups %q", groups)
	}
	_, err := c.resources.NewListPager(&armresources.ClientListOptions{Filter: to.Ptr("size gt 3")}).NextPage(t.Context())
	wantError(t, err, 400, "InvalidQueryParameter")
}
