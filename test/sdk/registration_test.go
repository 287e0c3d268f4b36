package sdk

import (
	"slices"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resources/armresources"

	"portico/test/harness"
)

func TestRegistrationHappensByItself(t *testing.T) {
	c := newClients(t, harness.Config{ComputeRegistration: "required"})
	c.createGroup(t, "rg")
	if got := registrationState(t, c, "Contoso.Compute"); got != "NotRegistered" {
		t.Errorf("before: %q", got)
	}
	id := c.ResourcePath("rg", "Contoso.Compute/virtualMachines/vm")

	// What the SDK's policy then sees: a plain call is refused and says how.
	w := c.Portico.Do(t, harness.Request{Method: "PUT", Path: id + "?api-version=" + harness.Version, Body: `{"location":"eastus"}`})
	w.WantError(t, 409, "MissingSubscriptionRegistration")
	c.WantOnlyIn(t, "", id)

	c.put(t, t.Context(), id, armresources.GenericResource{Location: to.Ptr("eastus")})
	c.WantOnlyIn(t, "eastus", id)
	if got := registrationState(t, c, "contoso.compute"); got != "Registered" {
		t.Errorf("after: %q", got)
	}
}

func TestRegisterAndUnregister(t *testing.T) {
	c := newClients(t, harness.Config{ComputeRegistration: "required"})
	registered, err := c.providers.Register(t.Context(), "Contoso.Compute", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := value(registered.RegistrationState); got != "Registering" && got != "Registered" {
		t.Errorf("register answers %q", got)
	}
	if got := registrationState(t, c, "Contoso.Compute"); got != "Registered" {
		t.Errorf("then %q", got)
	}
	unregistered, err := c.providers.Unregister(t.Context(), "Contoso.Compute", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := value(unregistered.RegistrationState); got != "Unregistering" && got != "Unregistered" {
		t.Errorf("unregister answers %q", got)
	}
	if got := registrationState(t, c, "Contoso.Compute"); got != "Unregistered" {
		t.Errorf("then %q", got)
	}
}

func TestProviders(t *testing.T) {
	c := newClients(t, harness.Config{ComputeRegistration: "required"})
	list, _ := collect(t, c.providers.NewListPager(nil),
		func(p armresources.ProvidersClientListResponse) []*armresources.Provider { return p.Value })
	states := map[string]string{}
	for _, p := range list {
		states[value(p.Namespace)] = value(p.RegistrationState)
	}
	if states["Contoso.Compute"] != "NotRegistered" || states["Contoso.Insight"] != "Registered" {
		t.Errorf("registration states %v", states)
	}

	got, err := c.providers.Get(t.Context(), "CONTOSO.compute", nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := c.SubscriptionPath() + "/providers/Contoso.Compute"; value(got.ID) != want {
		t.Errorf("id %q, want %q", value(got.ID), want)
	}
	machines := resourceType(got.ResourceTypes, "virtualMachines")
	if machines == nil || resourceType(got.ResourceTypes, "virtualMachines/disks") == nil {
		t.Fatalf("resource types %v", got.ResourceTypes)
	}
	var locations, versions []string
	for _, l := range machines.Locations {
		locations = append(locations, *l)
	}
	for _, v := range machines.APIVersions {
		versions = append(versions, *v)
	}
	slices.Sort(locations)
	if want := []string{"East US", "North Europe", "West US"}; !slices.Equal(locations, want) {
		t.Errorf("locations %q, want the display names %q", locations, want)
	}
	if want := []string{harness.VersionPreview, harness.Version, harness.VersionOld}; !slices.Equal(versions, want) {
		t.Errorf("api-versions %v, want %v, newest first", versions, want)
	}

	_, err = c.providers.Get(t.Context(), "Fabrikam.Nothing", nil)
	wantError(t, err, 404, "InvalidResourceNamespace")
}

func registrationState(t *testing.T, c clients, namespace string) string {
	t.Helper()
	p, err := c.providers.Get(t.Context(), namespace, nil)
	if err != nil {
		t.Fatal(err)
	}
	return value(p.RegistrationState)
}

func resourceType(types []*armresources.ProviderResourceType, name string) *armresources.ProviderResourceType {
	for _, t := range types {
		if strings.EqualFold(value(t.ResourceType), name) {
			return t
		}
	}
	return nil
}
