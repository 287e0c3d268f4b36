package gateway_test

import (
	"strings"
	"testing"
)

// A caller who may deploy to a group, and not read it, learns nothing of it by resourceGroup().
func TestTemplatesTellOnlyWhatTheirCallersMayRead(t *testing.T) {
	s := newSite(t, setup{tokens: true, roles: "owners: [{principalId: " + callers[secret].ObjectID + "}]"})
	ann, bob := []string{"Authorization", bearer(secret)}, []string{"Authorization", bearer(second)}
	s.ok(201, "PUT", groupPath("g")+own, `{"location":"westus","tags":{"project":"quiet"}}`, ann...)
	definition := "/providers/Microsoft.Authorization/roleDefinitions/00000000-0000-0000-0000-0000000000d2"
	s.ok(201, "PUT", inSubscription+definition+"?api-version=2022-04-01", `{"properties":{"roleName":"Blind","assignableScopes":["`+inSubscription+`"],"permissions":[{"actions":["Microsoft.Resources/deployments/*","Microsoft.Resources/subscriptions/resourceGroups/resources/read"]}]}}`, ann...)
	s.ok(201, "PUT", groupPath("g")+"/providers/Microsoft.Authorization/roleAssignments/"+anAssignment+"?api-version=2022-04-01",
		`{"properties":{"roleDefinitionId":"`+definition+`","principalId":"`+callers[second].ObjectID+`"}}`, ann...)
	s.work()
	put := func(name string) string {
		return strings.Replace(strings.Replace(deploymentPath(groupPath("g"), ""), "main", name, 1), "/?", "?", 1)
	}
	for _, taken := range []string{"resourceGroup().tags", "resourceGroup().location", "resourceGroup()['location']", "resourceGroup().properties"} {
		taking := deploymentOf("Incremental", `, "validationLevel": "Template"`, machineIn("m", `,"location":"westus","tags":{"of":"[string(`+taken+`)]"}`))
		s.ok(200, "POST", deploymentPath(groupPath("g"), "validate"), taking, ann...)
		for _, c := range [][2]string{{"POST", deploymentPath(groupPath("g"), "validate")}, {"POST", deploymentPath(groupPath("g"), "whatIf")}, {"PUT", put("bob")}} {
			got := s.want(400, "InvalidTemplate", c[0], c[1], taking, bob...).text
			if strings.Contains(got, "quiet") || strings.Contains(got, "westus") || !strings.Contains(got, "'Microsoft.Resources/subscriptions/resourceGroups/read' at '"+groupPath("g")+"'") {
				t.Errorf("%s of %s: %s", c[0], taken, got)
			}
		}
	}
	named := deploymentOf("Incremental", `, "validationLevel": "Template"`, machineIn("m", `,"location":"westus","tags":{"of":"[concat(resourceGroup().id, resourceGroup().name, resourceGroup().type)]"}`))
	if got := s.ok(200, "POST", deploymentPath(groupPath("g"), "whatIf"), named, bob...).text; !strings.Contains(got, groupPath("g")+"gMicrosoft.Resources/resourceGroups") {
		t.Error(got)
	}
	shown := `{"properties": {"mode": "Incremental", "template": {"$schema": "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#",
		"contentVersion": "1.0.0.0", "resources": [], "outputs": {"of": {"type": "object", "value": "[resourceGroup()]"}}}}}`
	for name, by := range map[string][]string{"ann": ann, "bob": bob} {
		s.ok(201, "PUT", put(name), shown, by...)
		s.within("the end of a deployment", func() bool {
			return strings.Contains(s.ok(200, "GET", put(name), "", ann...).text, `"provisioningState":"Succeeded"`)
		})
		if got := s.ok(200, "GET", put(name), "", ann...).text; strings.Contains(got, "quiet") != (name == "ann") || strings.Contains(got, "westus") != (name == "ann") {
			t.Errorf("%s: %s", name, got)
		}
	}
}
