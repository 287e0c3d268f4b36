package sdk

import (
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resources/armresources"

	"portico/test/harness"
)

// The codes by which programs tell one failure from another reach them as the
// SDK's ErrorCode.
func TestErrorCodes(t *testing.T) {
	c := newClients(t, harness.Config{})
	c.createGroup(t, "rg")
	vm := c.ResourcePath("rg", "Contoso.Compute/virtualMachines/vm")
	c.put(t, t.Context(), vm, armresources.GenericResource{Location: to.Ptr("eastus")})

	get := func(id, version string) error {
		_, err := c.resources.GetByID(t.Context(), id, version, nil)
		return err
	}
	put := func(id, location string) error {
		_, err := c.resources.BeginCreateOrUpdateByID(t.Context(), id, harness.Version, armresources.GenericResource{Location: to.Ptr(location)}, nil)
		return err
	}
	putGroup := func(name, location string) error {
		_, err := c.groups.CreateOrUpdate(t.Context(), name, armresources.ResourceGroup{Location: to.Ptr(location)}, nil)
		return err
	}
	for _, row := range []struct {
		what   string
		err    error
		status int
		code   string
	}{
		{"unknown resource", get(c.ResourcePath("rg", "Contoso.Compute/virtualMachines/none"), harness.Version), 404, "ResourceNotFound"},
		{"unknown group", get(c.ResourcePath("none", "Contoso.Compute/virtualMachines/vm"), harness.Version), 404, "ResourceGroupNotFound"},
		{"unknown namespace", get(c.ResourcePath("rg", "Fabrikam.Nothing/things/x"), harness.Version), 404, "InvalidResourceNamespace"},
		{"unknown type", get(c.ResourcePath("rg", "Contoso.Compute/things/x"), harness.Version), 404, "InvalidResourceType"},
		{"unknown api-version", get(vm, "2001-01-01"), 400, "NoRegisteredProviderFound"},
		{"unknown subscription", get("/subscriptions/00000000-0000-0000-0000-00000000dead/resourceGroups/rg", "2021-04-01"), 404, "SubscriptionNotFound"},
		{"resource in another location", put(vm, "westus"), 409, "InvalidResourceLocation"},
		{"location not offered", put(c.ResourcePath("rg", "Contoso.Compute/virtualMachines/other"), "moonbase"), 400, "LocationNotAvailableForResourceType"},
		{"resource into no group", put(c.ResourcePath("none", "Contoso.Compute/virtualMachines/vm"), "eastus"), 404, "ResourceGroupNotFound"},
		{"group in another location", putGroup("rg", "northeurope"), 409, "InvalidResourceGroupLocation"},
		{"group with an illegal name", putGroup("rg.", "westus"), 400, "InvalidResourceGroup"},
	} {
		t.Run(row.what, func(t *testing.T) { wantError(t, row.err, row.status, row.code) })
	}
	c.WantOnlyIn(t, "eastus", vm)
}

func TestUnknownToken(t *testing.T) {
	c := newClients(t, harness.Config{})
	unknown := open(t, c.World, harness.Token{Raw: "nobody-issued-this"})
	_, err := unknown.subscriptions.Get(t.Context(), harness.SubscriptionID, nil)
	wantError(t, err, 401, "InvalidAuthenticationToken")
}
