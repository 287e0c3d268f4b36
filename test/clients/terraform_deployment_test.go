package clients

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"portico/test/harness"
)

// deployedByTerraform deploys a template to a group, and another to the subscription.
const deployedByTerraform = `
variable "size" { default = "Small" }

resource "azurerm_resource_group" "deployed" {
  name     = "Deployed"
  location = "westus"
}

resource "azurerm_resource_group_template_deployment" "machines" {
  name                = "machines"
  resource_group_name = azurerm_resource_group.deployed.name
  deployment_mode     = "Incremental"
  tags                = { stage = "test" }
  parameters_content  = jsonencode({ size = { value = var.size } })
  template_content    = jsonencode({
    "$schema"      = "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#"
    contentVersion = "1.0.0.0"
    parameters     = { size = { type = "string" } }
    resources = [for region in ["westus", "eastus"] : {
      type       = "Contoso.Compute/virtualMachines"
      apiVersion = "2024-01-01"
      name       = "machine-${region}"
      location   = region
      properties = { size = "[parameters('size')]" }
    }]
    outputs = { size = { type = "string", value = "[reference('machine-westus').size]" } }
  })
}

resource "azurerm_subscription_template_deployment" "group" {
  name             = "group"
  location         = "westus"
  template_content = jsonencode({
    "$schema"      = "https://schema.management.azure.com/schemas/2018-05-01/subscriptionDeploymentTemplate.json#"
    contentVersion = "1.0.0.0"
    resources      = [{ type = "Microsoft.Resources/resourceGroups", apiVersion = "2021-04-01", name = "Made", location = "eastus" }]
  })
}

output "size" { value = jsondecode(azurerm_resource_group_template_deployment.machines.output_content).size.value }
`

// Terraform deploys templates, changes them, sees nothing left to do after each, and takes
// down with that of a group what it made; with that of a subscription it does not.
func TestTerraformDeploysTemplates(t *testing.T) {
	t.Parallel()
	c := newTerraform(t)
	dir := configuration(t, fmt.Sprintf(terraformProvider, "")+deployedByTerraform)
	machine := c.ResourcePath("Deployed", "Contoso.Compute/virtualMachines/machine-eastus")
	created := harness.Request{Path: c.GroupPath("Made") + "?api-version=2021-04-01"}
	for _, size := range []string{"Small", "Big"} {
		c.apply(t, dir, "-var", "size="+size)
		if got := c.outputs(t, dir)["size"]; got != size {
			t.Errorf("its size is %v, and not %s", got, size)
		}
		c.Portico.Do(t, created).Want(t, 200)
		if !c.regions["eastus"].Holds(t, machine) {
			t.Errorf("eastus does not hold %s", machine)
		}
	}
	// Both sizes are one deployment, which others can read.
	deployments := harness.Request{Method: http.MethodGet, Path: c.GroupPath("Deployed") + "/providers/Microsoft.Resources/deployments?api-version=2021-04-01"}
	if all := c.Portico.Do(t, deployments).Want(t, 200); strings.Count(string(all.Body), `"Succeeded"`) != 1 {
		t.Errorf("%s", all.Body)
	}
	c.ends(t, dir, 0, "destroy", "-auto-approve", "-var", "size=Big")
	c.Portico.Do(t, created).Want(t, 200)
	for region, provider := range c.regions {
		if left := provider.Resources(t); len(left) > 0 {
			t.Errorf("%s holds %v", region, left)
		}
	}
}
