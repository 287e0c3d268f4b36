package gateway_test

import (
	"strings"
	"testing"
)

// A client that knows Location alone can wait for an operation of which the provider
// tells the status alone: it gets what the synchronous call would have answered.
func TestResultOfAStatus(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	m := machinePath("g", "m")
	// begins returns the Location of what a call begins, of which the provider names none.
	begins := func(method, path, body string, more ...string) string {
		t.Helper()
		mode := "azure-async-only"
		if method == "PUT" {
			mode = "accepted-status"
		}
		first := s.ok(202, method, path, body, append([]string{"x-contoso-async", mode, "x-contoso-duration", "1h"}, more...)...)
		if status := first.header.Get("Azure-Asyncoperation"); !strings.Contains(status, "/operationStatuses/") {
			t.Errorf("the status is at %q", status)
		}
		if first.header.Get("Retry-After") != "" && len(more) == 0 {
			t.Errorf("%v", first.header)
		}
		result := s.stoodIn(first.header, "Location")
		running := s.ok(202, "GET", result, "")
		if running.text != "" || s.local(running.header.Get("Location")) != result || running.header.Get("Azure-Asyncoperation") != "" {
			t.Errorf("while it runs: %v %s", running.header, running.text)
		}
		if want := first.header.Get("Retry-After"); want != "" && running.header.Get("Retry-After") != want || running.header.Get("Retry-After") == "" {
			t.Errorf("while it runs: %v", running.header)
		}
		return result
	}
	ends := func() { s.at("eastus").clock.advance(2 * hour) }

	created := begins("PUT", m+api, eastus)
	if listed, found := s.visible(m); listed || found {
		t.Errorf("while it is made: listed %v, found %v", listed, found)
	}
	ends()
	if got := s.ok(200, "GET", created, ""); !strings.Contains(got.text, m) || !strings.Contains(got.text, `"Succeeded"`) {
		t.Errorf("%s", got.text)
	}
	if row, _ := s.row(m); !firm(row) || row.ProvisioningState != "Succeeded" {
		t.Errorf("the end did not settle the row: %+v", row)
	}

	changed := begins("PATCH", m+api, `{"tags":{"a":"b"}}`, "x-contoso-retry-after", "42")
	ends()
	if got := s.ok(200, "GET", changed, ""); !strings.Contains(got.text, `"tags":{"a":"b"}`) || got.header.Get("Etag") == "" {
		t.Errorf("%v %s", got.header, got.text)
	}
	if row, _ := s.row(m); !firm(row) || row.Details.Tags["a"] != "b" {
		t.Errorf("the end did not settle the row: %+v", row)
	}
	// The resource shows no failure of a change that was reverted; the status does.
	failing := begins("PATCH", m+api, `{"tags":{"a":"c"}}`, "x-contoso-outcome", "Failed")
	canceled := begins("POST", m+"/restart"+api, "", "x-contoso-outcome", "Canceled")
	ends()
	if got := s.want(409, "OperationFailed", "GET", failing, ""); got.header.Get("X-Ms-Failure-Cause") != "service" || !strings.Contains(got.text, "as the request asked") {
		t.Errorf("%v %s", got.header, got.text)
	}
	s.want(409, "OperationCanceled", "GET", canceled, "")

	restarted, keys := begins("POST", m+"/restart"+api, ""), begins("POST", m+"/listKeys"+api, "")
	ends()
	if got := s.ok(204, "GET", restarted, ""); got.text != "" {
		t.Errorf("%s", got.text)
	}
	if got := s.ok(200, "GET", keys, ""); !strings.HasPrefix(got.text, `{"keys":[{`) {
		t.Errorf("%s", got.text)
	}

	kept := begins("DELETE", m+api, "", "x-contoso-outcome", "Failed")
	ends()
	s.want(409, "OperationFailed", "GET", kept, "")
	if row, there := s.row(m); !there || !firm(row) {
		t.Errorf("%v %+v", there, row)
	}
	gone := begins("DELETE", m+api, "")
	ends()
	s.ok(204, "GET", gone, "")
	if row, there := s.row(m); there {
		t.Errorf("the end left the row: %+v", row)
	}
	s.ok(204, "GET", gone, "")
	s.want(409, "ResourceOperationFailure", "GET", created, "") // of what is gone

	// A PUT that shows its resource needs no Location.
	shown := s.ok(201, "PUT", m+api, eastus, "x-contoso-async", "azure-async", "x-contoso-duration", "1h")
	if got := shown.header["Location"]; got != nil {
		t.Errorf("%v", got)
	}
}

// A status that cannot be read says nothing of the operation; where there is none any
// more, the resource tells.
func TestResultOfAStatusThatCannotBeRead(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	m := s.machine("g", "m", "westus")
	async := []string{"x-contoso-async", "azure-async-only", "x-contoso-duration", "1h"}
	removed := s.stoodIn(s.ok(202, "DELETE", m+api, "", async...).header, "Location")
	s.want(503, "ContosoFault", "GET", removed, "", "x-contoso-fault", "status=503")
	s.want(502, "BadGatewayConnection", "GET", removed, "", "x-contoso-fault", "reset-before")
	s.lose("westus")
	s.ok(202, "GET", removed, "")
	s.at("westus").clock.advance(2 * hour)
	s.lose("westus")
	s.ok(204, "GET", removed, "")
	if row, there := s.row(m); there {
		t.Errorf("the end left the row: %+v", row)
	}
}

// What providers answer to a poll of a status is read whatever its form.
func TestResultOfAnOddStatus(t *testing.T) {
	p := newScripted(t, setup{})
	id := p.item("i")
	statuses := strings.Replace(scriptOperations, "operationResults", "operationStatuses", 1)
	begins := func(method, target, name, header string) (location string) {
		t.Helper()
		p.say(method+" "+target, 202, "", header, p.at+statuses+name+"?api-version=2024-01-01&t=a%2Fb")
		return p.local(p.ok(202, method, target, `{}`).header.Get("Location"))
	}
	says := func(name string, status int, body string, header ...string) {
		p.say("GET "+statuses+name+"?api-version=2024-01-01&t=a%2Fb", status, body, header...)
	}
	act := begins("POST", id+"/do"+api, "1", "Operation-Location")
	for _, odd := range []struct {
		status int
		body   string
	}{
		{202, `{"status":"Succeeded"}`}, {202, ``}, {200, `{"status":"Working"}`},
		// What says nothing of the operation ends nothing.
		{204, ``}, {200, ``}, {200, `{}`}, {201, `{}`}, {200, `nothing`}, {200, `{"status":null}`}, {200, `{"status":"Succeeded"`}, {200, `["Succeeded"]`},
	} {
		says("1", odd.status, odd.body, "Retry-After", "1")
		if got := p.ok(202, "GET", act, ""); got.header.Get("Retry-After") != "10" || got.text != "" {
			t.Errorf("%+v: %v %s", odd, got.header, got.text)
		}
	}
	for _, odd := range []struct {
		status int
		body   string
		want   int
		text   string
	}{
		{201, `{"status":"Succeeded"}`, 204, ""},
		{200, `{"status":"succeeded"}`, 204, ""},
		{200, `{"status":"Succeeded","properties":null}`, 204, ""},
		{200, `{"status":"Succeeded", "properties": [1, 2] }`, 200, "[1, 2]"},
		{200, `{"status":"Cancelled"}`, 409, `{"error":{"code":"ResourceOperationFailure","message":"The resource operation ended as 'Cancelled'."}}`},
		{200, `{"status":"Failed","error":{"code":"Odd","message":"m","details":[{"code":"d"}]}}`, 409, `{"error":{"code":"Odd","message":"m","details":[{"code":"d"}]}}`},
	} {
		says("1", odd.status, odd.body, "Retry-After", "1", "Location", "http://elsewhere.example/")
		got := p.do("GET", act, "")
		if got.status != odd.want || got.text != odd.text || got.header.Get("Retry-After") != "" || got.header.Get("Location") != "" {
			t.Errorf("%+v: %d %v %s", odd, got.status, got.header, got.text)
		}
	}
	change := begins("PATCH", id+api, "2", "Azure-AsyncOperation")
	says("2", 200, `{"status":"Succeeded"}`)
	p.say("GET "+id+api, 200, `{"id":"`+id+`","location":"westus","properties":{"provisioningState":"Updating"}}`, "Retry-After", "3")
	if got := p.ok(200, "GET", change, ""); !strings.Contains(got.text, id) || got.header.Get("Retry-After") != "" {
		t.Errorf("%v %s", got.header, got.text)
	}
	p.say("GET "+id+api, 403, `{"error":{"code":"Denied","message":"m"}}`, "Content-Type", "application/json; charset=utf-8")
	p.want(403, "Denied", "GET", change, "")
	p.leaves(id) // what was written may be there no more
	p.want(409, "ResourceOperationFailure", "GET", change, "")
}

// To others than who began it, the result does not exist.
func TestResultOfAStatusOfAnotherCaller(t *testing.T) {
	s := newSite(t, setup{tokens: true})
	auth := []string{"Authorization", bearer(secret)}
	s.ok(201, "PUT", groupPath("g")+own, westus, auth...)
	m := machinePath("g", "m")
	s.ok(201, "PUT", m+api, westus, auth...)
	first := s.ok(202, "DELETE", m+api, "", append([]string{"x-contoso-duration", "1h", "x-contoso-async", "azure-async-only"}, auth...)...)
	result := s.stoodIn(first.header, "Location")
	s.at("westus").requests()
	s.want(404, "HttpResourceNotFound", "GET", result, "", "Authorization", bearer(second))
	if requests := s.at("westus").requests(); len(requests) != 0 {
		t.Errorf("another caller's poll reached the provider: %v", requests)
	}
	s.ok(202, "GET", result, "", auth...)
}
