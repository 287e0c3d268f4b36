package contoso

import (
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const newest = vm + "/testResults/latest"

func TestRunsThatOutliveADay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state")
	s := newSiteWith(t, Options{Region: "westus", StateFile: path})
	s.refused(404, "ResourceNotFound", "POST", vm+"/runTests"+version, "")
	s.do(201, "PUT", vm+version, westVM)
	s.refused(404, "ResourceNotFound", "GET", newest+version, "")
	tag := s.get(vm + version).header.Get("ETag")

	a := s.do(202, "POST", strings.ToUpper(vm)+"/RUNTESTS"+version, "", "x-contoso-duration: 30h")
	b := s.get(newest + version)
	b.want(newest, "id")
	b.want("Contoso.Compute/virtualMachines/testResults", "type")
	b.want(map[string]string{"provisioningState": "Running", "status": "Running", "startTime": "2024-05-06T07:08:09Z"}, "properties")
	b.want(nil, "tags")
	b.want(nil, "location")
	s.advance(29 * time.Hour)
	s.do(202, "GET", a.local(a.header.Get("Location")), "")
	s = revive(t, s, path, asItIs)
	s.get(newest+version).want("Running", "properties", "status")
	s.advance(2 * time.Hour)
	b = s.get(newest + version)
	b.want("Succeeded", "properties", "status")
	b.want("Succeeded", "properties", "provisioningState")
	b.want("2024-05-07T13:08:09Z", "properties", "endTime")
	b.want(12, "properties", "results", "passed")
	s.do(200, "GET", a.local(a.header.Get("Location")), "").want(b.at("properties", "results"))
	s.advance(72 * time.Hour) // longer than operations are kept
	s.get(newest+version).want(b.at(), nil...)
	s.get(vm + "/testResults" + version).wantIDs(newest)
	if got := s.get(vm + version).header.Get("ETag"); got != tag {
		t.Error("a run changed the machine's tag")
	}
}

func TestTheNewestRunIsReported(t *testing.T) {
	s := newSite(t, "westus")
	s.do(201, "PUT", vm+version, westVM)
	first := s.do(202, "POST", vm+"/runTests"+version, "", "x-contoso-async: azure-async", "x-contoso-duration: 3s", failing)
	s.advance(time.Second)
	s.do(202, "POST", vm+"/runTests"+version, "", "x-contoso-async: no-url", "x-contoso-duration: 4s", canceling)
	s.get(newest+version).want("2024-05-06T07:08:10Z", "properties", "startTime")
	s.advance(2 * time.Second)
	s.get(first.local(first.header.Get("Azure-AsyncOperation"))).want("Failed", "status")
	s.get(newest+version).want("Running", "properties", "status")
	s.advance(2 * time.Second)
	a := s.get(newest + version)
	a.want("Canceled", "properties", "status")
	a.want("OperationCanceled", "properties", "error", "code")
	for _, m := range []string{"PUT", "PATCH", "DELETE"} {
		s.refused(405, "MethodNotAllowed", m, newest+version, `{}`)
	}
	s.do(202, "POST", vm+"/runTests"+version, "")
	s.do(200, "DELETE", vm+version, "")
	s.do(201, "PUT", vm+version, westVM)
	s.advance(time.Second)
	s.refused(404, "ResourceNotFound", "GET", newest+version, "")
}
