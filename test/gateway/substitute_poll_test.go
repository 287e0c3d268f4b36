package gateway_test

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"portico/gateway/polling"
	"portico/inventory/index"
)

// substituteURL is the pattern of a substitute URL.
func substituteURL(kind string) string {
	return "http://portico.example" + inSubscription + "/providers/Contoso.Compute/locations/[a-z]+/" + kind + "/[0-9a-f-]{36}\\?api-version=2024-01-01"
}

// stoodIn ends the test unless a header holds a polling URL of Portico's own,
// and returns it without its host.
func (s *site) stoodIn(header http.Header, name string) string {
	s.t.Helper()
	kind := polling.Statuses
	if name == "Location" {
		kind = polling.Results
	}
	if got := header.Get(name); !regexp.MustCompile("^" + substituteURL(kind) + "$").MatchString(got) {
		s.t.Fatalf("%s: %q", name, got)
	}
	return s.local(header.Get(name))
}

// status is what an operation's status says, and of which error.
func (s *site) status(poll string) (status, code string) {
	s.t.Helper()
	got := s.do("GET", poll, "")
	body := decode[struct{ ID, Name, Status string }](s.t, got)
	if got.status != 200 || body.Name == "" || !strings.HasSuffix(body.ID, "/"+body.Name) {
		s.t.Errorf("%s: %d %s", poll, got.status, got.text)
	}
	return body.Status, got.code
}

// A foreign polling URL is one of Portico's own to clients, which replays it at
// the endpoint that named it.
func TestForeignPollingURLs(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	for _, place := range places {
		lie := []string{"x-contoso-fault", "foreign-location", "x-contoso-duration", "1h", "x-contoso-operation-path", place}
		with := func(mode string) []string { return append([]string{"x-contoso-async", mode}, lie...) }
		m := machinePath("g", "m"+place)

		created := s.ok(202, "PUT", m+api, eastus, with("accepted-async")...)
		result, status := s.stoodIn(created.header, "Location"), s.stoodIn(created.header, "Azure-Asyncoperation")
		// It stays the same, though the provider goes on to lie.
		if again := s.ok(202, "GET", result, ""); s.local(again.header.Get("Location")) != result {
			t.Errorf("%v", again.header)
		}
		if word, _ := s.status(status); word == "Succeeded" {
			t.Errorf("the status is %s", word)
		}
		s.at("eastus").requests()
		s.at("eastus").clock.advance(2 * hour)
		s.ok(200, "GET", status, "")
		if row, _ := s.row(m); !firm(row) || row.ProvisioningState != "Succeeded" {
			t.Errorf("the end of the poll did not settle the row: %+v", row)
		}
		if got := s.ok(201, "GET", result, ""); !strings.Contains(got.text, m) {
			t.Errorf("%s", got.text)
		}
		for _, request := range s.at("eastus").requests() {
			if strings.Contains(request.Headers.Get("Referer"), result) || !strings.HasPrefix(request.Headers.Get("Referer"), "http://portico.example"+request.Path) {
				t.Errorf("%s has the referer %s", request.Path, request.Headers.Get("Referer"))
			}
		}

		changed := s.ok(202, "PATCH", m+api, `{"tags":{"a":"b"}}`, with("azure-async")...)
		s.ok(202, "GET", s.stoodIn(changed.header, "Location"), "")
		acted := s.ok(202, "POST", m+"/restart"+api, "", with("location")...)
		poll := s.stoodIn(acted.header, "Location")
		s.ok(202, "GET", poll, "")
		s.at("eastus").clock.advance(2 * hour)
		s.ok(204, "GET", poll, "")
		s.ok(200, "GET", s.stoodIn(changed.header, "Azure-Asyncoperation"), "")
		if row, _ := s.row(m); !firm(row) || row.Details.Tags["a"] != "b" {
			t.Errorf("the end of the PATCH did not settle the row: %+v", row)
		}

		removed := s.ok(202, "DELETE", m+api, "", with("location")...)
		poll = s.stoodIn(removed.header, "Location")
		s.ok(202, "GET", poll, "")
		s.at("eastus").clock.advance(2 * hour)
		s.ok(200, "GET", poll, "")
		if row, there := s.row(m); there {
			t.Errorf("the end of the poll left the row: %+v", row)
		}
		s.ok(200, "GET", poll, "") // of what is gone
	}
}

// lose has the provider know no operation any more.
func (s *site) lose(region string) {
	s.at(region).fault("GET", "operationResults/", "status=404")
	s.at(region).fault("GET", "operationStatuses/", "status=404")
}

// Where there is nothing to replay, the resource tells of the end.
func TestStandInsOfWhatIsLost(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	m := machinePath("g", "m")
	lie := func(mode string, more ...string) []string {
		return append([]string{"x-contoso-async", mode, "x-contoso-fault", "foreign-location", "x-contoso-duration", "1h"}, more...)
	}
	polls := func(answer seen) (result, status string) {
		return s.stoodIn(answer.header, "Location"), s.stoodIn(answer.header, "Azure-Asyncoperation")
	}
	runs := func(result, status string) {
		t.Helper()
		s.lose("westus")
		if got := s.ok(202, "GET", result, ""); s.local(got.header.Get("Location")) != result || got.header.Get("Retry-After") != "15" || got.text != "" {
			t.Errorf("%v %s", got.header, got.text)
		}
		s.lose("westus")
		if word, _ := s.status(status); word != "InProgress" {
			t.Errorf("the status is %s", word)
		}
		s.at("westus").clock.advance(2 * hour)
		s.lose("westus")
	}

	result, status := polls(s.ok(202, "PUT", m+api, westus, lie("accepted-async")...))
	runs(result, status) // without showing itself
	if got := s.ok(200, "GET", result, ""); !strings.Contains(got.text, `"Succeeded"`) || !strings.Contains(got.text, m) {
		t.Errorf("%s", got.text)
	}
	if row, _ := s.row(m); !firm(row) {
		t.Errorf("the end did not settle the row: %+v", row)
	}
	if word, _ := s.status(status); word != "Succeeded" {
		t.Errorf("the status is %s", word)
	}

	result, status = polls(s.ok(202, "PATCH", m+api, `{"tags":{"c":"d"}}`, lie("azure-async")...))
	runs(result, status)
	if got := s.ok(200, "GET", result, ""); !strings.Contains(got.text, `"d"`) {
		t.Errorf("%s", got.text)
	}

	result, status = polls(s.ok(202, "DELETE", m+api, "", lie("azure-async", "x-contoso-outcome", "Failed")...))
	runs(result, status)
	if got := s.want(409, "ResourceOperationFailure", "GET", result, ""); !strings.Contains(got.text, "not deleted") {
		t.Errorf("%s", got.text)
	}
	s.lose("westus")
	if word, code := s.status(status); word != "Failed" || code != "ResourceOperationFailure" {
		t.Errorf("%s %s", word, code)
	}
	if row, there := s.row(m); !there || !firm(row) {
		t.Errorf("%v %+v", there, row)
	}

	result, status = polls(s.ok(202, "DELETE", m+api, "", lie("azure-async")...))
	runs(result, status)
	s.ok(204, "GET", result, "")
	if row, there := s.row(m); there {
		t.Errorf("the end left the row: %+v", row)
	}
	if word, _ := s.status(status); word != "Succeeded" {
		t.Errorf("the status is %s", word)
	}

	// One that fails before it ever showed cannot be told from one that runs.
	created := s.ok(201, "PUT", m+api, westus, lie("azure-async", "x-contoso-outcome", "Failed")...)
	status = s.stoodIn(created.header, "Azure-Asyncoperation")
	s.at("westus").clock.advance(2 * hour)
	s.lose("westus")
	if word, code := s.status(status); word != "Failed" || code != "ResourceOperationFailure" {
		t.Errorf("%s %s", word, code)
	}
	if row, _ := s.row(m); row.ProvisioningState != "Failed" {
		t.Errorf("%+v", row)
	}
	// Operations are canceled in one spelling, whatever the provider's.
	canceled := machinePath("g", "canceled")
	created = s.ok(201, "PUT", canceled+api, westus, lie("azure-async", "x-contoso-outcome", "Cancelled")...)
	status = s.stoodIn(created.header, "Azure-Asyncoperation")
	s.at("westus").clock.advance(2 * hour)
	s.lose("westus")
	if word, code := s.status(status); word != "Canceled" || code != "ResourceOperationFailure" {
		t.Errorf("%s %s", word, code)
	}
	if row, _ := s.row(canceled); !firm(row) || row.ProvisioningState != "Cancelled" {
		t.Errorf("%+v", row)
	}
	hidden := s.stoodIn(s.ok(202, "PUT", machinePath("g", "never")+api, westus, lie("accepted", "x-contoso-outcome", "Failed")...).header, "Location")
	s.at("westus").clock.advance(2 * hour)
	s.lose("westus")
	s.ok(202, "GET", hidden, "")

	// An action leaves nothing to ask for.
	acted := s.ok(202, "POST", m+"/restart"+api, "", lie("location")...)
	s.lose("westus")
	if got := s.want(501, "InternalServerError", "GET", s.stoodIn(acted.header, "Location"), ""); !strings.Contains(got.text, "unknown") || strings.Contains(got.text, "Failed") {
		t.Errorf("%s", got.text)
	}
}

// What only fails to be read is no end.
func TestStandInsThatCannotBeRead(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	m := s.machine("g", "m", "westus")
	removed := s.ok(202, "DELETE", m+api, "", "x-contoso-async", "location", "x-contoso-fault", "foreign-location", "x-contoso-duration", "1h")
	poll := s.stoodIn(removed.header, "Location")
	s.want(503, "ContosoFault", "GET", poll, "", "x-contoso-fault", "status=503")
	s.want(502, "BadGatewayConnection", "GET", poll, "", "x-contoso-fault", "reset-before")
	s.lose("westus")
	s.at("westus").fault("GET", "virtualMachines/m", "status=429")
	s.want(429, "ContosoFault", "GET", poll, "")
	if row, there := s.row(m); !there || row.Phase != index.Deleting {
		t.Errorf("%v %+v", there, row)
	}
}

// A delete whose resource was made anew has succeeded.
func TestStandInOfADeleteBeforeAnotherCreate(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	m := s.machine("g", "m", "westus")
	poll := s.stoodIn(s.ok(202, "DELETE", m+api, "", "x-contoso-async", "no-url", "x-contoso-duration", "1ms").header, "Location")
	s.within("the end of the delete", func() bool { return s.do("GET", m+api, "").status == 404 })
	s.machine("g", "m", "westus")
	s.ok(204, "GET", poll, "")
	s.ok(200, "DELETE", m+api, "")
	s.machine("g", "m", "eastus")
	s.ok(204, "GET", poll, "")
}

// Clients fail at a 202 that they cannot poll, so it gets a URL.
func TestAcceptedWithoutAPollingURL(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	m := s.machine("g", "m", "westus")
	async := []string{"x-contoso-async", "no-url", "x-contoso-duration", "1h"}

	acted := s.ok(202, "POST", m+"/restart"+api, "", async...)
	if got := acted.header.Get("Retry-After"); got != "15" {
		t.Errorf("Retry-After %q", got)
	}
	s.want(501, "InternalServerError", "GET", s.stoodIn(acted.header, "Location"), "")
	s.want(501, "InternalServerError", "GET", s.stoodIn(acted.header, "Azure-Asyncoperation"), "")

	removed := s.ok(202, "DELETE", m+api, "", append([]string{"x-contoso-retry-after", "20"}, async...)...)
	if got := removed.header.Get("Retry-After"); got != "20" {
		t.Errorf("Retry-After %q", got)
	}
	result, status := s.stoodIn(removed.header, "Location"), s.stoodIn(removed.header, "Azure-Asyncoperation")
	s.ok(202, "GET", result, "")
	if word, _ := s.status(status); word != "InProgress" {
		t.Errorf("the status is %s", word)
	}
	s.at("westus").clock.advance(2 * hour)
	if word, _ := s.status(status); word != "Succeeded" {
		t.Errorf("the status is %s", word)
	}
	if row, there := s.row(m); there {
		t.Errorf("the end left the row: %+v", row)
	}
	s.ok(204, "GET", result, "")
	s.ok(201, "PUT", m+api, eastus)

	// Of what has no row, the provider alone tells.
	s.ok(201, "PUT", m+"/runCommands/r"+api, `{}`)
	gone := s.ok(202, "DELETE", m+"/runCommands/r"+api, "", async...)
	poll := s.stoodIn(gone.header, "Location")
	s.at("eastus").clock.advance(2 * hour)
	s.ok(204, "GET", poll, "")

	changed := s.ok(202, "PATCH", m+api, `{"tags":{"a":"b"}}`, async...)
	result, status = s.stoodIn(changed.header, "Location"), s.stoodIn(changed.header, "Azure-Asyncoperation")
	s.ok(202, "GET", result, "")
	if word, _ := s.status(status); word != "InProgress" {
		t.Errorf("the status is %s", word)
	}
	s.at("eastus").clock.advance(2 * hour)
	if got := s.ok(200, "GET", result, ""); !strings.Contains(got.text, `"tags":{"a":"b"}`) {
		t.Errorf("%s", got.text)
	}
	if row, _ := s.row(m); !firm(row) || row.Details.Tags["a"] != "b" {
		t.Errorf("the end did not settle the row: %+v", row)
	}
	if word, _ := s.status(status); word != "Succeeded" {
		t.Errorf("the status is %s", word)
	}
	failing := s.ok(202, "PATCH", m+api, `{"tags":{"a":"c"}}`, append([]string{"x-contoso-outcome", "Failed"}, async...)...)
	s.at("eastus").clock.advance(2 * hour)
	s.want(409, "ResourceOperationFailure", "GET", s.stoodIn(failing.header, "Location"), "")
}

// A create need not show before it is done, and a client that asked for it would
// take it for one that failed.
func TestCreatesAcceptedWithoutAPollingURL(t *testing.T) {
	p := newScripted(t, setup{})
	for _, id := range []string{groupPath("g") + "/providers/Contoso.Script/items/i", inSubscription + "/providers/Contoso.Script/plans/p"} {
		p.say("PUT "+id+api, 202, "")
		created := p.ok(202, "PUT", id+api, westus)
		result, status := p.local(created.header.Get("Location")), p.local(created.header.Get("Azure-Asyncoperation"))
		if !strings.Contains(result, "/operationresults/") || !strings.Contains(status, "/operationStatuses/") || created.header.Get("Retry-After") != "15" {
			t.Fatalf("%v", created.header)
		}
		p.ok(202, "GET", result, "")
		if word, _ := p.status(status); word != "InProgress" {
			t.Errorf("the status is %s", word)
		}
		p.say("GET "+id+api, 200, `{"id":"`+id+`","location":"westus","properties":{"provisioningState":"Succeeded"}}`)
		if word, _ := p.status(status); word != "Succeeded" {
			t.Errorf("the status is %s", word)
		}
		if got := p.ok(200, "GET", result, ""); !strings.Contains(got.text, id) {
			t.Errorf("%s", got.text)
		}
	}
	if row, _ := p.row(groupPath("g") + "/providers/Contoso.Script/items/i"); !firm(row) {
		t.Errorf("the end did not settle the row: %+v", row)
	}
	// Of what is no resource, nothing else could be asked for.
	p.say("PUT "+inSubscription+"/providers/Contoso.Script/locations/westus/things/t"+api, 202, "")
	if got := p.ok(202, "PUT", inSubscription+"/providers/Contoso.Script/locations/westus/things/t"+api, `{}`); len(got.header["Location"])+len(got.header["Azure-Asyncoperation"]) != 0 {
		t.Errorf("%v", got.header)
	}
}

// To others than who began it, no operation exists, nor one of Portico's own.
func TestStandInsOfAnotherCaller(t *testing.T) {
	s := newSite(t, setup{tokens: true})
	auth := []string{"Authorization", bearer(secret)}
	s.ok(201, "PUT", groupPath("g")+own, westus, auth...)
	m := machinePath("g", "m")
	for _, how := range [][]string{{"x-contoso-fault", "foreign-location", "x-contoso-async", "azure-async"}, {"x-contoso-async", "no-url"}} {
		s.ok(201, "PUT", m+api, westus, auth...)
		first := s.ok(202, "DELETE", m+api, "", append(append([]string{"x-contoso-duration", "1h"}, how...), auth...)...)
		for _, name := range []string{"Location", "Azure-Asyncoperation"} {
			poll := s.stoodIn(first.header, name)
			s.do("GET", poll, "", auth...)
			s.at("westus").requests()
			s.want(404, "HttpResourceNotFound", "GET", poll, "", "Authorization", bearer(second))
			s.want(404, "SubscriptionNotFound", "GET", poll, "", "Authorization", bearer(stranger))
			if requests := s.at("westus").requests(); len(requests) != 0 {
				t.Errorf("another caller's poll reached the provider: %v", requests)
			}
		}
		s.at("westus").clock.advance(2 * hour)
		s.ok(200, "GET", s.stoodIn(first.header, "Azure-Asyncoperation"), "", auth...)
	}
}
