package clients

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"portico/test/harness"
)

// terraformProvider registers namespaces itself; %s is a list of them.
const terraformProvider = `
terraform {
  required_providers {
    azurerm = { source = "hashicorp/azurerm" }
  }
}
provider "azurerm" {
  resource_provider_registrations = "none"
  resource_providers_to_register  = [%s]
  features {}
}
`

// site is what these tests build: a group, resources in every region, some made
// at once and some by operations, and nested ones.
const site = `
variable "stage" { default = "test" }
locals { regions = toset(["westus", "eastus", "northeurope"]) }

resource "azurerm_resource_group" "site" {
  name     = "Site-Group"
  location = "West US"
  tags     = { Stage = var.stage }
}

resource "azurerm_user_assigned_identity" "one" {
  for_each            = local.regions
  name                = "Identity-${each.key}"
  resource_group_name = azurerm_resource_group.site.name
  location            = each.key
  tags                = { Stage = var.stage, region = each.key }
}

resource "azurerm_federated_identity_credential" "trust" {
  name                      = "trust"
  user_assigned_identity_id = azurerm_user_assigned_identity.one["northeurope"].id
  audience                  = ["api://exchange"]
  issuer                    = "https://issuer.example"
  subject                   = "pipeline"
}

resource "azurerm_powerbi_embedded" "capacity" {
  for_each            = { westus = "West US", eastus = "East US" }
  name                = "capacity${each.key}"
  resource_group_name = azurerm_resource_group.site.name
  location            = each.value
  sku_name            = "A1"
  administrators      = ["owner@contoso.example"]
  tags                = { Stage = var.stage }
}

data "azurerm_client_config" "me" {}
data "azurerm_subscription" "here" {}
data "azurerm_resources" "identities" {
  resource_group_name = azurerm_resource_group.site.name
  type                = "Microsoft.ManagedIdentity/userAssignedIdentities"
  required_tags       = { Stage = var.stage }
  depends_on          = [azurerm_user_assigned_identity.one]
}
data "azurerm_user_assigned_identity" "one" {
  name                = azurerm_user_assigned_identity.one["eastus"].name
  resource_group_name = azurerm_resource_group.site.name
}

output "me" { value = data.azurerm_client_config.me.object_id }
output "subscription" { value = data.azurerm_subscription.here.display_name }
output "listed" { value = join(" ", sort([for r in data.azurerm_resources.identities.resources : "${r.name}@${r.location}"])) }
output "read" { value = data.azurerm_user_assigned_identity.one.id }
`

// Terraform builds a site over several regions, changes it in place, notices what
// others did to it, and takes it down. After each step it sees nothing left to do.
func TestTerraform(t *testing.T) {
	t.Parallel()
	c := newTerraform(t)
	group, dir := c.GroupPath("Site-Group"), configuration(t, fmt.Sprintf(terraformProvider, `"Microsoft.ManagedIdentity"`)+site)
	identity := func(region string) string {
		return group + "/providers/Microsoft.ManagedIdentity/userAssignedIdentities/Identity-" + region
	}
	capacity := func(region string) string {
		return group + "/providers/Microsoft.PowerBIDedicated/capacities/capacity" + region
	}
	lies := func(region, id string) {
		t.Helper()
		for name, provider := range c.regions {
			if got := provider.Holds(t, id); got != (name == region) {
				t.Errorf("%s holds %s: %t", name, id, got)
			}
		}
	}

	c.slow(t, "westus", http.MethodPut, "azure-async")
	c.slow(t, "eastus", http.MethodPut, "state")
	c.apply(t, dir)
	for _, region := range harness.RegionNames() {
		lies(region, identity(region))
	}
	lies("northeurope", identity("northeurope")+"/federatedIdentityCredentials/trust")
	lies("eastus", capacity("eastus"))
	outputs := c.outputs(t, dir)
	for name, want := range map[string]string{
		"me": objectID, "subscription": "Demo", "read": identity("eastus"),
		"listed": "Identity-eastus@eastus Identity-northeurope@northeurope Identity-westus@westus",
	} {
		if got := outputs[name]; got != want {
			t.Errorf("output %s: %v, want %s", name, got, want)
		}
	}

	// Tags are changed in place, by operations too.
	c.slow(t, "westus", http.MethodPatch, "location")
	c.slow(t, "eastus", http.MethodPatch, "azure-async")
	c.apply(t, dir, "-var", "stage=live")
	for _, id := range []string{group + "?api-version=2021-04-01", identity("eastus") + "?api-version=2024-11-30", capacity("westus") + "?api-version=2021-01-01"} {
		if tags, _ := c.Portico.Do(t, harness.Request{Path: id}).Want(t, 200).JSON(t)["tags"].(map[string]any); tags["Stage"] != "live" {
			t.Errorf("%s has the tags %v", id, tags)
		}
	}

	// One goes through the front door, one behind its back.
	c.Portico.Do(t, harness.Request{Method: http.MethodDelete, Path: identity("westus") + "?api-version=2024-11-30"}).Want(t, 200)
	c.regions["northeurope"].Do(t, harness.Request{Method: http.MethodDelete, Path: identity("northeurope") + "?api-version=2024-11-30"}).Want(t, 200)
	said := c.ends(t, dir, 2, "plan", "-detailed-exitcode", "-var", "stage=live")
	if !strings.Contains(said, "Plan: 3 to add, 0 to change, 0 to destroy.") {
		t.Errorf("after two identities and a credential had gone:\n%s", said)
	}
	c.apply(t, dir, "-var", "stage=live")
	lies("northeurope", identity("northeurope"))

	// What is locked stays, and what is not goes, by operations too.
	c.slow(t, "eastus", http.MethodDelete, "location")
	c.slow(t, "westus", http.MethodDelete, "azure-async")
	lock := harness.Request{Method: http.MethodPut, Path: identity("eastus") + "/providers/Microsoft.Authorization/locks/keep?api-version=2020-05-01", Body: `{"properties":{"level":"CanNotDelete"}}`}
	c.Portico.Do(t, lock).Want(t, 201)
	said = c.ends(t, dir, 1, "destroy", "-auto-approve", "-var", "stage=live")
	if !strings.Contains(said, "unexpected status 409 (409 Conflict) with error: ScopeLocked: The scope '"+identity("eastus")+
		"' cannot perform delete operation because following scope(s) are locked: '"+identity("eastus")+"'. Please remove the lock and try again.") {
		t.Errorf("destroying what is locked:\n%s", said)
	}
	lies("eastus", identity("eastus"))
	lies("nowhere", capacity("westus"))
	lock.Method, lock.Body = http.MethodDelete, ""
	c.Portico.Do(t, lock).Want(t, 200)

	c.ends(t, dir, 0, "destroy", "-auto-approve", "-var", "stage=live")
	c.Portico.Do(t, harness.Request{Path: group + "?api-version=2021-04-01"}).WantError(t, 404, "ResourceGroupNotFound")
	for region, provider := range c.regions {
		if left := provider.Resources(t); len(left) > 0 {
			t.Errorf("%s holds %v", region, left)
		}
	}
}

// What is there already is not taken over silently, but can be imported.
func TestTerraformImports(t *testing.T) {
	t.Parallel()
	c := newTerraform(t)
	dir := configuration(t, fmt.Sprintf(terraformProvider, "")+`
resource "azurerm_resource_group" "old" {
  name     = "Old-Group"
  location = "westus"
  tags     = { Owner = "Me" }
}
resource "azurerm_powerbi_embedded" "old" {
  name                = "oldcapacity"
  resource_group_name = azurerm_resource_group.old.name
  location            = "East US"
  sku_name            = "A1"
  administrators      = ["owner@contoso.example"]
}
`)
	group := c.GroupPath("Old-Group")
	capacity := group + "/providers/Microsoft.PowerBIDedicated/capacities/oldcapacity"
	c.Portico.Do(t, harness.Request{Method: http.MethodPut, Path: group + "?api-version=2021-04-01", Body: `{"location":"West US","tags":{"Owner":"Me"}}`}).Want(t, 201)
	c.Portico.Do(t, harness.Request{
		Method: http.MethodPut, Path: capacity + "?api-version=2021-01-01",
		Body: `{"location":"eastus","sku":{"name":"A1"},"properties":{"mode":"Gen2","administration":{"members":["owner@contoso.example"]}}}`,
	}).Want(t, 201)

	said := c.ends(t, dir, 1, "apply", "-auto-approve")
	if !strings.Contains(said, `a resource with the ID "`+group+`" already exists`) {
		t.Errorf("applying over what exists:\n%s", said)
	}
	c.ends(t, dir, 0, "import", "azurerm_resource_group.old", group)
	c.ends(t, dir, 0, "import", "azurerm_powerbi_embedded.old", capacity)
	c.ends(t, dir, 0, "plan", "-detailed-exitcode")
}

// A provider that the subscription is not registered for, and a place where a
// type is not, are told in ARM's words.
func TestTerraformErrors(t *testing.T) {
	t.Parallel()
	c := newTerraform(t)
	c.PutGroup(t, "errors")
	for name, row := range map[string]struct{ text, want string }{
		"registration": {`
resource "azurerm_user_assigned_identity" "one" {
  name                = "one"
  resource_group_name = "errors"
  location            = "westus"
}`, "409 (409 Conflict) with error: MissingSubscriptionRegistration: The subscription is not registered to use namespace 'Microsoft.ManagedIdentity'."},
		"location": {`
resource "azurerm_powerbi_embedded" "one" {
  name                = "one4all"
  resource_group_name = "errors"
  location            = "moon"
  sku_name            = "A1"
  administrators      = ["owner@contoso.example"]
}`, "LocationNotAvailableForResourceType: The provided location 'moon' is not available for resource type 'Microsoft.PowerBIDedicated/capacities'. " +
			"List of available regions for the resource type is 'westus,eastus,northeurope'."},
		"group": {`
resource "azurerm_powerbi_embedded" "one" {
  name                = "one4all"
  resource_group_name = "nowhere"
  location            = "westus"
  sku_name            = "A1"
  administrators      = ["owner@contoso.example"]
}`, "ResourceGroupNotFound: Resource group 'nowhere' could not be found."},
	} {
		if said := c.ends(t, configuration(t, fmt.Sprintf(terraformProvider, "")+row.text), 1, "apply", "-auto-approve"); !strings.Contains(said, row.want) {
			t.Errorf("%s: %s\nwant %s", name, said, row.want)
		}
	}
}
