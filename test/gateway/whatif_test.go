package gateway_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"portico/arm"
	"portico/jobs/deploy/whatif"
)

const deploymentAPI = "?api-version=2022-09-01"

func deploymentPath(scope, action string) string {
	return scope + "/providers/Microsoft.Resources/deployments/main/" + action + deploymentAPI
}

// deploymentOf is a deployment's content as az sends it.
func deploymentOf(mode, rest, resources string) string {
	return `{"properties": {"mode": "` + mode + `", template: { // as az sends it
		"$schema": "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#", "contentVersion": "1.0.0.0",
		"parameters": {"size": {"type": "string", "defaultValue": "s"}, "key": {"type": "securestring", "defaultValue": "hush-hush"}},
		"resources": [` + resources + `]}` + rest + `}}`
}

func machineIn(name, rest string) string {
	return `{"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "` + name + `"` + rest + `}`
}

func TestDeploymentsAreValidated(t *testing.T) {
	s := newSite(t, setup{})
	g := s.group("g")
	target := deploymentPath(g, "validate")
	type answer struct {
		ID         string
		Properties struct {
			Mode, ProvisioningState string
			Parameters              map[string]struct{ Type, Value string }
			ValidatedResources      []struct{ ID string }
		}
	}
	good := machineIn("a", `, "location": "[resourceGroup().location]", "properties": {"size": "[parameters('size')]", "key": "[parameters('key')]"}`)
	child := `{"type": "Contoso.Compute/virtualMachines/disks", "apiVersion": "2024-01-01", "name": "a/d", "dependsOn": ["[resourceId('Contoso.Compute/virtualMachines', 'a')]"]}`
	whole := s.ok(200, "POST", target, deploymentOf("Incremental", "", child+","+good))
	got := decode[answer](t, whole)
	if got.ID != g+"/providers/Microsoft.Resources/deployments/main" || got.Properties.ProvisioningState != "Succeeded" || len(got.Properties.ValidatedResources) != 2 ||
		got.Properties.ValidatedResources[0].ID != machinePath("g", "a") || got.Properties.Parameters["size"].Value != "s" || got.Properties.Parameters["key"].Type != "SecureString" {
		t.Errorf("%s", whole.text)
	}
	if strings.Contains(whole.text, "hush") {
		t.Errorf("the answer tells a secret: %s", whole.text)
	}
	for _, c := range []struct{ name, content, code, says string }{
		{"no template", `{"properties": {"mode": "Incremental", "template": {`, "InvalidTemplate", "line 1, column"},
		{"an unknown parameter", deploymentOf("Incremental", "", machineIn("[parameters('none')]", "")), "InvalidTemplate", "$.properties.template.resources[0].name"},
		{"a link", `{"properties": {"mode": "Incremental", "templateLink": {"uri": "https://example/t"}}}`, "InvalidTemplate", "links"},
		{"a location at a group", `{"location": "westus", "properties": {"mode": "Incremental", "template": {}}}`, "InvalidDeployment", "location"},
	} {
		if text := s.want(400, c.code, "POST", target, c.content).text; !strings.Contains(text, c.says) {
			t.Errorf("%s: %s", c.name, text)
		}
	}
	faulty := good + "," + machineIn("b", `, "location": "nowhere"`) + "," + `{"type": "Contoso.Nothing/at", "apiVersion": "2024-01-01", "name": "all"}`
	refused := decode[struct{ Error arm.Error }](t, s.want(400, "InvalidTemplateDeployment", "POST", target, deploymentOf("Incremental", "", faulty)))
	if d := refused.Error.Details; len(d) != 2 || d[0].Target != machinePath("g", "b") || d[0].Code != arm.LocationNotAvailableForResourceType || d[1].Target != g+"/providers/Contoso.Nothing/at/all" {
		t.Errorf("%+v", d)
	}
	s.want(404, "ResourceGroupNotFound", "POST", deploymentPath(groupPath("none"), "validate"), deploymentOf("Incremental", "", good))
	s.want(404, "ResourceNotFound", "GET", machinePath("g", "a")+api, "")
	nested := strings.Replace(deploymentOf("Incremental", "", `{"type": "Microsoft.Resources/resourceGroups", "apiVersion": "2022-09-01", "name": "new", "location": "westus"}`), "{", `{"location": "westus", `, 1)
	s.ok(200, "POST", deploymentPath(inSubscription, "validate"), nested)
	elsewhere := s.want(400, "LocationNotAvailableForDeployment", "POST", deploymentPath(inSubscription, "validate"), strings.Replace(nested, "westus", "mars", 1)).text
	if !strings.Contains(elsewhere, "'westus,") {
		t.Errorf("%s", elsewhere)
	}
	inner := func(location string) string {
		return strings.Replace(deploymentOf("Incremental", "", `{"type": "Microsoft.Resources/deployments", "apiVersion": "2021-04-01", "name": "inner", "location": "`+location+`", "properties": {"mode": "Incremental", "template": {
			"$schema": "https://schema.management.azure.com/schemas/2018-05-01/subscriptionDeploymentTemplate.json#", "contentVersion": "1.0.0.0", "resources": []}}}`), "{", `{"location": "westus", `, 1)
	}
	s.ok(200, "POST", deploymentPath(inSubscription, "validate"), inner("West US"))
	for method, path := range map[string]string{"POST": deploymentPath(inSubscription, "validate"), "PUT": strings.Replace(deploymentPath(inSubscription, ""), "/?", "?", 1)} {
		refused := decode[struct{ Error arm.Error }](t, s.want(400, "InvalidTemplateDeployment", method, path, inner("mars")))
		if d := refused.Error.Details; len(d) != 1 || d[0].Code != arm.LocationNotAvailableForDeployment {
			t.Errorf("%+v", d)
		}
	}
}

// reportedChanges are the changes of a what-if, each as its type and the last part of its ID.
func reportedChanges(t *testing.T, a seen) (reported []string, all []whatif.Change) {
	t.Helper()
	result := decode[struct {
		Status     string
		Properties struct{ Changes []whatif.Change }
	}](t, a)
	if result.Status != "Succeeded" {
		t.Errorf("%s", a.text)
	}
	for _, c := range result.Properties.Changes {
		reported = append(reported, string(c.Type)+" "+c.ID[strings.LastIndexByte(c.ID, '/')+1:])
	}
	return reported, result.Properties.Changes
}

func TestWhatDeploymentsWouldChange(t *testing.T) {
	s := newSite(t, setup{tokens: true})
	ann := []string{"Authorization", bearer(secret)}
	s.ok(201, "PUT", groupPath("g")+own, westus, ann...)
	for name, body := range map[string]string{"same": `"size": "s"`, "other": `"size": "l", "key": "hush-hush"`, "more": ``} {
		s.ok(201, "PUT", machinePath("g", name)+api, `{"location": "West US", "tags": {"a": "1"}, "properties": {`+body+`}}`, ann...)
	}
	body := `, "location": "westus", "tags": {"a": "1"}, "properties": {"size": "[parameters('size')]"}`
	resources := machineIn("same", body) + "," + machineIn("new", body) + "," + `{"type": "Contoso.Nothing/at", "apiVersion": "2024-01-01", "name": "all"}` + "," +
		machineIn("other", `, "location": "westus", "tags": {"a": "2"}, "properties": {"size": "[parameters('size')]", "key": "[parameters('key')]", "of": "[reference('same').size]", "mix": "[concat(parameters('key'), reference('same').size)]"}`)
	target := deploymentPath(groupPath("g"), "whatIf")
	answer := s.ok(200, "POST", target, deploymentOf("Incremental", "", resources), ann...)
	reported, all := reportedChanges(t, answer)
	slices.Sort(reported)
	if want := []string{"Create new", "Ignore more", "Modify other", "NoChange same", "Unsupported all"}; !slices.Equal(reported, want) {
		t.Errorf("%q, want %q", reported, want)
	}
	if strings.Contains(answer.text, "hush") {
		t.Errorf("the answer tells a secret: %s", answer.text)
	}
	for _, c := range all {
		var paths []string
		for _, p := range c.Delta {
			paths = append(paths, string(p.Type)+" "+p.Path)
		}
		if want := []string{"Modify tags.a", "Modify properties.size"}; c.Type == whatif.Modify && !slices.Equal(paths, want) {
			t.Errorf("%q, want %q", paths, want)
		}
	}
	brief := s.ok(200, "POST", target, deploymentOf("Complete", `, "whatIfSettings": {"resultFormat": "ResourceIdOnly"}`, resources), ann...)
	reported, all = reportedChanges(t, brief)
	slices.Sort(reported)
	if want := []string{"Create new", "Delete more", "Deploy other", "Deploy same", "Unsupported all"}; !slices.Equal(reported, want) || all[0].After != nil {
		t.Errorf("%q, want %q: %s", reported, want, brief.text)
	}
	// At a subscription, groups are compared as well, and nothing is ignored.
	groups := `{"type": "Microsoft.Resources/resourceGroups", "apiVersion": "2022-09-01", "name": "g", "location": "West US", "tags": {"of": "ann"}},
		{"type": "Microsoft.Resources/resourceGroups", "apiVersion": "2022-09-01", "name": "h", "location": "westus"},
		{"type": "Microsoft.Resources/deployments", "apiVersion": "2022-09-01", "name": "inner", "resourceGroup": "g", "properties": {"mode": "Incremental", "template": {
			"$schema": "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#", "contentVersion": "1.0.0.0", "resources": [` + machineIn("same", body) + `]}}}`
	atSubscription := strings.Replace(deploymentOf("Incremental", "", groups), "{", `{"location": "westus", `, 1)
	reported, _ = reportedChanges(t, s.ok(200, "POST", deploymentPath(inSubscription, "whatIf"), atSubscription, ann...))
	slices.Sort(reported)
	if want := []string{"Create h", "Modify g", "NoChange same"}; !slices.Equal(reported, want) {
		t.Errorf("%q, want %q", reported, want)
	}
	// Callers see what they can read.
	s.want(404, "SubscriptionNotFound", "POST", target, deploymentOf("Incremental", "", resources), "Authorization", bearer(stranger))
	s.want(400, "InvalidTemplate", "POST", target, deploymentOf("Incremental", "", `{"name": "x"}`), ann...)
}

// Providers that do not answer do not make the caller of a what-if wait for all of them.
func TestAWhatIfEndsInTime(t *testing.T) {
	s := newSite(t, setup{sections: "upstream: {callTimeout: 1s}", callTimeout: time.Second})
	s.ok(201, "PUT", groupPath("g")+own, westus)
	var resources []string
	for i := range 2*8 + 1 {
		name := fmt.Sprint("m", i)
		s.ok(201, "PUT", machinePath("g", name)+api, westus)
		resources = append(resources, machineIn(name, `, "location": "westus"`))
		s.at("westus").fault("GET", "/virtualMachines/m", "stall")
	}
	_, all := reportedChanges(t, s.ok(200, "POST", deploymentPath(groupPath("g"), "whatIf"), deploymentOf("Incremental", "", strings.Join(resources, ","))))
	if len(all) != len(resources) {
		t.Fatalf("%+v", all)
	}
	for i, c := range all {
		unread, late := strings.Contains(c.Reason, "GatewayTimeout"), strings.Contains(c.Reason, "was not read")
		if unread == late || i < 8 && late || i == 2*8 && unread {
			t.Errorf("%d: %s: %s", i, c.ID, c.Reason)
		}
	}
}

// What a deployment would register counts as registered, whatever is made of it; for others
// that judge plans it does not.
func TestDeploymentsAreJudgedAsIfRegistered(t *testing.T) {
	s := newSite(t, setup{})
	g := s.group("g")
	var resources []string
	for name, rest := range map[string]string{"workspaces": `"apiVersion": "2024-06-01-preview", "location": "westus"`, "profiles": `"apiVersion": "2024-01-01", "location": "global"`,
		"diagnosticSettings": `"apiVersion": "2024-01-01"`, "annotations": `"apiVersion": "2024-01-01"`} {
		resources = append(resources, `{"type": "Contoso.Insight/`+name+`", "name": "x", `+rest+`}`)
	}
	content := deploymentOf("Incremental", "", strings.Join(resources, ","))
	s.ok(200, "POST", deploymentPath(g, "validate"), content)
	s.ok(200, "POST", deploymentPath(g, "whatIf"), content)
	for _, c := range []string{`"name":"w","type":"Contoso.Insight/workspaces","apiVersion":"2024-06-01-preview"`, `"name":"d","type":"Contoso.Insight/annotations","apiVersion":"2024-01-01"`} {
		if text := s.want(400, "ResourceValidationFailed", "POST", "/providers/Microsoft.Resources/validateResources?api-version=2020-10-01", `{"scope":"`+g+`","resources":[{`+c+`,"location":"westus"}]}`).text; !strings.Contains(text, "MissingSubscriptionRegistration") {
			t.Errorf("%s: %s", c, text)
		}
	}
	if got := s.ok(200, "GET", inSubscription+"/providers/Contoso.Insight"+own, "").text; !strings.Contains(got, `"NotRegistered"`) {
		t.Errorf("%s", got)
	}
}
