package contoso

import (
	"strings"
	"testing"
	"time"
)

const (
	inASecond  = "x-contoso-duration: 1s"
	failing    = "x-contoso-outcome: Failed"
	canceling  = "x-contoso-outcome: Canceled"
	asyncState = "x-contoso-async: state"
)

func TestPutWithAzureAsyncOperation(t *testing.T) {
	s := newSite(t, "westus")
	a := s.do(201, "PUT", vm+version, westVM, "x-contoso-async: azure-async", "x-contoso-duration: 4s", "x-contoso-retry-after: 17")
	if a.header.Get("Location") != "" || a.header.Get("Retry-After") != "17" {
		t.Errorf("headers %v", a.header)
	}
	poll := a.local(a.header.Get("Azure-AsyncOperation"))
	if !strings.HasPrefix(poll, sub+"/providers/Contoso.Compute/locations/westus/operationStatuses/") || !strings.HasSuffix(poll, version) {
		t.Errorf("polling URL %s", poll)
	}
	s.advance(time.Second)
	b := s.get(poll)
	b.want(25, "percentComplete")
	b.want("Creating", "status")
	b.want("2024-05-06T07:08:09Z", "startTime")
	b.want(nil, "endTime")
	b.want(strings.TrimSuffix(poll, version), "id")
	b.want(poll[strings.LastIndex(poll, "/")+1:strings.Index(poll, "?")], "name")
	if b.header.Get("Retry-After") != "17" {
		t.Errorf("headers %v", b.header)
	}
	s.advance(time.Hour)
	b = s.get(poll)
	b.want("Succeeded", "status")
	b.want("2024-05-06T07:08:13Z", "endTime")
	b.want(100, "percentComplete")
	b.want(nil, "error")
	s.get(vm+version).want("Succeeded", "properties", "provisioningState")
}

func TestDeleteForms(t *testing.T) {
	s := newSite(t, "westus")
	for _, c := range []struct {
		mode             string
		location, status bool
	}{{"location", true, false}, {"azure-async", true, true}, {"azure-async-only", false, true}, {"no-url", false, false}} {
		s.do(201, "PUT", vm+version, westVM)
		s.do(201, "PUT", vm+"/disks/d"+version, `{}`)
		a := s.do(202, "DELETE", vm+version, "", "x-contoso-async: "+c.mode)
		if a.body != "" || (a.header.Get("Location") != "") != c.location || (a.header.Get("Azure-AsyncOperation") != "") != c.status {
			t.Errorf("%s: %q %v", c.mode, a.body, a.header)
		}
		s.get(vm+version).want("Deleting", "properties", "provisioningState")
		s.refused(409, "ResourceBeingDeleted", "PUT", vm+version, westVM)
		s.refused(409, "AnotherOperationInProgress", "PATCH", vm+version, `{}`)
		s.refused(409, "ParentResourceBeingDeleted", "PUT", vm+"/disks/e"+version, `{}`)
		s.advance(time.Second)
		if c.location {
			if b := s.do(200, "GET", a.local(a.header.Get("Location")), ""); b.body != "" || b.header.Get("Content-Length") != "0" {
				t.Errorf("the poll's end: %q %v", b.body, b.header)
			}
		}
		if c.status {
			s.get(a.local(a.header.Get("Azure-AsyncOperation"))).want("Succeeded", "status")
		}
		s.refused(404, "ResourceNotFound", "GET", vm+version, "")
		if len(s.state.resources) != 0 {
			t.Errorf("%s: children are left", c.mode)
		}
	}
	s.do(204, "DELETE", vm+version, "", "x-contoso-async: location")
}

func TestPlacesOfPollingURLs(t *testing.T) {
	s := newSite(t, "westus")
	s.do(201, "PUT", compute+"/virtualMachines/a%20b"+version, westVM)
	for place, want := range map[string]string{
		"locations": sub + "/providers/Contoso.Compute/locations/westus/operationResults/",
		"provider":  sub + "/providers/Contoso.Compute/operationResults/",
		"resource":  compute + "/virtualMachines/a%20b/operationResults/",
	} {
		a := s.do(202, "POST", compute+"/virtualMachines/a%20b/restart"+version, "", "x-contoso-operation-path: "+place, "x-contoso-async: azure-async")
		poll := a.local(a.header.Get("Location"))
		if !strings.HasPrefix(poll, want) {
			t.Errorf("%s: %s", place, poll)
		}
		id := poll[len(want):strings.Index(poll, "?")]
		s.do(202, "GET", strings.ToLower(want)+id, "") // no api-version
		s.get(a.local(a.header.Get("Azure-AsyncOperation"))).want(id, "name")
	}
}

func TestLaterWritesOvertakeEarlierOnes(t *testing.T) {
	s := newSite(t, "westus")
	first := s.do(202, "PUT", vm+version, westVM, "x-contoso-async: accepted-async", inASecond)
	s.do(204, "DELETE", vm+version, "")
	s.advance(time.Second)
	s.refused(404, "ResourceNotFound", "GET", vm+version, "")
	b := s.get(first.local(first.header.Get("Azure-AsyncOperation")))
	b.want("Canceled", "status")
	b.want("OperationPreempted", "error", "code")
	s.refused(409, "OperationPreempted", "GET", first.local(first.header.Get("Location")), "")

	s.do(201, "PUT", vm+version, `{"location":"westus","properties":{"n":1}}`)
	s.do(200, "PUT", vm+version, `{"location":"westus","properties":{"n":2}}`, asyncState, inASecond)
	s.do(200, "PUT", vm+version, `{"location":"westus","properties":{"n":3}}`, asyncState, failing, "x-contoso-duration: 2s")
	s.advance(time.Second)
	s.get(vm+version).want(map[string]any{"provisioningState": "Updating", "n": 3}, "properties")
	s.advance(time.Second)
	s.get(vm+version).want(map[string]any{"provisioningState": "Failed", "n": 1}, "properties")

	a := s.do(202, "DELETE", vm+version, "", "x-contoso-async: location", inASecond)
	b = s.do(202, "DELETE", vm+version, "", "x-contoso-async: location", "x-contoso-duration: 2s")
	s.advance(time.Second)
	s.do(200, "GET", a.local(a.header.Get("Location")), "")
	s.refused(404, "ResourceNotFound", "GET", vm+version, "") // the first that is done takes it with it
	s.do(204, "DELETE", vm+version, "")
	s.do(201, "PUT", vm+version, westVM)
	s.advance(time.Second)
	s.do(200, "GET", b.local(b.header.Get("Location")), "")
	s.get(vm + version) // the one made since
}

func TestOperationsOutliveADayAndAreForgottenThen(t *testing.T) {
	s := newSite(t, "westus")
	a := s.do(202, "PUT", vm+version, westVM, "x-contoso-async: accepted", "x-contoso-duration: 30h")
	poll := a.local(a.header.Get("Location"))
	s.advance(29 * time.Hour)
	s.do(202, "GET", poll, "")
	s.advance(25 * time.Hour)
	s.do(201, "GET", poll, "")
	s.advance(25 * time.Hour)
	s.do(202, "POST", vm+"/restart"+version, "")
	s.refused(404, "OperationNotFound", "GET", poll, "")
}

func TestSteeringHeadersAreJudged(t *testing.T) {
	s := newSite(t, "westus")
	for _, c := range [][2]string{
		{"PUT", "x-contoso-async: location"}, {"DELETE", "x-contoso-async: state"}, {"PUT", "x-contoso-duration: soon"},
		{"PUT", "x-contoso-duration: -1s"}, {"PUT", "x-contoso-outcome: Great"}, {"PUT", "x-contoso-operation-path: moon"}, {"GET", "x-contoso-fault: flood"},
	} {
		s.refused(400, "InvalidContosoHeader", c[0], vm+version, westVM, c[1])
	}
}
