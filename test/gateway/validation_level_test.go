package gateway_test

import (
	"strings"
	"testing"
)

// A deployment is judged as far as its validation level says, by validate and what-if alike.
func TestValidationLevels(t *testing.T) {
	s := newSite(t, setup{tokens: true, roles: "owners: [{principalId: " + callers[secret].ObjectID + "}]"})
	ann, bob := []string{"Authorization", bearer(secret)}, []string{"Authorization", bearer(second)}
	s.ok(201, "PUT", groupPath("g")+own, westus, ann...)
	definition := "/providers/Microsoft.Authorization/roleDefinitions/00000000-0000-0000-0000-0000000000d1"
	s.ok(201, "PUT", inSubscription+definition+"?api-version=2022-04-01", `{"properties":{"roleName":"Rehearser","assignableScopes":["`+inSubscription+`"],"permissions":[{"actions":["*/read","Microsoft.Resources/deployments/*"]}]}}`, ann...)
	s.ok(201, "PUT", groupPath("g")+"/providers/Microsoft.Authorization/roleAssignments/"+anAssignment+"?api-version=2022-04-01",
		`{"properties":{"roleDefinitionId":"`+definition+`","principalId":"`+callers[second].ObjectID+`"}}`, ann...)
	good, bad := machineIn("m", `,"location":"westus"`), machineIn("m", `,"location":"mars"`)
	unregistered := plannedIn("Contoso.Insight/workspaces", "2024-06-01-preview", "w", `,"location":"westus"`)
	for _, c := range []struct {
		level, resources string
		by               []string
		validate, whatIf int
		says             string
	}{
		{"", good, ann, 200, 200, ""},
		{"", bad, ann, 400, 200, "LocationNotAvailableForResourceType"},
		{"", good, bob, 400, 200, "AuthorizationFailed"},
		{"Provider", good, ann, 200, 200, ""},
		{"provider", bad, ann, 400, 400, "LocationNotAvailableForResourceType"},
		{"Provider", good, bob, 400, 400, "AuthorizationFailed"},
		{"ProviderNoRbac", good, bob, 200, 200, ""},
		{"providernorbac", bad, bob, 400, 400, "LocationNotAvailableForResourceType"},
		{"Template", bad, bob, 200, 200, ""},
		{"Provider", unregistered, bob, 400, 400, "Contoso.Insight"},
		{"ProviderNoRbac", unregistered, bob, 200, 200, ""},
		{"Template", unregistered, bob, 200, 200, ""},
		{"TEMPLATE", machineIn("[none()]", ""), bob, 400, 400, "'none' is not known"},
		{"Resource", good, ann, 400, 400, "Path '$.properties.validationLevel'"},
	} {
		rest := ""
		if c.level != "" {
			rest = `, "validationLevel": "` + c.level + `"`
		}
		for action, want := range map[string]int{"validate": c.validate, "whatIf": c.whatIf} {
			got := s.do("POST", deploymentPath(groupPath("g"), action), deploymentOf("Incremental", rest, c.resources), c.by...)
			if got.status != want || want == 400 && !strings.Contains(got.text, c.says) {
				t.Errorf("%s of %s: %d %s", action, c.level, got.status, got.text)
			}
		}
	}
	put := strings.Replace(deploymentPath(groupPath("g"), ""), "/?", "?", 1)
	s.want(400, "InvalidTemplate", "PUT", put, deploymentOf("Incremental", `, "validationLevel": 7`, good), ann...)
	s.want(400, "InvalidTemplateDeployment", "PUT", put, deploymentOf("Incremental", "", good), bob...)
	s.ok(201, "PUT", put, deploymentOf("Incremental", `, "validationLevel": "template"`, good), bob...)
	if got := s.ok(200, "GET", put, "", ann...).text; !strings.Contains(got, `"validationLevel":"Template"`) {
		t.Error(got)
	}
}

// What a client wants to be shown for debugging is in the deployment's record.
func TestDebugSettingsAreShown(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	s.work()
	path := func(action string) string {
		return strings.Replace(deploymentPath(groupPath("g"), action), "/?", "?", 1)
	}
	for _, level := range []string{"none", "RequestContent", "responseContent", "requestContent, responseContent", "requestContent,responseContent"} {
		rest, want := `, "debugSetting": {"detailLevel": "`+level+`"}`, `"debugSetting":{"detailLevel":"`+level+`"}`
		if got := s.ok(200, "POST", path("validate"), deploymentOf("Incremental", rest, "")).text; !strings.Contains(got, want) {
			t.Error(got)
		}
		target := strings.Replace(path(""), "main", "d"+strings.NewReplacer(",", "", " ", "-").Replace(level), 1)
		if got := s.ok(201, "PUT", target, deploymentOf("Incremental", rest, "")).text; !strings.Contains(got, want) {
			t.Error(got)
		}
		s.within("the end of a deployment", func() bool {
			return strings.Contains(s.ok(200, "GET", target, "").text, `"provisioningState":"Succeeded"`)
		})
		if got := s.ok(200, "GET", target, "").text; !strings.Contains(got, want) {
			t.Error(got)
		}
	}
	for _, rest := range []string{"", `, "debugSetting": null`, `, "debugSetting": {"detailLevel": null}`} {
		if got := s.ok(200, "POST", path("validate"), deploymentOf("Incremental", rest, "")).text; strings.Contains(got, "debugSetting") {
			t.Error(got)
		}
	}
	for _, level := range []string{`"all"`, `"requestContent;none"`, `7`, `""`} {
		got := s.want(400, "InvalidTemplate", "PUT", path(""), deploymentOf("Incremental", `, "debugSetting": {"detailLevel": `+level+`}`, ""))
		if !strings.Contains(got.text, "Path '$.properties.debugSetting.detailLevel'") {
			t.Error(got.text)
		}
	}
}
