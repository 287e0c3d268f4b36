package gateway_test

import (
	"slices"
	"strings"
	"testing"
	"time"
)

const machines = inSubscription + "/providers/Contoso.Compute/virtualMachines"

func TestCollections(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	s.group("h")
	none := s.ok(200, "GET", machines+api, "")
	if none.text != `{"value":[]}` || none.header.Get("X-Ms-Portico-Completed") != "true" || none.header.Get("Content-Length") != "12" {
		t.Errorf("%s %v", none.text, none.header)
	}
	s.machine("g", "a", "westus")
	s.machine("g", "b", "westus")
	if got := s.names(machines + api); got != "a b" {
		t.Errorf("%s", got)
	}
	if got := s.walk(machines + api + "&$top=1"); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("%s", got)
	}
	if requests := s.at("eastus").requests(); len(requests) != 0 {
		t.Errorf("a region that holds none was asked: %v", requests)
	}
	s.machine("g", "c", "eastus")
	s.machine("h", "d", "eastus")
	merged := s.ok(200, "GET", machines+api, "")
	names := strings.Fields(s.names(machines + api))
	slices.Sort(names)
	if strings.Join(names, " ") != "a b c d" || merged.header.Get("X-Ms-Portico-Completed") != "true" || len(strings.Split(merged.header.Get("X-Ms-Original-Request-Ids"), ";")) != 2 {
		t.Errorf("%v %v", names, merged.header)
	}
	if got := s.names(groupPath("h") + "/providers/Contoso.Compute/virtualMachines" + api); got != "d" {
		t.Errorf("%s", got)
	}
	got := s.want(405, "MethodNotAllowed", "POST", machines+api, "")
	if got.header.Get("Allow") != "GET" {
		t.Errorf("%v", got.header)
	}
}

func TestPagesAreBounded(t *testing.T) {
	s := newSite(t, setup{limits: "answerBody: 1MiB"})
	s.group("g")
	disks := s.machine("g", "a", "westus") + "/disks"
	for _, fault := range []string{"big=2097152", "big-chunked=2097152"} {
		if got := s.want(500, "ResponseTooLarge", "GET", disks+api, "", "x-contoso-fault", fault); !strings.Contains(got.text, "1 MB") {
			t.Errorf("%s", got.text)
		}
		if got := s.want(503, "ServiceUnavailable", "GET", machines+api, "", "x-contoso-fault", fault); !strings.Contains(got.text, "ResponseTooLarge") {
			t.Errorf("%s", got.text)
		}
	}
	s.ok(200, "GET", disks+api, "", "x-contoso-fault", "big=1048576")
	for _, wrong := range []string{"bad-json", "html"} {
		s.want(502, "InvalidProviderResponse", "GET", disks+api, "", "x-contoso-fault", wrong)
	}
	s.ok(200, "GET", machines+api, "", "x-contoso-fault", "big-chunked=1048576")
}

func TestAnswerThatBreaksOff(t *testing.T) {
	s := newSite(t, setup{callTimeout: 200 * time.Millisecond})
	s.group("g")
	s.machine("g", "a", "westus")
	s.want(504, "GatewayTimeout", "GET", machines+api, "", "x-contoso-fault", "stall")
	s.want(504, "GatewayTimeout", "GET", machinePath("g", "a")+api, "", "x-contoso-fault", "stall") // nothing has gone out yet
}

// Calls that the index has no part in reach the endpoint that they name.
func TestRelayedCalls(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	m := s.machine("g", "a", "eastus")
	for _, c := range []struct {
		method, path, body, region string
		status                     int
	}{
		{"GET", "/providers/Contoso.Compute/operations", "", "global", 200},
		{"POST", inSubscription + "/providers/Contoso.Compute/checkNameAvailability", `{"name":"x","type":"Contoso.Compute/nothing"}`, "global", 400},
		{"POST", inSubscription + "/providers/Contoso.Compute/locations/East%20US/checkNameAvailability", `{"name":"x","type":"Contoso.Compute/virtualMachines"}`, "eastus", 200},
		{"GET", inSubscription + "/providers/Contoso.Compute/locations/westus/usages", "", "westus", 200},
		{"GET", m + "/skus", "", "eastus", 200},
		{"POST", m + "/start", "", "eastus", 200},
		{"POST", m + "/nonsense", "", "eastus", 404},
		{"PUT", m + "/runCommands/r", `{"properties":{}}`, "eastus", 201},
		{"PATCH", m + "/runCommands/r", `{"properties":{}}`, "eastus", 200},
		{"GET", m + "/runCommands", "", "eastus", 200},
	} {
		for _, e := range s.providers {
			e.requests()
		}
		if got := s.do(c.method, c.path+api, c.body); got.status != c.status {
			t.Errorf("%s %s: %d %s", c.method, c.path, got.status, got.text)
		}
		for region, e := range s.providers {
			if n := len(e.requests()); n != map[bool]int{true: 1, false: 0}[region == c.region] {
				t.Errorf("%s %s: %d calls to %s", c.method, c.path, n, region)
			}
		}
	}
	// An action's answer need be no page, nor JSON.
	if got := s.ok(200, "POST", m+"/start"+api, "", "x-contoso-fault", "html"); !strings.Contains(got.text, "<html>") {
		t.Errorf("%s", got.text)
	}
	s.want(400, "InvalidRequestContent", "POST", m+"/start"+api, `{`)
	s.ok(200, "POST", m+"/start"+api, `[1]`)
	s.want(404, "HttpResourceNotFound", "GET", inSubscription+"/resourceGroups/g/providers"+api, "")
}

// metric is the value of a series, by its name with its labels.
func (s *site) metric(series string) string {
	s.t.Helper()
	for line := range strings.Lines(s.request(200, "", "GET", "/metrics", "").text) {
		if rest, found := strings.CutPrefix(line, series+" "); found {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}
