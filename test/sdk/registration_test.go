package sdk

import (
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

func registrationState(t *testing.T, c clients, namespace string) string {
	t.Helper()
	p, err := c.providers.Get(t.Context(), namespace, nil)
	harness.OK(t, err)
	return value(p.RegistrationState)
}
