package sdk

import (
	"slices"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resources/armresources"

	"portico/test/harness"
)

func TestResourcesLieInTheirRegions(t *testing.T) {
	c := newClients(t, harness.Config{})
	c.createGroup(t, "rg")

	regionOf := map[string]string{
		c.ResourcePath("rg", "Contoso.Compute/virtualMachines/west"):     "westus",
		c.ResourcePath("rg", "Contoso.Compute/virtualMachines/east"):     "eastus",
		c.ResourcePath("rg", "Contoso.Compute/networkInterfaces/nic"):    "northeurope",
		c.ResourcePath("rg", "Contoso.Insight/workspaces/logs"):          "eastus",
		c.ResourcePath("rg", "Contoso.Insight/profiles/everywhere"):      "global",
		c.ResourcePath("rg", "Contoso.Compute/virtualMachines/nördlich"): "northeurope",
	}
	for id, region := range regionOf {
		got := c.put(t, t.Context(), id, armresources.GenericResource{
			Location:   to.Ptr(region),
			Tags:       map[string]*string{"of": to.Ptr(region)},
			Properties: map[string]any{"size": "large"},
		})
		if value(got.ID) != id || value(got.Location) != region {
			t.Errorf("PUT %s: id %q, location %q", id, value(got.ID), value(got.Location))
		}
		c.WantOnlyIn(t, region, id)
	}

	for id, region := range regionOf {
		read, err := c.resources.GetByID(t.Context(), strings.ToUpper(id), harness.Version, nil)
		harness.OK(t, err)
		if value(read.ID) != id || value(read.Tags["of"]) != region {
			t.Errorf("GET %s: id %q, tags %v", id, value(read.ID), read.Tags)
		}
		if !c.exists(t, id) {
			t.Errorf("HEAD %s: absent", id)
		}
	}
	if c.exists(t, c.ResourcePath("rg", "Contoso.Compute/virtualMachines/none")) {
		t.Error("HEAD finds what is not there")
	}

	for id := range regionOf {
		c.delete(t, t.Context(), id)
		c.WantOnlyIn(t, "", id)
		if c.exists(t, id) {
			t.Errorf("HEAD %s: present after its delete", id)
		}
	}
	deleteGroup(t, c, "rg")
}

func TestResourcesList(t *testing.T) {
	c := newClients(t, harness.Config{})
	c.createGroup(t, "one")
	c.createGroup(t, "two")
	put := func(group, typeAndName, location string) string {
		id := c.ResourcePath(group, typeAndName)
		c.put(t, t.Context(), id, armresources.GenericResource{
			Location:   to.Ptr(location),
			Kind:       to.Ptr("fast"),
			Tags:       map[string]*string{"at": to.Ptr(location)},
			Properties: map[string]any{"secret": "kept by the provider"},
		})
		return id
	}
	one := []string{
		put("one", "Contoso.Compute/virtualMachines/a", "westus"),
		put("one", "Contoso.Compute/virtualMachines/b", "eastus"),
		put("one", "Contoso.Insight/profiles/p", "global"),
	}
	two := []string{put("two", "Contoso.Insight/workspaces/w", "northeurope")}

	check := func(what string, got []*armresources.GenericResourceExpanded, want []string) {
		t.Helper()
		var ids []string
		for _, r := range got {
			ids = append(ids, value(r.ID))
			if value(r.Location) == "" || value(r.Tags["at"]) != value(r.Location) || value(r.Kind) != "fast" || r.Properties != nil {
				t.Errorf("%s: item %s: location %q, tags %v, kind %q, properties %v",
					what, value(r.ID), value(r.Location), r.Tags, value(r.Kind), r.Properties)
			}
		}
		slices.Sort(ids)
		want = slices.Clone(want)
		slices.Sort(want)
		if !slices.Equal(ids, want) {
			t.Errorf("%s: %v, want %v", what, ids, want)
		}
	}
	bySubscription := func(top *int32) ([]*armresources.GenericResourceExpanded, int) {
		return collect(t, c.resources.NewListPager(&armresources.ClientListOptions{Top: top}),
			func(p armresources.ClientListResponse) []*armresources.GenericResourceExpanded { return p.Value })
	}
	got, _ := bySubscription(nil)
	check("subscription", got, append(slices.Clone(one), two...))
	got, pages := bySubscription(to.Ptr(int32(1)))
	check("subscription, one by one", got, append(slices.Clone(one), two...))
	if pages < 4 {
		t.Errorf("4 resources came in %d pages of 1", pages)
	}
	got, _ = collect(t, c.resources.NewListByResourceGroupPager("ONE", nil),
		func(p armresources.ClientListByResourceGroupResponse) []*armresources.GenericResourceExpanded {
			return p.Value
		})
	check("group", got, one)
}
