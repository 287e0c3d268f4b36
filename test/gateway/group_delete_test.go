package gateway_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"portico/inventory"
	"portico/inventory/index"
)

// work has the site's jobs done until the test ends.
func (s *site) work() { s.t.Cleanup(s.working()) }

// working has the site's jobs done until it is stopped.
func (s *site) working() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); s.gateway.Run(ctx) }()
	return func() { cancel(); <-done }
}

// end polls the deletion of a group, or another of the gateway's own operations,
// to its end, as its 202 says.
func (s *site) end(accepted seen, header ...string) (got seen) {
	s.t.Helper()
	return s.endAsTimePasses(0, accepted, header...)
}

// standstill is for how long an operation may make no progress before the clock
// goes on by itself: what was put off just after a test had set the clock would
// never fall due.
const standstill = 3 * time.Second

// endAsTimePasses is end for deletions that wait for what may still land: the
// clock goes on by step from poll to poll, so that it does not matter which call
// was the last to be made.
func (s *site) endAsTimePasses(step time.Duration, accepted seen, header ...string) (got seen) {
	s.t.Helper()
	if accepted.status != 202 {
		s.t.Fatalf("%d %s", accepted.status, accepted.text)
	}
	started := time.Now()
	for bound := started.Add(3 * time.Minute); time.Now().Before(bound); time.Sleep(2 * time.Millisecond) {
		if got = s.do("GET", s.local(accepted.header.Get("Location")), "", header...); got.status != 202 {
			return got
		}
		if time.Since(started) > standstill {
			step = max(step, time.Second)
		}
		s.clock.advance(step)
	}
	s.t.Fatal("the end of a deletion: not within the bound")
	return got
}

// removed deletes a group, and wants it gone.
func (s *site) removed(group string) {
	s.t.Helper()
	if got := s.end(s.ok(202, "DELETE", group+own, "")); got.status != 200 || got.text != "" {
		s.t.Errorf("%d %s", got.status, got.text)
	}
	s.want(404, "ResourceGroupNotFound", "GET", group+own, "")
}

// deletionFault is how a deletion that failed says why.
type deletionFault struct {
	Error struct {
		Code, Message string
		Details       []struct {
			Code            *string
			Target, Message string
		}
	}
}

// blocked deletes a group, and wants it to stay with exactly these resources.
func (s *site) blocked(group string, ids ...string) deletionFault {
	s.t.Helper()
	got := s.end(s.ok(202, "DELETE", group+own, ""))
	if got.status != 409 || got.code != "ResourceGroupDeletionBlocked" {
		s.t.Fatalf("%d %s", got.status, got.text)
	}
	fault := decode[deletionFault](s.t, got)
	var left []string
	for _, d := range fault.Error.Details {
		left = append(left, d.Target)
		if d.Code == nil || *d.Code == "" || d.Message == "" || strings.Contains(d.Message, "{") {
			s.t.Errorf("%s", got.text)
		}
	}
	if !slices.Equal(left, ids) {
		s.t.Errorf("left %v, want %v", left, ids)
	}
	if text := s.ok(200, "GET", group+own, "").text; !strings.Contains(text, `"Succeeded"`) {
		s.t.Errorf("%s", text)
	}
	return fault
}

func TestGroupIsDeletedWithItsResources(t *testing.T) {
	s := newSite(t, setup{})
	g := s.group("g")
	b, a := s.machine("g", "B", "westus"), s.machine("g", "a", "eastus")
	s.ok(201, "PUT", b+"/disks/d"+api, `{}`)
	s.ok(201, "PUT", b+"/runCommands/r"+api, `{}`) // holds nothing back
	s.want(412, "PreconditionFailed", "DELETE", g+own, "", "If-Match", `"stale"`)
	for _, e := range s.providers {
		e.requests()
	}

	const correlation = "00000000-0000-0000-0000-00000000cafe"
	got := s.ok(202, "DELETE", g+own, "", "x-ms-correlation-request-id", correlation)
	location, status := got.header.Get("Location"), s.statusOf(got)
	if got.text != "" || got.header.Get("Retry-After") != "1" || !strings.HasPrefix(location, "http://portico.example"+inSubscription+"/operationresults/") ||
		len(got.header["Azure-Asyncoperation"]) != 0 {
		t.Errorf("%q %v", got.text, got.header)
	}
	if strings.Contains(location, correlation) || strings.Contains(location, got.header.Get("X-Ms-Request-Id")) {
		t.Errorf("the operation's id is shown elsewhere: %s", location)
	}
	if text := s.ok(200, "GET", g+own, "").text; !strings.Contains(text, `"Deleting"`) {
		t.Errorf("%s", text)
	}
	for _, write := range [][2]string{{"PUT", g}, {"PATCH", g}, {"PUT", machinePath("g", "new")}, {"DELETE", a}, {"PATCH", a}} {
		s.want(409, "ResourceGroupBeingDeleted", write[0], write[1]+api, westus)
	}
	running := s.ok(202, "GET", s.local(location), "")
	if running.header.Get("Location") != location || running.header.Get("Retry-After") != "1" {
		t.Errorf("%v", running.header)
	}
	if now := decode[operationStatus](t, s.ok(200, "GET", status, "")); now.Status != "Deleting" || now.PercentComplete != 0 || now.EndTime != nil {
		t.Errorf("%+v", now)
	}

	s.work()
	if got := s.end(got); got.status != 200 || got.text != "" || got.header.Get("Content-Length") != "0" || got.header.Get("Location") != "" {
		t.Errorf("%d %q %v", got.status, got.text, got.header)
	}
	ended := decode[operationStatus](t, s.ok(200, "GET", status, ""))
	if ended.Status != "Succeeded" || ended.PercentComplete != 100 || ended.Deleted != 3 || ended.Total != 3 || ended.EndTime == nil || ended.Error != nil ||
		!strings.HasSuffix(status, ended.Name+own) {
		t.Errorf("%+v", ended)
	}
	deletes := 0
	for _, e := range s.providers {
		for _, r := range e.requests() {
			if !strings.EqualFold(r.Headers.Get("X-Ms-Correlation-Request-Id"), correlation) {
				t.Errorf("%s %s has another correlation: %v", r.Method, r.Path, r.Headers)
			}
			if r.Method == http.MethodDelete {
				deletes++
			}
		}
		if left := e.holds(); len(left) != 0 {
			t.Errorf("left: %v", left)
		}
	}
	if deletes != 2 { // the disk goes with its machine
		t.Errorf("%d deletes", deletes)
	}
	s.group("g")
	s.machine("g", "a", "westus")
}

// An operation is there for whoever began it alone; who joins has one of their
// own.
func TestDeletionsAreTheirCallers(t *testing.T) {
	s := newSite(t, setup{tokens: true})
	first, other, foreign := []string{"Authorization", bearer(secret)}, []string{"Authorization", bearer(second)}, []string{"Authorization", bearer(stranger)}
	g := groupPath("g")
	s.ok(201, "PUT", g+own, westus, first...)
	s.ok(201, "PUT", machinePath("g", "m")+api, westus, first...)
	started := s.ok(202, "DELETE", g+own, "", first...)
	joined := s.ok(202, "DELETE", g+own, "", other...)
	s.want(404, "SubscriptionNotFound", "DELETE", g+own, "", foreign...)
	if started.header.Get("Location") == joined.header.Get("Location") {
		t.Error("two callers have one operation")
	}
	for _, url := range []func(seen) string{s.resultOf, s.statusOf} {
		s.want(404, "HttpResourceNotFound", "GET", url(started), "", other...)
		s.want(404, "HttpResourceNotFound", "GET", url(joined), "", first...)
		s.want(404, "SubscriptionNotFound", "GET", url(joined), "", foreign...)
	}
	s.want(404, "HttpResourceNotFound", "GET", inSubscription+"/operationresults/00000000-0000-0000-0000-00000000dead"+own, "", first...)
	s.work()
	if got := s.end(started, first...); got.status != 200 {
		t.Errorf("%d %s", got.status, got.text)
	}
	if got := s.end(joined, other...); got.status != 200 {
		t.Errorf("%d %s", got.status, got.text)
	}
}

// rule has a provider misbehave.
func (s *site) rule(region, method, path, fault string, count int) {
	s.t.Helper()
	s.at(region).do("POST", "/contoso/faults", fmt.Sprintf(`{"method":%q,"pathContains":%q,"fault":%q,"count":%d}`, method, path, fault, count), 201)
}

// Deletes that are accepted are followed to their end; one that fails is told in
// its provider's words.
func TestGroupIsDeletedAsynchronously(t *testing.T) {
	s := newSite(t, setup{})
	s.work()
	g := s.group("g")
	m := s.machine("g", "m", "eastus")
	s.ok(202, "DELETE", m+api, "", "x-contoso-async", "no-url", "x-contoso-duration", "1h")
	accepted := s.ok(202, "DELETE", g+own, "")
	s.within("the status", func() bool {
		now := decode[operationStatus](t, s.ok(200, "GET", s.statusOf(accepted), ""))
		return now.InFlight == 1
	})
	s.at("eastus").clock.advance(2 * hour)
	if got := s.end(accepted); got.status != 200 {
		t.Errorf("%d %s", got.status, got.text)
	}
	for _, r := range s.at("eastus").requests() {
		if r.Method == http.MethodDelete && r.Headers.Get("x-contoso-async") == "" {
			t.Errorf("what was being deleted was deleted again: %v", r)
		}
	}
}

// A call that may be running holds the group back even where no resource is left. One
// that has ended without an answer does not: it leaves a fence, under which nothing is
// made anew for as long as it may land.
func TestGroupStaysWhileACallMayRun(t *testing.T) {
	s := newSite(t, setup{})
	for _, running := range []bool{false, true} {
		g := s.group("g")
		m := s.machine("g", "m", "westus")
		var ticket inventory.Ticket
		if running {
			ticket = s.begin(m, "westus")
		} else {
			s.want(502, "BadGatewayConnection", "DELETE", m+api, "", "x-contoso-fault", "reset-after")
		}
		accepted := s.ok(202, "DELETE", g+own, "")
		if !running { // earlier, it might find out that the resource has gone, and leave an empty group
			s.work()
		}
		s.within("the end of its row", func() bool { _, there := s.row(m); return !there })
		if running {
			s.within("what is waited for", func() bool {
				now := decode[operationStatus](t, s.ok(200, "GET", s.statusOf(accepted), ""))
				return len(now.Waits) == 1 && strings.EqualFold(now.Waits[0].ID, m)
			})
			s.ok(202, "GET", s.local(accepted.header.Get("Location")), "")
			if _, err := s.store.Settle(t.Context(), ticket, inventory.WriteResult{Outcome: index.Ambiguous}); err != nil {
				t.Fatal(err)
			}
		}
		s.within("the end", func() bool { return s.do("GET", s.local(accepted.header.Get("Location")), "").status == 200 })

		s.want(404, "ResourceGroupNotFound", "GET", m+api, "")
		s.group("g")
		s.want(404, "ResourceNotFound", "GET", m+api, "")
		s.ok(404, "HEAD", m+api, "")
		s.ok(204, "DELETE", m+api, "")
		s.at("westus").requests()
		got := s.want(409, "Conflict", "PUT", m+api, eastus)
		if wait, err := strconv.Atoi(got.header.Get("Retry-After")); err != nil || wait < 10 || !strings.Contains(got.text, "'m'") {
			t.Errorf("%v %s", got.header, got.text)
		}
		if requests := s.at("westus").requests(); len(requests) != 0 {
			t.Errorf("under a fence: %v", requests)
		}
		s.ok(200, "DELETE", s.machine("g", "other", "westus")+api, "")
		s.clock.advance(2 * time.Minute)
		s.inTime("the end of the fence", func() bool { return s.do("PUT", m+api, eastus).status == 201 })
		s.removed(g)
	}
}

func TestGroupDeleteHasALimit(t *testing.T) {
	s := newSite(t, setup{})
	g := s.group("g")
	m := s.machine("g", "m", "eastus")
	s.rule("eastus", "", "machines/m", "status=503", -1)
	s.work()
	accepted := s.ok(202, "DELETE", g+own, "")
	s.within("a try", func() bool { return len(s.at("eastus").requests()) > 0 })
	s.clock.advance(2 * hour)
	got := s.endAsTimePasses(time.Second, accepted)
	got.says(t, "Deletion of resource group 'g' did not finish within the allowed time as resources with identifiers 'Contoso.Compute/virtualMachines/m' could not be deleted. "+
		"The provisioning state of the resource group will be rolled back. The tracking Id is '"+aGUID+"'. Please check audit logs for more details.")
	fault := decode[deletionFault](t, got)
	if got.status != 409 || got.code != "ResourceGroupDeletionTimeout" || len(fault.Error.Details) != 1 || fault.Error.Details[0].Target != m {
		t.Errorf("%d %s", got.status, got.text)
	}
	status := decode[operationStatus](t, s.do("GET", s.statusOf(accepted), ""))
	if status.Status != "Failed" || !strings.Contains(string(status.Error), "ResourceGroupDeletionTimeout") {
		t.Errorf("%+v", status)
	}
}

func TestGroupIsCreatedAnew(t *testing.T) {
	s := newSite(t, setup{})
	g := s.group("g")
	first, err := s.store.Group(t.Context(), subscription, "g")
	must(t, err)
	s.ok(200, "DELETE", g+own, "")
	s.ok(201, "PUT", g+own, eastus)
	again, err := s.store.Group(t.Context(), subscription, "g")
	must(t, err)
	if again.Incarnation == first.Incarnation || again.Location != "eastus" || again.State != index.GroupActive {
		t.Errorf("%+v", again)
	}
}
