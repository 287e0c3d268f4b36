package gateway

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
	tagged := deploymentOf("Incremental", `, "validationLevel": "Template"`, machineIn("m", `,"location":"westus","tags":"[resourceGroup().tags]"`))
	if got := s.ok(200, "POST", deploymentPath(groupPath("g"), "whatIf"), tagged, ann...).text; !strings.Contains(got, "quiet") {
		t.Error(got)
	}
	if got := s.ok(200, "POST", deploymentPath(groupPath("g"), "whatIf"), tagged, bob...).text; strings.Contains(got, "quiet") {
		t.Error(got)
	}
	shown := `{"properties": {"mode": "Incremental", "template": {"$schema": "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#",
		"contentVersion": "1.0.0.0", "resources": [], "outputs": {"of": {"type": "object", "value": "[resourceGroup()]"}}}}}`
	for name, by := range map[string][]string{"ann": ann, "bob": bob} {
		put := strings.Replace(strings.Replace(deploymentPath(groupPath("g"), ""), "main", name, 1), "/?", "?", 1)
		s.ok(201, "PUT", put, shown, by...)
		s.within("the end of a deployment", func() bool {
			return strings.Contains(s.ok(200, "GET", put, "", ann...).text, `"provisioningState":"Succeeded"`)
		})
		if got := s.ok(200, "GET", put, "", ann...).text; strings.Contains(got, "quiet") != (name == "ann") {
			t.Errorf("%s: %s", name, got)
		}
	}
}
