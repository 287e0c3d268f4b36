package gateway_test

import (
	"strings"
	"testing"

	"portico/gateway/polling"
)

const (
	tenantPlans   = "/providers/Contoso.Script/plans/"
	tenantResults = "/providers/Contoso.Script/locations/global/operationResults/"
)

// auth is the header of a caller.
func auth(token string) []string { return []string{"Authorization", bearer(token)} }

// Operations of calls that concern a tenant are guarded like any other: their
// URLs lead to the front door, and exist for who began them alone.
func TestOperationsOfTheTenant(t *testing.T) {
	p := newScripted(t, setup{tokens: true})
	plan := tenantPlans + "p"
	for i, call := range []struct{ method, target, body string }{
		{"PUT", plan + api, `{}`}, {"PATCH", plan + api, `{}`}, {"DELETE", plan + api, ""}, {"POST", plan + "/renew" + api, ""},
		{"POST", "/providers/Contoso.Script/audit" + api, ""},
	} {
		name := string(rune('a' + i))
		result, hidden := "/providers/Contoso.Script/operationResults/"+name+"?t=1", "/internal/status/"+name
		p.say(call.method+" "+call.target, 202, "", "Location", p.at+result, "Azure-Asyncoperation", "https://evil.example"+hidden)
		p.say("GET "+result, 202, "", "Location", p.at+result, "Azure-Asyncoperation", "https://evil.example/other")
		p.say("GET "+hidden, 200, `{"status":"Succeeded"}`)
		got := p.ok(202, call.method, call.target, call.body, auth(secret)...)
		if location := p.local(got.header.Get("Location")); location != result {
			t.Errorf("%s: Location %s", call.method, location)
		}
		status := p.local(got.header.Get("Azure-Asyncoperation"))
		if !strings.HasPrefix(status, strings.Replace(tenantResults, polling.Results, polling.Statuses, 1)[:len(tenantResults)-len("operationResults/")]) {
			t.Errorf("%s: Azure-AsyncOperation %s", call.method, status)
		}
		for poll, requested := range map[string]string{result: result, status: hidden} {
			p.reached("")
			for _, other := range []string{second, stranger} {
				p.want(404, "HttpResourceNotFound", "GET", poll, "", auth(other)...)
			}
			if p.reached("GET " + requested) {
				t.Errorf("%s: another caller's poll reached the provider", call.method)
			}
			p.do("GET", poll, "", auth(secret)...)
			if !p.reached("GET " + requested) {
				t.Errorf("%s: %s did not ask for %s", call.method, poll, requested)
			}
		}
		if got := p.ok(202, "GET", result, "", auth(secret)...); got.header.Get("Azure-Asyncoperation") != "" || p.local(got.header.Get("Location")) != result {
			t.Errorf("%s: a poll leads to %v", call.method, got.header)
		}
	}
}

// One that names nothing is stood in for, and ends by its resource; that of an
// action no one can tell.
func TestOperationsOfTheTenantThatNameNothing(t *testing.T) {
	p := newScripted(t, setup{})
	plan := tenantPlans + "p"
	p.say("DELETE "+plan+api, 202, "")
	p.say("POST "+plan+"/renew"+api, 202, "")
	p.say("GET "+plan+api, 200, `{"properties":{"provisioningState":"Deleting"}}`)
	removed := p.ok(202, "DELETE", plan+api, "")
	result, status := p.local(removed.header.Get("Location")), p.local(removed.header.Get("Azure-Asyncoperation"))
	if !strings.HasPrefix(strings.ToLower(result), strings.ToLower(tenantResults)) || removed.header.Get("Retry-After") != "15" {
		t.Errorf("%v", removed.header)
	}
	p.ok(202, "GET", result, "")
	if word, _ := p.status(status); word != "InProgress" {
		t.Errorf("the status is %s", word)
	}
	p.say("GET "+plan+api, 404, "")
	p.ok(204, "GET", result, "")
	if word, _ := p.status(status); word != "Succeeded" {
		t.Errorf("the status is %s", word)
	}
	acted := p.ok(202, "POST", plan+"/renew"+api, "")
	p.want(501, "InternalServerError", "GET", p.local(acted.header.Get("Location")), "")
}
