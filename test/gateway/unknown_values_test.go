package gateway_test

import (
	"fmt"
	"strings"
	"testing"

	"portico/access/roles"
	"portico/arm"
)

// ofAnswer is an expression of a template whose value a provider's answer has.
func ofAnswer(member string) string {
	return "[reference(resourceId('Contoso.Compute/virtualMachines', 'a'), '2024-01-01', 'full')." + member + "]"
}

const (
	assignmentType = "Microsoft.Authorization/roleAssignments"
	readerRole     = "/providers/Microsoft.Authorization/roleDefinitions/" + roles.Reader
	anAssignment   = "00000000-0000-0000-0000-0000000000a1"
)

// plannedIn is a resource of a template, without its closing brace.
func plannedIn(typ, version, name, rest string) string {
	return fmt.Sprintf(`{"type":%q,"apiVersion":%q,"name":%q%s}`, typ, version, name, rest)
}

// valuesThatAreNotKnown are resources with members that need an answer.
func valuesThatAreNotKnown() map[string]string {
	location := `,"location":"` + ofAnswer("location") + `"`
	return map[string]string{
		"a location":             machineIn("b", location),
		"an existing one's":      machineIn("there", location),
		"tags":                   machineIn("b", `,"location":"westus","tags":"`+ofAnswer("tags")+`"`),
		"a long tag":             machineIn("b", `,"location":"westus","tags":{"a":"[concat('`+strings.Repeat("x", 300)+`', `+strings.Trim(ofAnswer("tags.a"), "[]")+`)]"}`),
		"all else":               machineIn("b", `,"location":"westus","sku":"`+ofAnswer("sku")+`","identity":{"type":"`+ofAnswer("of")+`"},"zones":"`+ofAnswer("zones")+`","properties":"`+ofAnswer("properties")+`"`),
		"a global type's":        plannedIn("Contoso.Insight/profiles", "2024-01-01", "p", location),
		"a principal":            plannedIn(assignmentType, "2022-04-01", anAssignment, `,"properties":{"roleDefinitionId":"`+readerRole+`","principalId":"`+ofAnswer("properties.principalId")+`"}`),
		"a secret principal":     plannedIn(assignmentType, "2022-04-01", anAssignment, `,"properties":{"roleDefinitionId":"`+readerRole+`","principalId":"[parameters('key')]"}`),
		"a role":                 plannedIn(assignmentType, "2022-04-01", anAssignment, `,"properties":{"roleDefinitionId":"`+ofAnswer("properties.role")+`","principalId":"`+callers[second].ObjectID+`"}`),
		"an assignment's inside": plannedIn(assignmentType, "2022-04-01", anAssignment, `,"properties":"`+ofAnswer("properties")+`"`),
		"actions": plannedIn("Microsoft.Authorization/roleDefinitions", "2022-04-01", anAssignment,
			`,"properties":{"roleName":"`+ofAnswer("name")+`","assignableScopes":["[resourceGroup().id]"],"permissions":[{"actions":["`+ofAnswer("action")+`"]}]}`),
		"scopes": plannedIn("Microsoft.Authorization/roleDefinitions", "2022-04-01", anAssignment,
			`,"properties":{"roleName":"x","assignableScopes":"`+ofAnswer("scopes")+`","permissions":"`+ofAnswer("permissions")+`"}`),
		"a level":             plannedIn("Microsoft.Authorization/locks", "2020-05-01", "l", `,"properties":{"level":"`+ofAnswer("level")+`"}`),
		"a group's tags":      plannedIn("Microsoft.Resources/tags", "2021-04-01", "default", `,"properties":{"tags":"`+ofAnswer("tags")+`"}`),
		"a child's":           machineIn("b", location) + "," + plannedIn("Contoso.Compute/virtualMachines/disks", "2024-01-01", "b/d", `,"location":"eastus","dependsOn":["b"]`),
		"what it is on":       machineIn("b", location) + "," + plannedIn("Contoso.Compute/virtualMachines/runCommands", "2024-01-01", "b/c", `,"dependsOn":["b"]`),
		"what is attached to": machineIn("b", location) + "," + plannedIn("Microsoft.Authorization/locks", "2020-05-01", "keep", `,"scope":"Contoso.Compute/virtualMachines/b","dependsOn":["b"],"properties":{"level":"ReadOnly"}`),
	}
}

// A value that is not known yet refuses nothing, wherever it stands.
func TestWhatIsNotKnownFits(t *testing.T) {
	s := newSite(t, setup{tokens: true, limits: "callerShare: 100%", roles: "owners: [{principalId: " + callers[secret].ObjectID + "}]"})
	ann := []string{"Authorization", bearer(secret)}
	s.ok(201, "PUT", groupPath("g")+own, westus, ann...)
	s.ok(201, "PUT", machinePath("g", "there")+api, eastus, ann...)
	stop := s.working()
	s.ok(200, "POST", inSubscription+"/providers/Contoso.Insight/register"+own, "", ann...)
	stop()
	for name, resources := range valuesThatAreNotKnown() {
		body := deploymentOf("Incremental", "", machineIn("a", `,"location":"westus"`)+","+resources)
		if a := s.do("POST", deploymentPath(groupPath("g"), "validate"), body, ann...); a.status != 200 {
			t.Errorf("%s: %s", name, a.text)
		}
		path := strings.Replace(deploymentPath(groupPath("g"), ""), "main/", strings.NewReplacer(" ", "-", "'", "").Replace(name), 1)
		if a := s.do("PUT", path, body, ann...); a.status != 201 {
			t.Errorf("%s: %s", name, a.text)
		}
	}
	literal := s.do("POST", deploymentPath(groupPath("g"), "validate"), deploymentOf("Incremental", "", machineIn("a", `,"location":"[[here]"`)), ann...)
	if literal.status != 400 || !strings.Contains(literal.text, "LocationNotAvailableForResourceType") {
		t.Errorf("a literal: %s", literal.text)
	}
	// A plan says it by the same texts.
	of := func(name, more string) string {
		return `{"apiVersion":"2024-01-01","name":"` + name + `",` + machineType + more + `}`
	}
	assignment := `{"apiVersion":"2022-04-01","type":"` + assignmentType + `","name":"` + anAssignment + `","properties":{"roleDefinitionId":"` + readerRole + `","principalId":"[output.id]"}}`
	for _, body := range []string{
		plan(groupPath("g"), "", of("m", `,"location":"[location]"`), `{"apiVersion":"2024-01-01","name":"m/d","type":"Contoso.Compute/virtualMachines/disks"}`),
		plan(groupPath("g"), `,"location":"[location]"`, of("m", "")),
		plan(groupPath("g"), "", of("m", `,"location":"westus","tags":"[tags]","sku":"[sku]","identity":"[i]"`)),
		plan(groupPath("g"), "", of("[n.name]", `,"location":"westus"`), of("[n.a/b]", `,"location":"westus"`), assignment),
		plan(inSubscription, "", `{"apiVersion":"2022-12-01","name":"[name]","type":"Microsoft.Resources/resourceGroups","location":"[location]"}`),
	} {
		s.validated(body, ann...)
	}
}

// What does not depend on what is not known is judged.
func TestAllThatIsKnownIsJudged(t *testing.T) {
	s := newSite(t, setup{tokens: true, roles: "owners: [{principalId: " + callers[secret].ObjectID + "}]", limits: "resourcesPerTypeAndGroup: 3"})
	ann, bob := []string{"Authorization", bearer(secret)}, []string{"Authorization", bearer(second)}
	for _, g := range []string{"g", "locked"} {
		s.ok(201, "PUT", groupPath(g)+own, westus, ann...)
	}
	s.ok(201, "PUT", groupPath("g")+"/providers/Microsoft.Authorization/roleAssignments/"+anAssignment+"?api-version=2022-04-01",
		`{"properties":{"roleDefinitionId":"`+readerRole+`","principalId":"`+callers[second].ObjectID+`"}}`, ann...)
	s.ok(201, "PUT", groupPath("locked")+lockPlace+"/stay"+own, `{"properties":{"level":"ReadOnly"}}`, ann...)
	location, tags := `,"location":"[l]"`, `,"tags":"[t]"`
	machine := func(name, version, more string) string {
		return `{"apiVersion":"` + version + `","name":"` + name + `",` + machineType + more + `}`
	}
	assigned := func(role string) string {
		return `{"apiVersion":"2022-04-01","type":"` + assignmentType + `","name":"00000000-0000-0000-0000-0000000000a2","properties":{"roleDefinitionId":"` + role + `","principalId":"[id]"}}`
	}
	workspace := func(more string) string {
		return `{"apiVersion":"2024-06-01-preview","name":"w","type":"Contoso.Insight/workspaces"` + more + `}`
	}
	child := `{"apiVersion":"2024-01-01","name":"m/d","type":"Contoso.Compute/virtualMachines/disks","location":"westus"}`
	for name, c := range map[string]struct {
		body string
		want arm.Code
		by   []string
	}{
		"a location, locked":           {plan(groupPath("locked"), "", machine("m", "2024-01-01", location)), arm.ScopeLocked, ann},
		"a location, by its version":   {plan(groupPath("g"), "", machine("m", "1999-01-01", location)), arm.NoRegisteredProviderFound, ann},
		"a location, by its name":      {plan(groupPath("g"), "", machine("m.", "2024-01-01", location)), arm.InvalidResourceName, ann},
		"a location, not registered":   {plan(groupPath("g"), "", workspace(location)), arm.MissingSubscriptionRegistration, ann},
		"a location, in the group":     {plan(groupPath("g"), "", machine("a", "2024-01-01", location), machine("b", "2024-01-01", location), machine("c", "2024-01-01", location), machine("d", "2024-01-01", location)), arm.ResourceQuotaExceeded, ann},
		"tags, by its location":        {plan(groupPath("g"), "", machine("m", "2024-01-01", `,"location":"mars"`+tags)), arm.LocationNotAvailableForResourceType, ann},
		"tags, locked":                 {plan(groupPath("locked"), "", machine("m", "2024-01-01", `,"location":"westus"`+tags)), arm.ScopeLocked, ann},
		"its group's, by its location": {plan(inSubscription, "", `{"apiVersion":"2022-12-01","name":"n","type":"Microsoft.Resources/resourceGroups","location":"mars"`+tags+`}`), arm.LocationNotAvailableForGroup, ann},
		"a principal, by its role":     {plan(groupPath("g"), "", assigned("/providers/Microsoft.Authorization/roleDefinitions/00000000-0000-0000-0000-00000000dead")), arm.RoleDefinitionDoesNotExist, ann},
		"a principal, locked":          {plan(groupPath("locked"), "", assigned(readerRole)), arm.ScopeLocked, ann},
		"a literal":                    {plan(groupPath("g"), "", machine("m", "2024-01-01", `,"location":"[[l]"`)), arm.LocationNotAvailableForResourceType, ann},
		"a name, by its location":      {plan(groupPath("g"), "", machine("[n]", "2024-01-01", `,"location":"mars"`)), arm.LocationNotAvailableForResourceType, ann},
		"a location, without a role":   {plan(groupPath("g"), `,"performPreflightWithoutRbacWriteCheck":true`, machine("m", "1999-01-01", location)), arm.NoRegisteredProviderFound, bob},
		"a parent's location":          {plan(groupPath("locked"), "", machine("m", "2024-01-01", location), child), arm.ScopeLocked, ann},
	} {
		got := s.refused(c.body, c.by...)
		if last := got[len(got)-1]; last.Code != c.want {
			t.Errorf("%s: %+v, want %s", name, got, c.want)
		}
	}
	s.want(403, "AuthorizationFailed", "POST", validateResources, plan(groupPath("g"), "", machine("m", "2024-01-01", location)), bob...)
}

// A provider is asked about what it can read: where the resource will be, and all of it but
// its tags and what its properties hold.
func TestProvidersAreAskedAboutWhatIsKnown(t *testing.T) {
	providers := newSite(t, setup{})
	s := newSite(t, setup{beside: providers, types: judgingPlans(providers)})
	s.group("g")
	s.machine("g", "there", "eastus")
	for _, c := range []struct {
		name, more, refused string
	}{
		{"a", `,"location":"[l]","kind":"no form"`, ""},
		{"a", `,"location":"westus","kind":"no form","tags":"[t]"`, "InvalidRequestContent"},
		{"a", `,"location":"westus","kind":"[k]"`, ""},
		{"a", `,"location":"westus","kind":"no form","sku":{"name":"[s]"}`, ""},
		{"a", `,"location":"westus","kind":"no form","properties":{"of":"[p]"}`, "InvalidRequestContent"},
		{"there", `,"location":"[l]","kind":"no form"`, "InvalidRequestContent"},
		{"there", `,"location":"[l]"`, ""},
	} {
		body := plan(groupPath("g"), "", `{"apiVersion":"2024-01-01","name":"`+c.name+`",`+machineType+c.more+`}`)
		if c.refused == "" {
			s.validated(body)
		} else if got := s.refused(body); string(got[0].Code) != c.refused {
			t.Errorf("%s: %+v", c.more, got)
		}
	}
}
