package gateway_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"portico/inventory/index"
)

// visible reports whether a resource is in the list of all and found by HEAD.
func (s *site) visible(id string, header ...string) (listed, found bool) {
	s.t.Helper()
	list := decode[named](s.t, s.ok(200, "GET", inSubscription+"/resources"+own, "", header...))
	for _, v := range list.Value {
		listed = listed || strings.EqualFold(v.ID, id)
	}
	return listed, s.do("HEAD", id+api, "", header...).status == 204
}

var places = []string{"locations", "provider", "resource"}

// An accepted create is not there until a GET says so, and is there when the
// poll says that it is.
func TestAsynchronousCreate(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	for _, mode := range []string{"accepted", "accepted-async"} {
		for _, place := range places {
			t.Run(mode+" "+place, func(t *testing.T) {
				m := machinePath("g", mode+place)
				first := s.ok(202, "PUT", m+api, `{"location":"eastus","tags":{"a":"b"}}`, "x-contoso-async", mode, "x-contoso-duration", "1h", "x-contoso-operation-path", place)
				poll := s.local(first.header.Get("Location"))
				header, end := "Location", 201
				if mode == "accepted-async" {
					header, end = "Azure-Asyncoperation", 200
				}
				status := s.local(first.header.Get(header))
				s.ok(202, "GET", poll, "")
				s.do("GET", status, "")
				if listed, found := s.visible(m); listed || found {
					t.Errorf("while it runs: listed %v, found %v", listed, found)
				}
				s.at("eastus").clock.advance(2 * hour)
				s.ok(end, "GET", status, "")
				if row, _ := s.row(m); !firm(row) || row.Details.Tags["a"] != "b" || row.ProvisioningState != "Succeeded" {
					t.Errorf("the end of the poll did not settle the row: %+v", row)
				}
				if listed, found := s.visible(m); !listed || !found {
					t.Errorf("when it has ended: listed %v, found %v", listed, found)
				}
				s.ok(201, "GET", poll, "")
			})
		}
	}
}

func TestAsynchronousDelete(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	for _, mode := range []string{"location", "azure-async", "azure-async-only"} {
		for _, place := range places {
			t.Run(mode+" "+place, func(t *testing.T) {
				m := s.machine("g", mode+place, "eastus")
				first := s.ok(202, "DELETE", m+api, "", "x-contoso-async", mode, "x-contoso-duration", "1h", "x-contoso-operation-path", place)
				header := "Azure-Asyncoperation"
				if mode == "location" {
					header = "Location"
				}
				poll := s.local(first.header.Get(header))
				s.do("GET", poll, "")
				if listed, found := s.visible(m); !listed || !found {
					t.Errorf("while it runs: listed %v, found %v", listed, found)
				}
				if row, _ := s.row(m); row.Phase != index.Deleting {
					t.Errorf("%+v", row)
				}
				s.at("eastus").clock.advance(2 * hour)
				s.ok(200, "GET", poll, "")
				if row, there := s.row(m); there {
					t.Errorf("the end of the poll left the row: %+v", row)
				}
				s.ok(201, "PUT", m+api, westus) // elsewhere, at once
				s.ok(200, "DELETE", m+api, "")
			})
		}
	}
}

// A delete that failed leaves what it could not delete.
func TestAsynchronousDeleteThatFails(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	m := s.machine("g", "m", "westus")
	first := s.ok(202, "DELETE", m+api, "", "x-contoso-async", "location", "x-contoso-duration", "1h", "x-contoso-outcome", "Failed")
	s.at("westus").clock.advance(2 * hour)
	s.want(409, "OperationFailed", "GET", s.local(first.header.Get("Location")), "")
	if row, there := s.row(m); !there || !firm(row) || row.ProvisioningState != "Failed" {
		t.Errorf("%v %+v", there, row)
	}
	s.want(409, "InvalidResourceLocation", "PUT", m+api, eastus)
}

// The end of an operation is told even where its resource cannot be asked for;
// the row then stays in doubt.
func TestEndThatIsNotConfirmed(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	m := s.machine("g", "m", "westus")
	first := s.ok(202, "DELETE", m+api, "", "x-contoso-async", "azure-async", "x-contoso-duration", "1h")
	s.at("westus").clock.advance(2 * hour)
	s.at("westus").fault("GET", "virtualMachines/m", "status=500")
	s.ok(200, "GET", s.local(first.header.Get("Azure-Asyncoperation")), "")
	if row, there := s.row(m); !there || row.Phase != index.Deleting {
		t.Errorf("%v %+v", there, row)
	}
	if !strings.Contains(s.log.String(), "the end of an operation was not confirmed") {
		t.Error("the log does not say so")
	}
	s.ok(200, "GET", s.local(first.header.Get("Location")), "")
	if _, there := s.row(m); there {
		t.Error("the next poll did not settle the row")
	}
	s.ok(200, "GET", s.local(first.header.Get("Location")), "") // of what is gone
}

// What a failed poll says is about the poll.
func TestPollThatFails(t *testing.T) {
	s := newSite(t, setup{limits: "answerBody: 4KiB"})
	s.group("g")
	m := s.machine("g", "m", "westus")
	first := s.ok(202, "DELETE", m+api, "", "x-contoso-async", "location", "x-contoso-duration", "1h")
	poll := s.local(first.header.Get("Location"))
	s.at("westus").requests()
	for _, status := range []string{"500", "503", "408", "429"} {
		s.do("GET", poll, "", "x-contoso-fault", "status="+status)
	}
	s.want(500, "ResponseTooLarge", "GET", poll, "", "x-contoso-fault", "big=8192")
	s.want(502, "BadGatewayConnection", "GET", poll, "", "x-contoso-fault", "reset-before")
	for _, request := range s.at("westus").requests() {
		if request.Path == m {
			t.Errorf("a failed poll asked for the resource: %v", request)
		}
	}
	// An operation that is lost has ended.
	s.at("westus").clock.advance(2 * hour)
	s.want(404, "ContosoFault", "GET", poll, "", "x-contoso-fault", "status=404")
	if _, there := s.row(m); there {
		t.Error("a lost operation did not settle the row")
	}
}

func TestPollOfAnotherCaller(t *testing.T) {
	s := newSite(t, setup{tokens: true})
	auth := []string{"Authorization", bearer(secret)}
	s.ok(201, "PUT", groupPath("g")+own, westus, auth...)
	m := machinePath("g", "m")
	for _, place := range places {
		first := s.ok(202, "PUT", m+place+api, westus, append([]string{"x-contoso-async", "accepted", "x-contoso-duration", "1h", "x-contoso-operation-path", place}, auth...)...)
		poll := s.local(first.header.Get("Location"))
		s.ok(202, "GET", poll, "", auth...)
		s.at("westus").requests()
		s.want(404, "HttpResourceNotFound", "GET", poll, "", "Authorization", bearer(second))
		s.want(404, "SubscriptionNotFound", "GET", poll, "", "Authorization", bearer(stranger))
		if requests := s.at("westus").requests(); len(requests) != 0 {
			t.Errorf("another caller's poll reached the provider: %v", requests)
		}
		// Another spelling of the same URL is the same poll.
		s.ok(202, "GET", strings.Replace(poll, "api-version=2024-01-01", "api-version=2024-06-01-preview", 1), "", auth...)
		s.ok(202, "GET", strings.Replace(poll, "/subscriptions/", "/SUBSCRIPTIONS/", 1), "", auth...)
	}
}

// A poll that Portico has no record of goes by its path.
func TestPollWithoutARecord(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	m := s.machine("g", "m", "eastus")
	for path, region := range map[string]string{
		inSubscription + "/providers/Contoso.Compute/locations/eastus/operationResults/x": "eastus",
		m + "/operationResults/x": "eastus",
		inSubscription + "/providers/Contoso.Compute/operationStatuses/x": "global",
	} {
		s.want(404, "OperationNotFound", "GET", path+api, "")
		if requests := s.at(region).requests(); len(requests) == 0 || requests[len(requests)-1].Path != path {
			t.Errorf("%s did not reach %s: %v", path, region, requests)
		}
	}
	s.want(405, "MethodNotAllowed", "POST", inSubscription+"/providers/Contoso.Compute/operationStatuses/x"+api, "")
}

// A record counts for as long as the configuration says.
func TestRecordsEnd(t *testing.T) {
	s := newSite(t, setup{sections: "operations: {records: 1h}"})
	s.group("g")
	m := s.machine("g", "m", "eastus")
	first := s.ok(202, "POST", m+"/restart"+api, "", "x-contoso-duration", "3h", "x-contoso-operation-path", "provider")
	poll := s.local(first.header.Get("Location"))
	s.ok(202, "GET", poll, "")
	if requests := s.at("eastus").requests(); requests[len(requests)-1].Path != strings.SplitN(poll, "?", 2)[0] {
		t.Errorf("%v", requests)
	}
	s.clock.advance(2 * hour)
	s.want(404, "OperationNotFound", "GET", poll, "") // at the global endpoint
}

func TestAsynchronousAction(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	m := s.machine("g", "m", "eastus")
	first := s.ok(202, "POST", m+"/restart"+api, "", "x-contoso-duration", "1h", "x-contoso-retry-after", "1")
	if got := first.header.Get("Retry-After"); got != "10" {
		t.Errorf("Retry-After %s", got)
	}
	poll := s.local(first.header.Get("Location"))
	again := s.ok(202, "GET", poll, "")
	if again.header.Get("Location") != first.header.Get("Location") || again.header.Get("Retry-After") != "10" {
		t.Errorf("%v", again.header)
	}
	s.at("eastus").requests()
	s.at("eastus").clock.advance(2 * hour)
	s.ok(204, "GET", poll, "")
	if requests := s.at("eastus").requests(); len(requests) != 1 {
		t.Errorf("an action settles nothing, and yet: %v", requests)
	}
	if got := s.ok(202, "DELETE", m+api, "", "x-contoso-async", "no-url", "x-contoso-retry-after", "9999"); got.header.Get("Retry-After") != "600" {
		t.Errorf("%v", got.header)
	}
	// A refusal's is the provider's own.
	if got := s.want(429, "TooManyRequests", "GET", m+api, "", "x-contoso-fault", "throttle=7"); got.header.Get("Retry-After") != "7" {
		t.Errorf("%v", got.header)
	}
}

// A further URL of one operation belongs to it.
func TestPollThatNamesAFurtherURL(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	m := s.machine("g", "m", "westus")
	first := s.ok(202, "DELETE", m+api, "", "x-contoso-async", "azure-async-only", "x-contoso-duration", "1h")
	// Of this operation, only its status was recorded; its result names itself.
	status := s.local(first.header.Get("Azure-Asyncoperation"))
	result := strings.Replace(status, "operationStatuses", "operationResults", 1)
	s.ok(202, "GET", result, "")
	if _, err := s.recordedOperation(result); err != nil {
		t.Errorf("the further URL has no record: %v", err)
	}
	s.at("westus").clock.advance(2 * hour)
	s.ok(200, "GET", status, "")
	if _, there := s.row(m); there {
		t.Error("the row stays")
	}
}

// The runner that a gateway makes asks for what clients do not.
func TestRunner(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	m := s.machine("g", "m", "westus")
	s.ok(202, "DELETE", m+api, "", "x-contoso-async", "no-url", "x-contoso-duration", "0s")
	ctx, stop := context.WithTimeout(t.Context(), 20*time.Second)
	done := make(chan struct{})
	go func() { defer close(done); s.gateway.Run(ctx) }()
	s.within("the end of the delete", func() bool { _, there := s.row(m); return !there })
	stop()
	<-done
	for _, request := range s.at("westus").requests() {
		if request.Method == "GET" && !strings.HasPrefix(request.Headers.Get("X-Ms-Routing-Request-Id"), "WESTUS:") {
			t.Errorf("%v", request.Headers)
		}
	}
}
