package gateway_test

import (
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"portico/access/roles"
	"portico/arm"
	adminapi "portico/gateway/admin/api"
)

const (
	validateResources = "/providers/Microsoft.Resources/validateResources?api-version=2020-10-01"
	machineType       = `"type":"Contoso.Compute/virtualMachines"`
)

// plan is a call about resources at a scope.
func plan(scope, rest string, resources ...string) string {
	return fmt.Sprintf(`{"provider":"Contoso.Compute","type":"virtualMachines","scope":%q%s,"resources":[%s]}`, scope, rest, strings.Join(resources, ","))
}

// validated are the IDs of an answer to a plan that no one refuses.
func (s *site) validated(body string, header ...string) string {
	s.t.Helper()
	answer := decode[struct {
		Properties struct{ ValidatedResources []string }
	}](s.t, s.ok(200, "POST", validateResources, body, header...))
	return strings.Join(answer.Properties.ValidatedResources, " ")
}

// refused are the details of an answer to a plan that is refused.
func (s *site) refused(body string, header ...string) []arm.Error {
	s.t.Helper()
	return decode[struct{ Error arm.Error }](s.t, s.want(400, "ResourceValidationFailed", "POST", validateResources, body, header...)).Error.Details
}

// The forms that clients send are all read as the same PUT.
func TestFormsOfPlans(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	m := machinePath("g", "m")
	disk := s.machine("g", "there", "westus") + "/disks/d"
	for body, want := range map[string]string{
		plan(groupPath("g"), `,"location":"West US"`, `{"apiVersion":"2024-01-01","name":"m",`+machineType+`,"properties":{"size":"s"}}`):                          m,
		plan(groupPath("g"), ``, `{"apiVersion":"2024-01-01","name":"m",`+machineType+`,"properties":{"location":"westus","properties":{"size":"s"}}}`):            m,
		plan(groupPath("g"), ``, `{"apiVersion":"2024-01-01","name":"m",`+machineType+`,"location":"westus","properties":{"size":"s"}}`):                           m,
		plan(groupPath("g"), ``, `{"apiVersion":"2024-01-01","name":"m","location":"westus"}`):                                                                     m,
		plan(groupPath("g"), ``, `{"apiVersion":"2024-01-01","name":"m","type":"virtualMachines","location":"westus"}`):                                            m,
		plan(groupPath("g"), ``, `{"apiVersion":"2024-01-01","name":"there/d","type":"Contoso.Compute/virtualMachines/disks"}`):                                    disk,
		plan(machinePath("g", "there"), ``, `{"apiVersion":"2024-01-01","name":"d","type":"Contoso.Compute/virtualMachines/disks"}`):                               disk,
		plan(machinePath("g", "there"), ``, `{"apiVersion":"2024-01-01","name":"there/d","type":"Contoso.Compute/virtualMachines/disks"}`):                         disk,
		plan(groupPath("g"), ``, `{"apiVersion":"2024-01-01","name":"d","type":"Contoso.Compute/virtualMachines/disks"}`):                                          groupPath("g") + "/providers/Contoso.Compute/virtualMachines/disks/d",
		plan(groupPath("new"), `,"location":"eastus"`, `{"apiVersion":"2024-01-01","name":"m",`+machineType+`}`):                                                   machinePath("new", "m"),
		plan(groupPath("new"), `,"location":"eastus"`, `{"apiVersion":"2024-01-01","name":"x/d","type":"Contoso.Compute/virtualMachines/disks"}`):                  machinePath("new", "x") + "/disks/d",
		plan(machinePath("g", "there"), ``, `{"apiVersion":"2020-05-01","name":"keep","type":"Microsoft.Authorization/locks","properties":{"level":"ReadOnly"}}`):  machinePath("g", "there") + lockPlace + "/keep",
		plan(groupPath("g"), ``, `{"apiVersion":"2020-05-01","name":"there/keep","type":"Microsoft.Authorization/locks","properties":{"level":"ReadOnly"}}`):       groupPath("g") + lockPlace + "/there/keep",
		plan(inSubscription, `,"location":"westus"`, `{"apiVersion":"2022-12-01","name":"another","type":"Microsoft.Resources/resourceGroups"}`):                   groupPath("another"),
		plan(groupPath("g"), ``, `{"apiVersion":"2020-05-01","name":"keep","type":"Microsoft.Authorization/locks","properties":{"level":"CanNotDelete"}}`):         groupPath("g") + lockPlace + "/keep",
		plan(groupPath("g"), `,"location":"westus"`, `{"apiVersion":"2024-01-01","name":"m",`+machineType+`}`, `{"apiVersion":"2024-01-01","name":"n","tags":{}}`): m + " " + machinePath("g", "n"),
	} {
		if got := s.validated(body); got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
	if got := s.at("westus").requests(); len(got) != 1 {
		t.Errorf("the provider got %v", got)
	}
	if _, created := s.row(m); created || s.openWrites("g") != 0 {
		t.Error("something was recorded")
	}
}

// What the judge says of a plan, the PUT is answered with: code and text.
func TestJudgeAgreesWithThePut(t *testing.T) {
	s := newSite(t, setup{tokens: true, limits: "tagsPerResource: 3, resourcesPerTypeAndGroup: 40", roles: "owners: [{principalId: " + callers[secret].ObjectID + "}]"})
	ann := []string{"Authorization", bearer(secret)}
	for _, name := range []string{"g", "locked"} {
		s.ok(201, "PUT", groupPath(name)+own, westus, ann...)
	}
	s.ok(201, "PUT", machinePath("locked", "m1")+api, westus, ann...)
	s.ok(201, "PUT", groupPath("locked")+lockPlace+"/stay"+own, `{"properties":{"level":"ReadOnly"}}`, ann...)
	role := func(id, role, caller string) {
		s.ok(201, "PUT", groupPath("g")+"/providers/Microsoft.Authorization/roleAssignments/00000000-0000-0000-0000-0000000000"+id+"?api-version=2022-04-01",
			`{"properties":{"roleDefinitionId":"/providers/Microsoft.Authorization/roleDefinitions/`+role+`","principalId":"`+callers[caller].ObjectID+`"}}`, ann...)
	}
	role("f1", roles.Reader, second)

	random := rand.New(rand.NewPCG(11, 34))
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	outcomes := map[string]int{}
	for i := range 500 {
		typeName := pick("virtualMachines", "virtualMachines", "virtualMachines", "networkInterfaces", "planets", "virtualMachines/disks", "virtualMachines/runCommands")
		namespace := pick("Contoso.Compute", "Contoso.Compute", "Contoso.Compute", "contoso.compute", "Contoso.Insight", "Contoso.Nowhere")
		if namespace == "Contoso.Insight" {
			typeName = pick("workspaces", "profiles")
		}
		version := pick("2024-01-01", "2024-01-01", "2024-01-01", "2023-01-01", "2020-01-01", "", "yesterday")
		name := pick("m1", "m2", "m3", fmt.Sprint("n", i), fmt.Sprint("n", i), "m1.", "a%b", strings.Repeat("x", 300), "é", "login")
		path, leaf := "/providers/"+namespace+"/"+typeName+"/"+url.PathEscape(name), name
		if parent, child, nested := strings.Cut(typeName, "/"); nested {
			above := pick("m1", "m2", "none")
			path, leaf = "/providers/"+namespace+"/"+parent+"/"+above+"/"+child+"/"+url.PathEscape(name), above+"/"+name
		}
		var members []string
		if location := pick(`"westus"`, `"westus"`, `"East US"`, `"mars"`, `""`, `7`, `null`, ``); location != "" {
			members = append(members, `"location":`+location)
		}
		if tags := pick(``, ``, `{"a":"b"}`, `{"a":1}`, `{"a":"","b":"","c":"","d":""}`, `{"<x>":"y"}`); tags != "" {
			members = append(members, `"tags":`+tags)
		}
		members = append(members, `"properties":{"size":`+pick(`"small"`, `7`, `null`)+`}`, `"kind":"k"`)
		scope, token := groupPath(pick("g", "g", "g", "locked")), pick(secret, secret, secret, secret, secret, second, third, stranger)
		given := `{"apiVersion":"` + version + `","name":` + fmt.Sprintf("%q", leaf) + `,"type":"` + namespace + "/" + typeName + `",` + strings.Join(members, ",") + `}`

		judged := s.do("POST", validateResources, plan(scope, "", given), "Authorization", bearer(token))
		put := s.do("PUT", scope+path+"?api-version="+version, "{"+strings.Join(members, ",")+"}", "Authorization", bearer(token))

		var said, answered struct{ Error arm.Error }
		_ = json.Unmarshal([]byte(judged.text), &said)
		_ = json.Unmarshal([]byte(put.text), &answered)
		if said.Error.Code == "ResourceValidationFailed" {
			said.Error = said.Error.Details[0]
		}
		want := answered.Error
		if put.header.Get("X-Ms-Failure-Cause") == "service" {
			want = arm.Error{}
		}
		if want.Code == arm.ParentResourceNotFound { // it may be made yet
			want.Code, want.Message = "", said.Error.Message
			if scope == groupPath("locked") {
				want.Code = arm.ScopeLocked
			}
		}
		outcomes[string(want.Code)]++
		if said.Error.Code != want.Code || said.Error.Message != want.Message {
			t.Errorf("%s %s by %s: judged %s %s\nput %s %s", path, given, token, said.Error.Code, said.Error.Message, want.Code, want.Message)
		}
	}
	if t.Log(outcomes); len(outcomes) < 12 {
		t.Errorf("only these outcomes: %v", outcomes)
	}
}

// Of what does not exist yet, all else is judged; each resource as if those before it in
// the call had been made.
func TestPlansOfWhatIsNotThereYet(t *testing.T) {
	s := newSite(t, setup{})
	machine := func(name, location string) string {
		return `{"apiVersion":"2024-01-01","name":"` + name + `",` + machineType + `,"location":"` + location + `"}`
	}
	disk := func(name, more string) string {
		return `{"apiVersion":"2024-01-01","name":"` + name + `","type":"Contoso.Compute/virtualMachines/disks"` + more + `}`
	}
	for _, c := range []struct{ body, want string }{
		{plan(groupPath("new"), "", machine("m", "mars")), "LocationNotAvailableForResourceType " + machinePath("new", "m")},
		{plan(groupPath("new"), "", machine("m", "eastus"), disk("m/d", `,"location":"westus"`), disk("x/d", `,"location":"westus"`)), "LocationNotAvailableForResourceType " + machinePath("new", "m") + "/disks/d"},
		{plan(groupPath("new"), "", machine("m.", "westus"), machine("n", ""), machine("o", "westus")), "InvalidResourceName " + machinePath("new", "m.") + ", LocationRequired " + machinePath("new", "n")},
		{plan(groupPath("new"), "", `{"apiVersion":"2024-06-01-preview","name":"w","type":"Contoso.Insight/workspaces","location":"westus"}`), "MissingSubscriptionRegistration " + groupPath("new") + "/providers/Contoso.Insight/workspaces/w"},
		{plan(groupPath("new"), "", machine("m", "eastus"), machine("m", "westus")), ""},
	} {
		if c.want == "" {
			s.validated(c.body)
			continue
		}
		var got []string
		for _, d := range s.refused(c.body) {
			got = append(got, string(d.Code)+" "+d.Target)
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s: %v, want %s", c.body, got, c.want)
		}
	}
	s.ok(201, "PUT", inSubscription+lockPlace+"/stay"+own, `{"properties":{"level":"ReadOnly"}}`)
	for _, body := range []string{plan(groupPath("new"), "", machine("m", "westus")), plan(groupPath("new"), "", disk("x/d", "")), plan(groupPath("new"), "", disk("d", ""))} {
		if got := s.refused(body); got[0].Code != arm.ScopeLocked {
			t.Errorf("%s: %+v", body, got)
		}
	}
}

// A quota counts what comes before a resource in its call, each once, and not what exists.
func TestQuotasCountWhatIsPlanned(t *testing.T) {
	s := newSite(t, setup{limits: "resourcesPerTypeAndGroup: 3"})
	s.group("g")
	s.machine("g", "there", "westus")
	machine := func(name string) string {
		return `{"apiVersion":"2024-01-01","name":"` + name + `",` + machineType + `,"location":"westus"}`
	}
	s.validated(plan(groupPath("g"), "", machine("there"), machine("a"), machine("A"), machine("b")))
	got := s.refused(plan(groupPath("g"), "", machine("there"), machine("a"), machine("b"), machine("c"), machine("a"), machine("d")))
	if len(got) != 2 || got[0].Code != arm.ResourceQuotaExceeded || got[0].Target != machinePath("g", "c") || got[1].Target != machinePath("g", "d") || !strings.Contains(got[0].Message, "3") {
		t.Errorf("%+v", got)
	}
	s.machine("g", "a", "westus") // nothing of a plan was counted
	s.machine("g", "b", "westus")
}

// Where the index does not know a resource, no one is asked for it.
func TestPlansAskNoProvider(t *testing.T) {
	s := newSite(t, setup{uncovered: true})
	s.group("g")
	s.validated(plan(groupPath("g"), `,"location":"westus"`, `{"apiVersion":"2024-01-01","name":"m"}`))
	for _, region := range []string{"westus", "eastus"} {
		if got := s.at(region).requests(); len(got) > 0 {
			t.Errorf("%s got %v", region, got)
		}
	}
}

func TestBadPlans(t *testing.T) {
	s := newSite(t, setup{tokens: true})
	one := `{"apiVersion":"2024-01-01","name":"m","location":"westus"}`
	for _, c := range []struct {
		status         int
		code, body, as string
	}{
		{400, "InvalidRequestContent", ``, secret},
		{400, "InvalidRequestContent", `[]`, secret},
		{400, "InvalidRequestContent", `{"resources":[` + one + `]}`, secret},
		{400, "InvalidRequestContent", plan("/subscriptions/x?y", "", one), secret},
		{400, "InvalidRequestContent", plan(inSubscription+"/../x", "", one), secret},
		{400, "InvalidRequestContent", plan(groupPath("g"), ""), secret},
		{400, "InvalidRequestContent", `{"scope":"/subscriptions/` + subscription + `","resources":{}}`, secret},
		{400, "InvalidRequestContent", `{"scope":"/subscriptions/` + subscription + `"}`, secret},
		{400, "InvalidRequestContent", plan(groupPath("g"), "", one, `7`), secret},
		{400, "InvalidRequestContent", plan(groupPath("g"), "", `{"name":7}`), secret},
		{400, "InvalidRequestContent", plan(groupPath("g"), "", `{"apiVersion":"2024-01-01"}`), secret},
		{400, "InvalidRequestContent", plan(groupPath("g"), "", `{"name":"a/b","apiVersion":"2024-01-01"}`), secret},
		{400, "InvalidRequestContent", plan(machinePath("g", "m"), "", `{"name":"n/d","type":"Contoso.Compute/virtualMachines/disks","apiVersion":"2024-01-01"}`), secret},
		{400, "InvalidRequestContent", plan(groupPath("g"), "", strings.Repeat(one+",", 800)+one), secret},
		{404, "SubscriptionNotFound", plan(groupPath("g"), "", one), stranger},
		{404, "SubscriptionNotFound", plan("/subscriptions/00000000-0000-0000-0000-00000000dead", "", one), secret},
		{401, "InvalidAuthenticationToken", plan(groupPath("g"), "", one), "nobody's"},
	} {
		s.want(c.status, c.code, "POST", validateResources, c.body, "Authorization", bearer(c.as))
	}
	s.want(400, "MissingApiVersionParameter", "POST", strings.Split(validateResources, "?")[0], plan(groupPath("g"), "", one), "Authorization", bearer(secret))
}

// Who may not write learns nothing but that, or what it may read if it asks for that.
func TestRolesOfPlans(t *testing.T) {
	s := newSite(t, setup{tokens: true, roles: "owners: [{principalId: " + callers[secret].ObjectID + "}]"})
	ann, bob, carl := bearer(secret), bearer(second), bearer(third)
	s.ok(201, "PUT", groupPath("g")+own, westus, "Authorization", ann)
	s.ok(201, "PUT", groupPath("g")+"/providers/Microsoft.Authorization/roleAssignments/00000000-0000-0000-0000-0000000000f1?api-version=2022-04-01",
		`{"properties":{"roleDefinitionId":"/providers/Microsoft.Authorization/roleDefinitions/`+roles.Reader+`","principalId":"`+callers[second].ObjectID+`"}}`, "Authorization", ann)
	s.ok(201, "PUT", groupPath("g")+lockPlace+"/stay"+own, `{"properties":{"level":"ReadOnly"}}`, "Authorization", ann)
	one := `{"apiVersion":"2024-01-01","name":"m","location":"westus"}`
	events := func() int {
		return len(decode[struct{ Value []json.RawMessage }](t, s.request(200, "", "GET", "/admin/changes", "")).Value)
	}
	before := events()
	if got := s.refused(plan(groupPath("g"), "", one), "Authorization", ann); got[0].Code != arm.ScopeLocked {
		t.Errorf("%+v", got)
	}
	s.want(403, "AuthorizationFailed", "POST", validateResources, plan(groupPath("g"), "", one, one), "Authorization", bob)
	withoutWrite := plan(groupPath("g"), `,"performPreflightWithoutRbacWriteCheck":true`, one)
	if got := s.refused(withoutWrite, "Authorization", bob); got[0].Code != arm.ScopeLocked {
		t.Errorf("%+v", got)
	}
	s.want(404, "SubscriptionNotFound", "POST", validateResources, withoutWrite, "Authorization", carl)
	s.want(403, "AuthorizationFailed", "POST", validateResources, plan(groupPath("other"), `,"performPreflightWithoutRbacWriteCheck":true`, one), "Authorization", bob)
	if after := events(); before == 0 || after != before {
		t.Errorf("%d changes were %d", after, before)
	}
}

// A call costs reads of its subscription, one for each resource, as far as there are any.
func TestPlansAreCountedAsReads(t *testing.T) {
	s := newSite(t, setup{sections: "throttle: {reads: {bucket: 10, perSecond: 1}, writes: {bucket: 3, perSecond: 1}, deletes: {bucket: 1, perSecond: 1}}"})
	left := func(a seen) string {
		return a.header.Get("X-Ms-Ratelimit-Remaining-Subscription-Reads") + "/" + a.header.Get("X-Ms-Ratelimit-Remaining-Tenant-Writes")
	}
	one := `{"apiVersion":"2024-01-01","name":"m","location":"westus"}`
	for i, want := range []string{"6/", "0/"} {
		body := plan(groupPath("g"), "", strings.Repeat(one+",", 3+20*i)+one)
		if got := left(s.ok(200, "POST", validateResources, body)); got != want {
			t.Errorf("%s is left, want %s", got, want)
		}
	}
	s.want(429, "SubscriptionRequestsThrottled", "POST", validateResources, plan(groupPath("g"), "", one))
	s.want(400, "InvalidRequestContent", "POST", validateResources, "{}")
}

// withShape are declarations whose machines have a document.
func withShape(t *testing.T, s *site, validation string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "compute.json")
	must(t, os.WriteFile(file, []byte(`{"swagger": "2.0", "info": {"version": "2024-01-01"},
		"paths": {"/subscriptions/{s}/resourceGroups/{g}/providers/Contoso.Compute/virtualMachines/{n}": {"put": {"parameters": [{"name": "body", "in": "body", "schema": {"$ref": "#/definitions/Machine"}}]}}},
		"definitions": {"Machine": {"required": ["location", "properties"], "properties": {"properties": {"required": ["size"], "properties": {"size": {"type": "string", "enum": ["small", "large"]}, "cores": {"type": "integer", "maximum": 8}}}}}}}`), 0o600))
	var endpoints []string
	for region, e := range s.providers {
		endpoints = append(endpoints, fmt.Sprintf("%s: [%q]", region, e.server.URL))
	}
	return strings.Replace(fmt.Sprintf(declarations, strings.Join(endpoints, ", ")), "    registration: automatic\n",
		fmt.Sprintf("    registration: automatic\n    spec: [%q]\n    validation: %s\n", file, validation), 1)
}

// Bodies are held to the provider's documents as the map says, behind the gateway's own
// checks.
func TestShapesOfBodies(t *testing.T) {
	providers := newSite(t, setup{})
	const sizes = "The request content was invalid and could not be deserialized: 'one of 'small', 'large' must stand here. Path 'properties.size''."
	for _, validation := range []string{"preflight", "write", "off"} {
		s := newSite(t, setup{beside: providers, types: withShape(t, providers, validation)})
		s.group("g")
		good, bad := `{"location":"westus","properties":{"size":"small","more":1}}`, `{"location":"westus","properties":{"size":"tiny"}}`
		given := func(name, body string) string {
			return plan(groupPath("g"), "", `{"apiVersion":"2024-01-01","name":"`+name+`","properties":`+body+`}`)
		}
		s.validated(given("m", good))
		s.validated(given("m", `{"location":"westus","properties":{"size":"[reference('x')]"}}`))
		s.validated(given("m", `{"location":"[reference('x').location]","properties":"[reference('x').properties]"}`))
		s.validated(plan(groupPath("g"), "", `{"apiVersion":"2023-01-01","name":"m","properties":`+bad+`}`))
		if validation == "off" {
			s.validated(given("m", bad))
		} else if got := s.refused(given("m", bad)); got[0].Code != arm.InvalidRequestContent || got[0].Message != sizes {
			t.Errorf("%s: %+v", validation, got)
		}
		name := machinePath("g", validation) // the providers are shared
		s.ok(201, "PUT", name+api, good)
		if validation != "write" {
			s.ok(200, "PUT", name+api, bad)
			continue
		}
		s.want(400, "InvalidRequestContent", "PUT", name+api, bad).says(t, sizes)
		s.want(400, "InvalidRequestContent", "PUT", name+api, `{"location":"westus","properties":{"size":"[reference('x')]"}}`)
		s.says(adminapi.Question{Method: "PUT", Path: name + api, Content: bad}, adminapi.Refused, "shape", "row", "400 InvalidRequestContent")
		s.want(409, "InvalidResourceLocation", "PUT", name+api, strings.Replace(bad, "westus", "eastus", 1))
		s.ok(200, "PATCH", name+api, `{"properties":{"size":"tiny"}}`)
		if n := s.openWrites("g"); n != 0 {
			t.Errorf("%d intents", n)
		}
		if got := s.refused(plan(groupPath("new"), "", `{"apiVersion":"2024-01-01","name":"m","location":"westus","properties":{"size":"small","cores":9}}`)); got[0].Code != arm.InvalidRequestContent || !strings.Contains(got[0].Message, "it must be at most 8. Path 'properties.cores'") {
			t.Errorf("%+v", got)
		}
	}
}

// judgingPlans are declarations whose machines' providers judge plans. Providers are the
// addresses of regions, in place of the site's.
func judgingPlans(s *site, providers ...string) string {
	for region, e := range s.providers {
		providers = append(providers, fmt.Sprintf("%s: [%q]", region, e.server.URL))
	}
	seen := map[string]bool{}
	providers = slices.DeleteFunc(providers, func(p string) bool {
		region, _, _ := strings.Cut(p, ":")
		was := seen[region]
		seen[region] = true
		return was
	})
	return strings.NewReplacer("tags: true, etags: true}", "tags: true, etags: true, preflight: true}", "capabilities: {tags: false}", "capabilities: {tags: false, preflight: true}").
		Replace(fmt.Sprintf(declarations, strings.Join(providers, ", ")))
}

// The provider has the last word, in its own words, and is not asked about what the gateway
// refuses.
func TestProvidersJudgePlans(t *testing.T) {
	providers := newSite(t, setup{})
	s := newSite(t, setup{beside: providers, types: judgingPlans(providers)})
	s.group("g")
	m := s.machine("g", "there", "eastus")
	locked := s.machine("g", "locked", "eastus")
	s.ok(201, "PUT", locked+lockPlace+"/stay"+own, `{"properties":{"level":"ReadOnly"}}`)
	s.at("eastus").requests()
	s.at("westus").requests()
	body := plan(groupPath("g"), "",
		`{"apiVersion":"2024-01-01","name":"a","location":"West US","kind":"no form"}`,
		`{"apiVersion":"2024-01-01","name":"b","location":"mars"}`,
		`{"apiVersion":"2024-01-01","name":"there/d","type":"Contoso.Compute/virtualMachines/disks","kind":"no form"}`,
		`{"apiVersion":"2024-01-01","name":"c","location":"westus"}`,
		`{"apiVersion":"2024-01-01","name":"locked","location":"eastus","kind":"no form"}`,
		`{"apiVersion":"2024-01-01","name":"n","type":"networkInterfaces","location":"westus","kind":"no form"}`)
	got := s.want(400, "ResourceValidationFailed", "POST", validateResources, body, "X-Ms-Client-Request-Id", "mine", "Accept-Language", "de")
	var details []string
	for _, d := range decode[struct{ Error arm.Error }](t, got).Error.Details {
		details = append(details, string(d.Code)+" "+d.Target)
	}
	if want := "InvalidRequestContent " + machinePath("g", "a") + ", LocationNotAvailableForResourceType " + machinePath("g", "b") + ", InvalidRequestContent " + m + "/disks/d, ScopeLocked " + locked; strings.Join(details, ", ") != want {
		t.Errorf("%v, want %s", details, want)
	}
	if got.header.Get("X-Ms-Failure-Cause") != "gateway" {
		t.Error(got.header)
	}
	west, east := s.at("westus").requests(), s.at("eastus").requests()
	if len(west) != 2 || len(east) != 1 {
		t.Fatalf("%v, %v", west, east)
	}
	request := east[0]
	if request.Method != "POST" || !strings.HasPrefix(request.Path, groupPath("g")+"/providers/Contoso.Compute/deployments/") || !strings.HasSuffix(request.Path, "/preflight") || request.Query != "api-version=2020-10-01" {
		t.Errorf("%+v", request)
	}
	if h := request.Headers; h.Get("X-Ms-Home-Tenant-Id") == "" && h.Get("X-Ms-Client-Tenant-Id") == "" || h.Get("X-Ms-Correlation-Request-Id") != got.header.Get("X-Ms-Correlation-Request-Id") ||
		h.Get("X-Ms-Client-Request-Id") != "mine" || h.Get("Accept-Language") != "de" || !strings.HasPrefix(h.Get("Referer"), "http://portico.example/subscriptions/") {
		t.Errorf("%v", h)
	}
	got = s.want(400, "ResourceValidationFailed", "POST", validateResources, plan(groupPath("g"), "", `{"apiVersion":"2024-01-01","name":"a","location":"westus","kind":"no form"}`))
	if got.header.Get("X-Ms-Failure-Cause") != "service" {
		t.Error(got.header)
	}
}

// A provider that says anything but a clear no, or says it late, refuses nothing.
func TestProvidersThatDoNotJudge(t *testing.T) {
	providers := newSite(t, setup{})
	ended := make(chan struct{})
	var answers atomic.Pointer[http.HandlerFunc]
	odd := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*answers.Load())(w, r) }))
	t.Cleanup(odd.Close)
	s := newSite(t, setup{beside: providers, types: judgingPlans(providers, fmt.Sprintf("westus: [%q]", odd.URL)), sections: "preflight: {timeout: 300ms}"})
	body := plan(groupPath("g"), "", `{"apiVersion":"2024-01-01","name":"a","location":"westus"}`, `{"apiVersion":"2024-01-01","name":"b","location":"eastus"}`)
	says := func(status int, contentType, text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", contentType)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, text)
		}
	}
	const no = `{"status":"Failed","error":{"code":"NoRoom","message":"There is no room.","details":[{"code":"Inner","message":"x"}]}}`
	for name, answer := range map[string]http.HandlerFunc{
		"HTML":      says(200, "text/html", "<html>"),
		"an error":  says(400, "application/json", no),
		"a failure": says(500, "application/json", no),
		"a redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		},
		"no error":   says(200, "application/json", `{"status":"Failed"}`),
		"no code":    says(200, "application/json", `{"status":"Failed","error":{}}`),
		"not failed": says(200, "application/json", `{"status":"Succeeded","error":{"code":"NoRoom","message":"x"}}`),
		"a list":     says(200, "application/json", `[]`),
		"too much":   says(200, "application/json", strings.TrimSuffix(no, "}")+`,"more":"`+strings.Repeat("x", 1<<20)+`"}`),
		"an endless answer": func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				if _, err := io.WriteString(w, strings.Repeat(" ", 64<<10)); err != nil {
					return
				}
			}
		},
		"silence": func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-r.Context().Done():
			case <-ended:
			}
		},
		"a broken answer": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, no)
		},
	} {
		answers.Store(&answer)
		if got := s.validated(body); got != machinePath("g", "a")+" "+machinePath("g", "b") {
			t.Errorf("%s: %s", name, got)
		}
	}
	close(ended)
	clearly := says(200, "application/json", no)
	answers.Store(&clearly)
	got := s.refused(body)
	if len(got) != 1 || got[0].Code != "NoRoom" || got[0].Message != "There is no room." || got[0].Target != machinePath("g", "a") || len(got[0].Details) != 1 || got[0].Details[0].Code != "Inner" {
		t.Errorf("%+v", got)
	}
}

// An explanation of a PUT shows the judges in their order, the provider's word only where it
// is asked for.
func TestExplainShowsJudges(t *testing.T) {
	providers := newSite(t, setup{})
	types := strings.Replace(withShape(t, providers, "preflight"), "tags: true, etags: true}", "tags: true, etags: true, preflight: true}", 1)
	s := newSite(t, setup{beside: providers, types: types})
	s.group("g")
	for _, c := range []struct {
		location, more, want string
		ask                  bool
	}{
		{"mars", `"properties":{"size":"small"}`, "gateway refuses", true},
		{"westus", `"properties":{"size":"tiny"}`, "gateway accepts, shape refuses", true},
		{"westus", `"properties":{"size":"small"}`, "gateway accepts, shape accepts, provider notAsked", false},
		{"westus", `"properties":{"size":"small"}`, "gateway accepts, shape accepts, provider accepts", true},
		{"westus", `"properties":{"size":"small"},"kind":"no form"`, "gateway accepts, shape accepts, provider refuses", true},
	} {
		var got []string
		for _, j := range s.explained(adminapi.Question{Method: "PUT", Path: machinePath("g", "m") + api, Content: `{"location":"` + c.location + `",` + c.more + `}`, Ask: c.ask}).Judges {
			got = append(got, j.Judge+" "+j.Verdict)
		}
		if strings.Join(got, ", ") != c.want {
			t.Errorf("%s %s: %v, want %s", c.location, c.more, got, c.want)
		}
	}
	if judges := s.explained(adminapi.Question{Method: "PUT", Path: machinePath("g", "m") + api}).Judges; len(judges) > 0 {
		t.Errorf("without content: %v", judges)
	}
	for _, r := range s.at("westus").requests() {
		if !strings.HasSuffix(r.Path, "/preflight") {
			t.Errorf("the provider got %s %s", r.Method, r.Path)
		}
	}
}

// An extension that is named by what it extends, without the type of that, is judged by all
// that does not depend on its parent.
func TestPlansOfExtensionsOfUnknownTypes(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	s.machine("g", "there", "westus")
	s.work()
	s.ok(200, "POST", inSubscription+"/providers/Contoso.Insight/register"+own, "")
	reader := "/providers/Microsoft.Authorization/roleDefinitions/" + roles.Reader
	assigned := `{"properties":{"roleDefinitionId":"` + reader + `","principalId":"00000000-0000-0000-0000-0000000000b1"}}`
	s.ok(201, "PUT", groupPath("g")+"/providers/Microsoft.Authorization/roleAssignments/00000000-0000-0000-0000-0000000000a1?api-version=2022-04-01", assigned)
	of := func(typ, version, name, more string) string {
		return plan(groupPath("g"), "", `{"apiVersion":"`+version+`","name":"`+name+`","type":"`+typ+`"`+more+`}`)
	}
	assignment := `,"properties":{"roleDefinitionId":"` + reader + `","principalId":"00000000-0000-0000-0000-0000000000b1"}`
	for body, want := range map[string]string{
		of("Microsoft.Authorization/locks", "2020-05-01", "there/keep", `,"properties":{"level":"ReadOnly"}`):                                            "locks/there/keep",
		of("Microsoft.Authorization/locks", "2020-05-01", "new/disk/keep", `,"properties":{"level":"ReadOnly"}`):                                         "locks/new/disk/keep",
		of("Microsoft.Authorization/roleAssignments", "2022-04-01", "there/00000000-0000-0000-0000-0000000000a2", assignment):                            "roleAssignments/there/00000000-0000-0000-0000-0000000000a2",
		of("Microsoft.Resources/tags", "2021-04-01", "there/default", `,"properties":{"tags":{"a":"b"}}`):                                                "tags/there/default",
		of("Contoso.Insight/diagnosticSettings", "2024-01-01", "there/d", `,"properties":{}`):                                                            "diagnosticSettings/there/d",
		of("Contoso.Insight/annotations", "2024-01-01", "there/a", ``):                                                                                   "annotations/there/a",
		plan(inSubscription, "", `{"apiVersion":"2020-05-01","name":"g/keep","type":"Microsoft.Authorization/locks","properties":{"level":"ReadOnly"}}`): "locks/g/keep",
	} {
		if got := s.validated(body); !strings.HasSuffix(got, "/"+want) {
			t.Errorf("%s: %s", body, got)
		}
	}
	for body, want := range map[string]string{
		of("Microsoft.Authorization/locks", "2020-05-01", "there/keep", `,"properties":{"level":"Odd"}`):    "InvalidRequestContent",
		of("Microsoft.Authorization/locks", "2020-05-01", "there/k<", `,"properties":{"level":"ReadOnly"}`): "InvalidResourceName",
		of("Contoso.Insight/diagnosticSettings", "1999-01-01", "there/d", ``):                               "NoRegisteredProviderFound",
		of("Contoso.Nothing/settings", "2024-01-01", "there/d", ``):                                         "InvalidResourceNamespace",
	} {
		if got := s.refused(body); len(got) != 1 || string(got[0].Code) != want || !strings.Contains(got[0].Target, "/there/") {
			t.Errorf("%s: %+v, want %s", body, got, want)
		}
	}
	s.want(400, "InvalidRequestContent", "POST", validateResources, of("Microsoft.Resources/deployments", "2021-04-01", "there/d", ``))
	s.ok(201, "PUT", groupPath("g")+lockPlace+"/stay"+own, `{"properties":{"level":"ReadOnly"}}`)
	for _, typ := range []string{"diagnosticSettings", "annotations"} {
		if got := s.refused(of("Contoso.Insight/"+typ, "2024-01-01", "there/d", ``)); len(got) != 1 || got[0].Code != arm.ScopeLocked {
			t.Errorf("%s: %+v", typ, got)
		}
	}
}
