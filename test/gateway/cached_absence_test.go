package gateway_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"portico/inventory"
	"portico/inventory/index"
)

// moved is a machine that one gateway still remembers in westus after another
// made it anew in eastus.
func moved(s, other *site, name string) string {
	s.t.Helper()
	m := s.machine("g", name, "westus")
	s.ok(200, "GET", m+api, "")
	other.ok(200, "DELETE", m+api, "")
	other.ok(201, "PUT", m+api, eastus)
	return m
}

// What lies below a resource, or extends it, is placed by it: an answer from a
// stale place is no proof of absence for it either.
func TestStaleCacheOfAParent(t *testing.T) {
	s := newSite(t, setup{hurried: true})
	other := replica(t, s)
	s.group("g")
	s.ok(200, "POST", register, "")
	const command, setting = "/runCommands/r", "/providers/Contoso.Insight/diagnosticSettings/d"
	for name, c := range map[string]struct{ created, method, path string }{
		"proxy":     {command, "GET", command},
		"proxyHead": {command, "HEAD", command},
		"extension": {setting, "GET", setting},
		"extHead":   {setting, "HEAD", setting},
		"skus":      {"", "GET", "/skus"},
	} {
		m := moved(s, other, name)
		if c.created != "" {
			other.ok(201, "PUT", m+c.created+api, `{"properties":{}}`)
		}
		want := 200
		if c.method == "HEAD" {
			want = 204
		}
		s.ok(want, c.method, m+c.path+api, "")
		s.at("westus").requests()
		s.ok(want, c.method, m+c.path+api, "")
		if requests := s.at("westus").requests(); len(requests) != 0 {
			t.Errorf("%s: the cache was not corrected: %v", name, requests)
		}
	}
}

func TestStaleCacheOfANestedList(t *testing.T) {
	s := newSite(t, setup{})
	other := replica(t, s)
	s.group("g")
	for _, stray := range []bool{false, true} {
		m := moved(s, other, map[bool]string{false: "gone", true: "stray"}[stray])
		other.ok(201, "PUT", m+"/disks/d"+api, `{}`)
		if stray { // so that the list there is empty, and no 404
			s.at("westus").do("PUT", m+api, westus, 201)
		}
		if got := s.names(m + "/disks" + api); got != "d" {
			t.Errorf("a stale region's list: %q", got)
		}
	}
	// An empty list that is true goes out, after one look.
	m := s.machine("g", "m", "westus")
	s.ok(200, "GET", m+api, "")
	s.at("westus").requests()
	if got := s.names(m + "/disks" + api); got != "" {
		t.Errorf("%q", got)
	}
	if requests := s.at("westus").requests(); len(requests) != 1 {
		t.Errorf("%v", requests)
	}
}

func TestStaleCacheOfAPoll(t *testing.T) {
	s := newSite(t, setup{})
	other := replica(t, s)
	s.group("g")
	m := moved(s, other, "m")
	s.at("eastus").requests()
	s.do("GET", m+"/operationResults/x"+api, "")
	if requests := s.at("eastus").requests(); len(requests) != 1 {
		t.Errorf("where it lies was not asked: %v", requests)
	}
	m = s.machine("g", "n", "westus")
	s.ok(200, "GET", m+api, "")
	other.ok(200, "DELETE", m+api, "")
	s.want(404, "ResourceNotFound", "GET", m+"/operationResults/x"+api, "")
}

// A 404 from a stale place is asked for again, and what a client is told of absence
// proves nothing: only the front door's own question removes the row.
func TestReadThatAWriteOvertook(t *testing.T) {
	s := newSite(t, setup{})
	other := replica(t, s)
	s.group("g")
	m := s.machine("g", "m", "westus")
	s.ok(200, "GET", m+api, "")
	other.ok(200, "PUT", m+api, westus) // another generation, in the same region
	s.at("westus").fault("GET", m, "status=404")
	s.ok(200, "GET", m+api, "")
	if row, there := s.row(m); !there || !firm(row) {
		t.Errorf("the row of a living resource: %v %+v", there, row)
	}
	s.at("westus").fault("GET", m, "status=404")
	s.want(404, "ContosoFault", "GET", m+api, "")
	if row, there := s.row(m); !there || !firm(row) {
		t.Errorf("removed by what a client was told: %v %+v", there, row)
	}
	// Nor does a 404 of the front door's own that does not speak of the resource.
	s.at("westus").fault("GET", m, "status=404")
	s.at("westus").fault("GET", m, "status=404")
	s.want(404, "ContosoFault", "GET", m+api, "")
	if row, there := s.row(m); !there || !row.Verify {
		t.Errorf("after a 404 that says nothing: %v %+v", there, row)
	}
	s.at("westus").do("DELETE", m+api, "", 200)
	s.want(404, "ResourceNotFound", "GET", m+api, "")
	if _, there := s.row(m); there {
		t.Error("the row stays")
	}
}

// begin records a DELETE that no one settles, as when its settle was lost.
func (s *site) begin(id, region string) inventory.Ticket {
	s.t.Helper()
	ticket, err := s.store.Begin(context.Background(), inventory.Write{
		Kind: index.Delete, Subscription: subscription, Group: "g", Key: id, ID: id, Type: "Contoso.Compute/virtualMachines",
		TypeName: "Contoso.Compute/virtualMachines", Region: region, APIVersion: "2024-01-01",
	})
	must(s.t, err)
	return ticket
}

// While a DELETE is open, its client may know that the resource is gone though
// the row says Live: HEAD asks.
func TestHeadWhileADeleteIsOpen(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	m := s.machine("g", "m", "westus")
	disk := m + "/disks/d"
	s.ok(201, "PUT", disk+api, `{}`)
	s.begin(m, "westus")
	s.at("westus").requests()
	s.ok(204, "HEAD", disk+api, "")
	s.ok(204, "HEAD", m+api, "")
	if requests := s.at("westus").requests(); len(requests) != 2 {
		t.Errorf("%v", requests)
	}
	other := s.machine("g", "other", "westus")
	s.begin(other, "westus")
	s.at("westus").do("DELETE", other+api, "", 200)
	if row, there := s.row(other); !there || !firm(row) {
		t.Fatalf("%+v", row)
	}
	s.ok(404, "HEAD", other+api, "")
	if _, there := s.row(other); there {
		t.Error("the row stays")
	}
}

func TestWriteElsewhereWhileADeleteIsOpen(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	m := s.machine("g", "m", "westus")
	s.begin(m, "westus")
	// It stands, and yet the delete may land.
	s.want(409, "Conflict", "PUT", m+api, eastus)
	n := s.machine("g", "n", "westus")
	s.begin(n, "westus")
	s.at("westus").do("DELETE", n+api, "", 200)
	s.ok(201, "PUT", n+api, eastus)
	if row, _ := s.row(n); row.Region != "eastus" {
		t.Errorf("%+v", row)
	}
}

// The end of an operation is told within the time of one question, whatever the
// provider does.
func TestPollWhoseResourceDoesNotAnswer(t *testing.T) {
	s := newSite(t, setup{hurried: true})
	s.group("g")
	m := s.machine("g", "m", "westus")
	got := s.ok(202, "DELETE", m+api, "", "x-contoso-async", "azure-async", "x-contoso-duration", "0s")
	s.at("westus").fault("GET", "virtualMachines/m", "stall")
	poll := s.local(got.header.Get("Azure-Asyncoperation"))
	if answer := s.do("GET", poll, ""); answer.status != http.StatusOK || !strings.Contains(answer.text, "Succeeded") {
		s.t.Errorf("%d %s", answer.status, answer.text)
	}
	if row, there := s.row(m); !there || !row.Verify {
		t.Errorf("%v %+v", there, row)
	}
	s.ok(200, "GET", poll, "")
	if _, there := s.row(m); there {
		t.Error("the row stays")
	}
}

// So it is where the front door's own poll gets no answer: nothing is asked after that.
func TestPollWhoseOperationDoesNotAnswer(t *testing.T) {
	s := newSite(t, setup{hurried: true})
	s.group("g")
	m := s.machine("g", "m", "westus")
	got := s.ok(202, "DELETE", m+api, "", "x-contoso-async", "azure-async", "x-contoso-duration", "0s")
	s.at("westus").fault("GET", "operationStatuses/", "stall")
	poll := s.local(got.header.Get("Azure-Asyncoperation"))
	s.at("westus").requests()
	if answer := s.do("GET", poll, "", "x-contoso-fault", "delay=0s"); answer.status != http.StatusOK || !strings.Contains(answer.text, "Succeeded") {
		s.t.Errorf("%d %s", answer.status, answer.text)
	}
	if requests := s.at("westus").requests(); len(requests) != 2 || requests[0].Path != requests[1].Path {
		t.Errorf("%v", requests)
	}
	if row, there := s.row(m); !there || !row.FollowDelete {
		t.Errorf("%v %+v", there, row)
	}
	s.within("the row's end", func() bool { // a poll gives up a provider that is slow to confirm it
		s.ok(200, "GET", poll, "")
		_, there := s.row(m)
		return !there
	})
}

// The subscription's state is looked at where the intent is recorded.
func TestSubscriptionThatChangesMeanwhile(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	m := machinePath("g", "m")
	for state, code := range map[inventory.SubscriptionState]string{
		inventory.Disabled: "ReadOnlyDisabledSubscription", inventory.Warned: "ReadOnlyDisabledSubscription",
	} {
		s.subscribe(subscription, tenant, inventory.Enabled)
		if got := s.overtaken("PUT", m+api, westus, func() { s.subscribe(subscription, tenant, state) }); got.code != code {
			t.Errorf("%s: %d %q", state, got.status, got.code)
		}
	}
	s.subscribe(subscription, tenant, inventory.Enabled)
	s.machine("g", "m", "westus")
	if got := s.overtaken("DELETE", m+api, "", func() { s.subscribe(subscription, tenant, inventory.Disabled) }); got.status != 200 {
		t.Errorf("%d %q", got.status, got.code)
	}
	s.subscribe(subscription, tenant, inventory.Enabled)
	if got := s.overtaken("PUT", m+api, westus, func() { s.subscribe(subscription, tenant, inventory.Deleted) }); got.code != "SubscriptionNotFound" {
		t.Errorf("Deleted: %d %q", got.status, got.code)
	}
}
