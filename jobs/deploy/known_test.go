package deploy_test

import (
	"encoding/json"
	"strings"
	"testing"

	"portico/inventory/deploymentrow"
	"portico/jobs/deploy"
	"portico/jobs/jobstest"
)

// Outputs of modules that an answer names may need themselves, or each other: that is a failure
// of the deployment, and none of its gateway.
func TestSecureOutputsThatNeedThemselves(t *testing.T) {
	t.Parallel()
	module := func(name, next string) string {
		return `{"type": "Microsoft.Resources/deployments", "apiVersion": "2025-04-01", "name": "` + name + `", "dependsOn": ["a"], "properties": {"mode": "Incremental", "template": {
			"$schema": "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#", "contentVersion": "1.0.0.0", "resources": [], "outputs": {
			"word": {"type": "securestring", "value": "a-word"},
			"next": {"type": "securestring", "value": "[listOutputsWithSecureValues(format('{0}/` + next + `', reference('a').deployments), '2025-04-01').next]"}}}}}`
	}
	shows := reply{status: 200, body: `{"properties": {"provisioningState": "Succeeded", "deployments": "/subscriptions/` + jobstest.Subscription + `/resourceGroups/g/providers/Microsoft.Resources/deployments"}}`}
	d := deploy.Deployer{}
	for _, names := range [][2]string{{"x", "x"}, {"x", "y"}} {
		resources := []string{machine("a"), module(names[0], names[1])}
		if names[0] != names[1] {
			resources = append(resources, module(names[1], names[0]))
		}
		r := deployed(t, d, map[string][]reply{"PUT a": {created}, "GET a": {shows}}, resources...)
		fault, err := json.Marshal(r.record.Properties.Error)
		if err != nil || r.state != deploymentrow.Failed || !strings.Contains(string(fault), "DeploymentOutputEvaluationFailed") {
			t.Errorf("%v: %s", r.state, fault)
		}
	}
}

// The condition of a nested deployment may need a secure output, which no provider has.
func TestConditionsOfSecureOutputs(t *testing.T) {
	t.Parallel()
	const head = `"$schema": "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#", "contentVersion": "1.0.0.0"`
	module := func(name, rest, parameters, holds string) string {
		return `{"type": "Microsoft.Resources/deployments", "apiVersion": "2025-04-01", "name": "` + name + `", ` + rest + ` "properties": {"mode": "Incremental",
			"expressionEvaluationOptions": {"scope": "inner"}, "parameters": {` + parameters + `}, "template": {` + head + `, ` + holds + `}}}`
	}
	shows := reply{status: 200, body: `{"properties": {"provisioningState": "Succeeded", "deployments": "/subscriptions/` + jobstest.Subscription + `/resourceGroups/g/providers/Microsoft.Resources/deployments"}}`}
	d := deploy.Deployer{}
	r := deployed(t, d, map[string][]reply{"PUT a": {created}, "GET a": {shows}, "PUT b": {created}}, machine("a"),
		module("x", `"dependsOn": ["a"],`, "", `"resources": [], "outputs": {"word": {"type": "securestring", "value": "a-word"}}`),
		module("y", `"dependsOn": ["x"],`, `"open": {"value": "[equals(listOutputsWithSecureValues(format('{0}/x', reference('a').deployments), '2025-04-01').word, 'a-word')]"}`,
			`"parameters": {"open": {"type": "bool"}}, "resources": [`+module("z", `"condition": "[parameters('open')]",`, "", `"resources": [`+machine("b")+`]`)+`]`))
	r.want(t, deploymentrow.Succeeded)
	if len(r.of("PUT b")) != 1 {
		t.Errorf("%q", r.names())
	}
}
