package gateway_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"portico/access/roles"
	adminapi "portico/gateway/admin/api"
	"portico/inventory"
)

// explained asks the admin listener.
func (s *site) explained(q adminapi.Question) adminapi.Explanation {
	s.t.Helper()
	body, err := json.Marshal(q)
	must(s.t, err)
	return decode[adminapi.Explanation](s.t, s.request(200, "", "POST", "/admin/explain", string(body)))
}

// says explains a request and compares the verdict, the last step and where it goes.
func (s *site) says(q adminapi.Question, outcome, step, source, summary string) adminapi.Explanation {
	s.t.Helper()
	e := s.explained(q)
	got := ""
	if e.Place != nil {
		got = e.Place.Source
	}
	if e.Verdict.Outcome != outcome || e.Verdict.Step != step || got != source || !strings.Contains(e.Verdict.Summary, summary) {
		s.t.Errorf("%s %s: %s at %q by %q: %s\nwant %s at %q by %q: %s", q.Method, q.Path, e.Verdict.Outcome, e.Verdict.Step, got, e.Verdict.Summary, outcome, step, source, summary)
	}
	return e
}

// detailOf is what a step found.
func detailOf(e adminapi.Explanation, step string) string {
	for _, check := range e.Checks {
		if check.Step == step {
			return check.Detail
		}
	}
	return ""
}

// What comes of it that a question has no content is said to be that.
func TestExplainWithoutContent(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	m := s.machine("g", "m", "westus")
	for _, c := range []struct{ method, path, outcome, step, source string }{
		{"PUT", machinePath("g", "new") + api, adminapi.Refused, "place", ""},
		{"PUT", m + api, adminapi.Refused, "place", ""},
		{"PUT", groupPath("new") + own, adminapi.Refused, "handler", ""},
		{"PUT", groupPath("g") + lockPlace + "/l" + own, adminapi.Refused, "handler", ""},
		{"POST", groupPath("g") + "/moveResources" + own, adminapi.Refused, "handler", ""},
		{"PATCH", m + api, adminapi.Forwarded, "", "row"},
	} {
		e := s.says(adminapi.Question{Method: c.method, Path: c.path}, c.outcome, c.step, c.source, "o content was given (--content FILE gives it)")
		if c.outcome == adminapi.Refused && !strings.HasPrefix(e.Verdict.Summary, "no content was given") {
			t.Errorf("%s %s: %s", c.method, c.path, e.Verdict.Summary)
		}
	}
	for _, of := range []string{"GET " + m, "DELETE " + m, "POST " + m + "/restart"} {
		method, path, _ := strings.Cut(of, " ")
		if e := s.explained(adminapi.Question{Method: method, Path: path + api}); strings.Contains(e.Verdict.Summary, "content") {
			t.Errorf("%s: %s", of, e.Verdict.Summary)
		}
	}
}

// An explanation names the step that ends the way of a request, what it goes by, and what
// is known.
func TestExplain(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	m := s.machine("g", "m", "westus")
	put := func(path, content string) adminapi.Question {
		return adminapi.Question{Method: "PUT", Path: path, Content: content}
	}
	s.at("westus").requests()

	s.says(put(machinePath("g", "new")+api, eastus), adminapi.Forwarded, "", "content", "goes to Contoso.Compute in eastus at "+s.at("eastus").server.URL)
	s.says(put(m+api, westus), adminapi.Forwarded, "", "row", "in westus at "+s.at("westus").server.URL+": the index row says so")
	s.says(put(m+api, eastus), adminapi.Refused, "intent", "row", "409 InvalidResourceLocation")
	s.says(put(machinePath("g", "new")+api, "{}"), adminapi.Refused, "place", "", "400 LocationRequired")
	s.says(put(machinePath("g", "new")+"?api-version=2020-01-01", westus), adminapi.Refused, "arguments", "", "NoRegisteredProviderFound")
	s.says(put(machinePath("none", "new")+api, westus), adminapi.Refused, "place", "", "404 ResourceGroupNotFound")
	s.says(put(groupPath("g")+"/providers/Contoso.Compute/planets/p"+api, westus), adminapi.Refused, "arguments", "", "404 InvalidResourceType")
	s.says(put(groupPath("g")+"/providers/Contoso.Insight/workspaces/w?api-version=2024-06-01-preview", westus), adminapi.Refused, "place", "", "409 MissingSubscriptionRegistration")
	s.says(put(groupPath("new")+own, westus), adminapi.Answered, "", "", "201")
	s.says(put(groupPath("g")+own, westus), adminapi.Answered, "", "", "200")
	s.says(adminapi.Question{Method: "delete", Path: machinePath("g", "none") + api}, adminapi.Answered, "", "", "204: there is nothing to delete")
	deployment := groupPath("g") + "/providers/Microsoft.Resources/deployments/d" + own
	s.says(put(deployment, deploymentOf("Complete", "", machineIn("a", `, "location": "westus"`))), adminapi.Answered, "", "", "201")
	s.says(put(deployment, deploymentOf("Complete", "", machineIn("a", `, "location": "nowhere"`))), adminapi.Refused, "handler", "", "400 InvalidTemplateDeployment")
	s.says(adminapi.Question{Method: "POST", Path: groupPath("g") + "/exportTemplate" + own}, adminapi.Refused, "classification", "", "400 ResourceTypeNotSupported")
	s.says(adminapi.Question{Method: "GET", Path: groupPath("g") + "%2f.."}, adminapi.Refused, "classification", "", "400 InvalidRequestUri")

	must(t, s.store.Drains.Put(t.Context(), inventory.Drain{Place: "eastus", Reason: "rack move", Until: s.store.Now().Add(time.Hour)}))
	drained := s.says(put(machinePath("g", "new")+api, eastus), adminapi.Refused, "place", "content", "503 LocationUnderMaintenance")
	if drained.Verdict.RetryAfter != "60" || !strings.Contains(drained.Verdict.Message, "rack move") {
		t.Errorf("%+v", drained.Verdict)
	}
	s.says(put(deployment, deploymentOf("Complete", "", machineIn("a", `, "location": "eastus"`))), adminapi.Answered, "", "", "201")
	must(t, s.store.Drains.End(t.Context(), "eastus"))

	list := s.says(adminapi.Question{Method: "GET", Path: inSubscription + "/providers/Contoso.Compute/virtualMachines" + api}, adminapi.Forwarded, "", "coverage", "merged from the answers of Contoso.Compute in westus")
	if len(list.Calls) != 1 || list.Calls[0].Purpose != adminapi.List || list.Calls[0].Region != "westus" {
		t.Errorf("%+v", list.Calls)
	}
	e := s.says(adminapi.Question{Path: m}, adminapi.Forwarded, "", "row", "in westus")
	if e.Request.APIVersion != "2024-06-01-preview" || e.Known == nil || e.Known.Row == nil || e.Known.Row.Region != "westus" {
		t.Errorf("%+v, known %+v", e.Request, e.Known)
	}
	s.ok(200, "GET", m+api, "")
	s.says(adminapi.Question{Method: "GET", Path: m + api}, adminapi.Forwarded, "", "cache", "in memory")
	if got := s.at("westus").requests(); len(got) != 1 {
		t.Errorf("the provider got %v", got)
	}

	s.ok(201, "PUT", groupPath("g")+lockPlace+"/keep"+own, canNotDelete)
	e = s.says(adminapi.Question{Method: "DELETE", Path: m + api}, adminapi.Refused, "intent", "row", "409 ScopeLocked")
	if len(e.Locks) != 1 || e.Locks[0].Name != "keep" || e.Locks[0].Level != "CanNotDelete" {
		t.Errorf("%+v", e.Locks)
	}
	s.says(adminapi.Question{Method: "DELETE", Path: groupPath("g") + own}, adminapi.Refused, "locks", "", "409 ScopeLocked")
	s.ok(200, "DELETE", groupPath("g")+lockPlace+"/keep"+own, "")

	s.says(adminapi.Question{Method: "DELETE", Path: groupPath("g") + own}, adminapi.Answered, "", "", "202")
	s.ok(202, "DELETE", groupPath("g")+own, "")
	s.says(put(machinePath("g", "new")+api, westus), adminapi.Refused, "place", "", "409 ResourceGroupBeingDeleted")
	for _, q := range []string{"", `{"path":"x"}`, `{"path":"/a b"}`, `{"path":"/subscriptions","principal":"me"}`, `{"path":"/subscriptions","principal":"` + callers[secret].ObjectID + `"}`} {
		s.request(400, "InvalidRequestContent", "POST", "/admin/explain", q)
	}
}

// A caller is taken to have the roles that the store has of it. Without one, no one is
// asked for roles.
func TestExplainRoles(t *testing.T) {
	s := newSite(t, setup{tokens: true, roles: "owners: [{principalId: " + callers[secret].ObjectID + "}]"})
	ann := []string{"Authorization", bearer(secret)}
	s.ok(201, "PUT", groupPath("g")+own, westus, ann...)
	m := machinePath("g", "m")
	s.ok(201, "PUT", m+api, westus, ann...)
	ask := func(method string, who string) adminapi.Question {
		return adminapi.Question{Method: method, Path: m + api, Principal: who}
	}
	if e := s.says(ask("GET", callers[secret].ObjectID), adminapi.Forwarded, "", "row", ""); !strings.Contains(detailOf(e, "roles"), "auth.owners") {
		t.Errorf("%+v", e.Checks)
	}
	e := s.says(ask("GET", callers[second].ObjectID), adminapi.Refused, "roles", "", "404 SubscriptionNotFound")
	if why := e.Checks[len(e.Checks)-1].Detail; !strings.HasSuffix(why, "The caller's roles there: none.") || !strings.Contains(why, "Reader") {
		t.Error(why)
	}
	s.ok(201, "PUT", groupPath("g")+"/providers/Microsoft.Authorization/roleAssignments/00000000-0000-0000-0000-0000000000f1?api-version=2022-04-01",
		`{"properties":{"roleDefinitionId":"/providers/Microsoft.Authorization/roleDefinitions/`+roles.Reader+`","principalId":"`+callers[second].ObjectID+`"}}`, ann...)
	e = s.says(ask("GET", callers[second].ObjectID), adminapi.Forwarded, "", "cache", "")
	if !strings.Contains(detailOf(e, "roles"), "allowed by the role 'Reader' at "+strings.ToLower(groupPath("g"))) || e.Caller.TenantID != tenant {
		t.Errorf("%+v", e)
	}
	e = s.says(ask("DELETE", callers[second].ObjectID), adminapi.Refused, "roles", "", "403 AuthorizationFailed")
	if !strings.Contains(e.Verdict.Summary, "Contoso.Compute/virtualMachines/delete") {
		t.Error(e.Verdict.Summary)
	}
	if why := e.Checks[len(e.Checks)-1].Detail; !strings.HasSuffix(why, " Built-in roles that allow Contoso.Compute/virtualMachines/delete: Owner, Contributor. The caller's roles there: Reader at "+strings.ToLower(groupPath("g"))+".") {
		t.Error(why)
	}
	if e := s.says(ask("DELETE", ""), adminapi.Forwarded, "", "row", ""); e.Caller.Roles != adminapi.RolesSkipped {
		t.Errorf("%+v", e.Caller)
	}
}

// Where the index does not know of a resource, an explanation names the regions that a
// request would ask, and asks them if it is told to.
func TestExplainSearch(t *testing.T) {
	s := newSite(t, setup{uncovered: true})
	s.group("g")
	m := machinePath("g", "m")
	s.at("eastus").do("PUT", m+api, eastus, 201)
	for _, e := range s.providers {
		e.requests()
	}
	q := adminapi.Question{Method: "GET", Path: m + api}
	e := s.says(q, adminapi.Open, "place", "", "not known before eastus, westus are asked")
	if len(e.Calls) != 2 || e.Calls[0].Purpose != adminapi.Search || e.Calls[0].Sent {
		t.Errorf("%+v", e.Calls)
	}
	if n := s.calls(); n != 0 {
		t.Errorf("%d calls", n)
	}
	q.Ask = true
	e = s.says(q, adminapi.Forwarded, "", "row", "in eastus")
	if len(e.Calls) != 3 || !e.Calls[0].Sent || e.Calls[2].Purpose != adminapi.Forward || e.Calls[2].Sent {
		t.Errorf("%+v", e.Calls)
	}
	if _, known := s.row(m); !known {
		t.Error("what the providers said was not recorded")
	}
}

// A write of an ID that a lost write may still reach is refused, and so is its
// explanation.
func TestExplainOpenWrite(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	m := s.machine("g", "m", "westus")
	s.want(502, "BadGatewayConnection", "DELETE", m+api, "", "x-contoso-fault", "reset-after")
	e := s.says(adminapi.Question{Method: "GET", Path: m + api}, adminapi.Forwarded, "", "row", "in westus")
	if e.Known == nil || len(e.Known.Waiting) == 0 || e.Known.Waiting[0].Until == nil || !e.Place.Verify {
		t.Errorf("place %+v, known %+v", e.Place, e.Known)
	}
	got := s.explained(adminapi.Question{Method: "PUT", Path: m + api, Content: eastus}).Verdict
	if got.Outcome != adminapi.Open || !strings.Contains(got.Summary, "westus is asked") {
		t.Errorf("%+v", got)
	}
}

// Secrets are named, and not shown.
func TestExplainShowsNoSecret(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	q := adminapi.Question{Method: "PUT", Path: machinePath("g", "m") + api, Content: `{"location":"westus","properties":{"p":"mine"}}`, Header: map[string]string{
		"Authorization": "Bearer mine", "Cookie": "mine", "If-Match": `"mine"`, "X-Ms-Client-Principal-Name": "mine",
	}}
	e := s.explained(q)
	text, err := json.Marshal(e)
	must(t, err)
	if strings.Contains(string(text), "mine") || strings.Contains(s.log.String(), "mine") {
		t.Errorf("%s", text)
	}
	named := map[string]string{}
	for _, h := range e.Calls[0].Headers {
		named[h.Name] = h.Origin
	}
	if named["If-Match"] != adminapi.OfClient || named["Authorization"] != "" || named["X-Ms-Client-Principal-Name"] != adminapi.OfOwn {
		t.Errorf("%v", named)
	}
}
