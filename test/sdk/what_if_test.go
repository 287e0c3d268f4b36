package sdk

import (
	"encoding/json"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resources/armresources"

	"portico/test/harness"
)

// The poller of a what-if ends with the answer to its first request.
func TestWhatIfOfADeployment(t *testing.T) {
	t.Parallel()
	c := newClients(t, harness.Config{})
	c.createGroup(t, "g")
	deployments, err := armresources.NewDeploymentsClient(c.SubscriptionID, staticToken(c.Config.Tokens[0].Raw), optionsFor(c.World))
	harness.OK(t, err)
	var template any
	harness.OK(t, json.Unmarshal([]byte(`{"$schema": "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#", "contentVersion": "1.0.0.0",
		"resources": [{"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "a", "location": "westus", "properties": {}}]}`), &template))
	properties := &armresources.DeploymentWhatIfProperties{Mode: to.Ptr(armresources.DeploymentModeIncremental), Template: template}

	inGroup, err := deployments.BeginWhatIf(t.Context(), "g", "d", armresources.DeploymentWhatIf{Properties: properties}, nil)
	harness.OK(t, err)
	if !inGroup.Done() {
		t.Error("it is to be polled")
	}
	result, err := inGroup.PollUntilDone(t.Context(), nil)
	harness.OK(t, err)
	if value(result.Status) != "Succeeded" || len(result.Properties.Changes) != 1 || *result.Properties.Changes[0].ChangeType != armresources.ChangeTypeCreate {
		t.Errorf("%+v", result)
	}
	atSubscription, err := deployments.BeginWhatIfAtSubscriptionScope(t.Context(), "d", armresources.DeploymentWhatIf{Location: to.Ptr("westus"),
		Properties: &armresources.DeploymentWhatIfProperties{Mode: properties.Mode, Template: map[string]any{
			"$schema": "https://schema.management.azure.com/schemas/2018-05-01/subscriptionDeploymentTemplate.json#", "contentVersion": "1.0.0.0",
			"resources": []any{map[string]any{"type": "Microsoft.Resources/resourceGroups", "apiVersion": "2021-04-01", "name": "h", "location": "westus"}},
		}}}, nil)
	harness.OK(t, err)
	if result, err := atSubscription.PollUntilDone(t.Context(), nil); err != nil || len(result.Properties.Changes) != 1 {
		t.Errorf("%+v %v", result, err)
	}
}
