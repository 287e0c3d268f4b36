package clients

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"portico/test/harness"
)

// rights are what this test builds: a role of its own, and who has which.
const rights = `
data "azurerm_subscription" "here" {}

resource "azurerm_resource_group" "rg" {
  name     = "Rights"
  location = "westus"
}

resource "azurerm_role_definition" "tagger" {
  name        = "Tagger"
  scope       = data.azurerm_subscription.here.id
  description = "Tags groups"
  permissions {
    actions     = ["Microsoft.Resources/subscriptions/resourceGroups/write"]
    not_actions = []
  }
  assignable_scopes = [azurerm_resource_group.rg.id, data.azurerm_subscription.here.id]
}

resource "azurerm_role_assignment" "reader" {
  scope                            = azurerm_resource_group.rg.id
  role_definition_name             = "Reader"
  principal_id                     = %[1]q
  skip_service_principal_aad_check = true
}

resource "azurerm_role_assignment" "tagger" {
  name               = "00000000-0000-0000-0000-00000000aa02"
  scope              = azurerm_resource_group.rg.id
  role_definition_id = azurerm_role_definition.tagger.role_definition_resource_id
  principal_id       = %[1]q
  principal_type     = "ServicePrincipal"
  description        = "of the tests"
}

data "azurerm_role_definition" "contributor" {
  name  = "Contributor"
  scope = data.azurerm_subscription.here.id
}
output "contributor" { value = data.azurerm_role_definition.contributor.role_definition_id }
`

// Terraform says who may do what, gives again what somebody took, and takes it back. After each step it
// sees nothing left to do.
func TestTerraformRoles(t *testing.T) {
	t.Parallel()
	c := newTerraform(t, guest)
	dir := configuration(t, fmt.Sprintf(terraformProvider, "")+fmt.Sprintf(rights, guest.ObjectID))
	c.apply(t, dir)
	if got := c.outputs(t, dir)["contributor"]; got != "b24988ac-6180-42a0-ab88-20f7382dd24c" {
		t.Errorf("the role Contributor is %v", got)
	}
	group := c.GroupPath("Rights") + "?api-version=2021-04-01"
	c.asGuest(t, http.MethodGet, group, "").Want(t, 200)
	c.asGuest(t, http.MethodPatch, group, `{"tags":{"a":"b"}}`).Want(t, 200)
	c.asGuest(t, http.MethodPatch, group, `{"tags":{}}`).Want(t, 200)

	// What somebody took away is given again.
	assignment := c.GroupPath("Rights") + "/providers/Microsoft.Authorization/roleAssignments/00000000-0000-0000-0000-00000000aa02?api-version=2022-04-01"
	c.Portico.Do(t, harness.Request{Method: http.MethodDelete, Path: assignment}).Want(t, 200)
	if said := c.ends(t, dir, 2, "plan", "-detailed-exitcode"); !strings.Contains(said, "Plan: 1 to add, 0 to change, 0 to destroy.") {
		t.Errorf("after an assignment had gone:\n%s", said)
	}
	c.apply(t, dir)
	c.Portico.Do(t, harness.Request{Path: assignment}).Want(t, 200)

	// The role itself stays: after a change or a deletion of one, the provider waits for
	// minutes in which nothing more happens.
	c.ends(t, dir, 0, "destroy", "-auto-approve", "-target", "azurerm_role_assignment.reader", "-target", "azurerm_role_assignment.tagger")
	c.asGuest(t, http.MethodGet, group, "").WantError(t, 404, "SubscriptionNotFound")
}
