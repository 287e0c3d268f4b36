package gateway_test

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	adminapi "portico/gateway/admin/api"
	"portico/inventory"
	"portico/inventory/jobrow"
)

// unsticks orders a step, and wants it taken.
func (s *site) unsticks(what, name, step string) adminapi.Unstuck {
	s.t.Helper()
	return decode[adminapi.Unstuck](s.t, s.request(200, "", "POST", "/admin/unstick", unstickOrder(what, name, step)))
}

// wouldUnstick has a step only rehearsed, for which no reason is needed.
func (s *site) wouldUnstick(what, name, step string) adminapi.Unstuck {
	s.t.Helper()
	done := decode[adminapi.Unstuck](s.t, s.request(200, "", "POST", "/admin/unstick", fmt.Sprintf(`{%q:%q,"step":%q,"dryRun":true}`, what, name, step)))
	if !done.DryRun || done.Outcome == "" {
		s.t.Errorf("%+v", done)
	}
	return done
}

// stays orders a step that is refused; says is part of why.
func (s *site) stays(status int, code, what, name, step, says string) seen {
	s.t.Helper()
	got := s.request(status, code, "POST", "/admin/unstick", unstickOrder(what, name, step))
	if !strings.Contains(got.text, says) {
		s.t.Errorf("%s of %s: %s", step, name, got.text)
	}
	return got
}

func unstickOrder(what, name, step string) string {
	return fmt.Sprintf(`{%q:%q,"step":%q,"reason":"the datacentre burnt down"}`, what, name, step)
}

// A row in doubt is asked for, and forgotten as soon as nothing may make it.
func TestUnstickResource(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	m := s.machine("g", "m", "westus")
	s.stays(409, "Conflict", "id", m, "forget", "ask first")
	s.stays(409, "Conflict", "id", m, "giveUp", "ask again")
	s.request(409, "Conflict", "POST", "/admin/unstick", `{"id":"`+m+`","step":"giveUp","dryRun":true}`)
	s.want(500, "ContosoFault", "PUT", m+api, westus, "x-contoso-fault", "status=500")
	for range 2 {
		if done := s.unsticks("id", m, "ask"); len(done.Jobs) != 1 || done.Target != m || done.Step != "ask" {
			t.Errorf("%+v", done)
		}
	}
	job := s.unsticks("id", m, "ask").Jobs[0]
	if done := s.unsticks("job", job, "ask"); len(done.Jobs) != 1 || done.Jobs[0] != job {
		t.Errorf("%+v", done)
	}
	for _, step := range []string{"giveUp", "forget"} {
		if got := s.stays(409, "Conflict", "id", m, step, "It ends at 20"); got.header.Get("Retry-After") == "" {
			t.Errorf("%s: %v", step, got.header)
		}
	}
	s.expireOpenWrites()
	orders := strings.Count(s.log.String(), `"msg":"unstick"`)
	s.wouldUnstick("id", m, "ask")
	dry := s.wouldUnstick("job", job, "forget")
	if _, there := s.row(m); !there || strings.Count(s.log.String(), `"msg":"unstick"`) != orders {
		t.Error("a dry run has done it")
	}
	done := s.unsticks("job", job, "forget")
	if dry.DryRun = false; fmt.Sprint(dry) != fmt.Sprint(done) {
		t.Errorf("a dry run said %+v, it was %+v", dry, done)
	}
	if _, there := s.row(m); there {
		t.Error("the row stands")
	}
	s.stays(404, "ResourceNotFound", "id", m, "forget", "")
	if log := s.log.String(); !strings.Contains(log, `"msg":"unstick"`) || !strings.Contains(log, "the datacentre burnt down") {
		t.Error("the audit log has no line of it")
	}
	reported := s.changes("limit=100").Value
	if last := reported[len(reported)-1]; !strings.EqualFold(last.Subject, m) || last.Type != "Microsoft.Resources.ResourceDeleteSuccess" {
		t.Errorf("%+v", last)
	}

	// What is alive stays so.
	alive := s.machine("g", "alive", "westus")
	s.unsticks("id", alive, "ask")
	s.work()
	s.within("the answer", func() bool { row, there := s.row(alive); return there && !row.Verify })
}

// A call that may be running holds up what an operator says.
func TestUnstickWhileACallRuns(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	m := s.machine("g", "m", "westus")
	ticket := s.begin(m, "westus")
	s.unsticks("id", m, "ask")
	for _, step := range []string{"forget"} {
		s.stays(409, "Conflict", "id", m, step, ticket.NotAfter.UTC().Format(time.RFC3339))
	}
	unknown := machinePath("g", "unknown")
	s.want(500, "ContosoFault", "PUT", machinePath("g", "new")+api, westus, "x-contoso-fault", "status=500")
	s.begin(unknown, "westus")
	for _, step := range []string{"ask", "forget"} {
		s.stays(409, "Conflict", "id", unknown, step, "ends at")
	}
	s.stays(409, "Conflict", "id", unknown, "giveUp", "A call may be in progress")
}

// An operation is asked for by whatever names it, and given up at its limit.
func TestUnstickOperation(t *testing.T) {
	s := newSite(t, setup{sections: "operations: {retryAfterMin: 1s}"})
	s.group("g")
	m := s.machine("g", "m", "westus")
	accepted := s.ok(202, "DELETE", m+api, "", "x-contoso-async", "location", "x-contoso-duration", "100h")
	for what, name := range map[string]string{"id": m, "operation": accepted.header.Get("Location")} {
		if done := s.unsticks(what, name, "ask"); len(done.Jobs) != 1 {
			t.Errorf("%s: %+v", what, done)
		}
		refused := s.stays(409, "Conflict", what, name, "giveUp", "index.followLimit")
		if wait, err := strconv.Atoi(refused.header.Get("Retry-After")); err != nil || wait < 23*60*60 {
			t.Errorf("it may be given up in a day, and is said to in %d s", wait)
		}
	}
	s.clock.advance(25 * time.Hour)
	s.unsticks("operation", accepted.header.Get("Location"), "giveUp")
	if row, _ := s.row(m); row.FollowDelete || !row.Verify {
		t.Errorf("%+v", row)
	}
	s.stays(409, "Conflict", "id", m, "giveUp", "may still take effect")
	for _, unknown := range []string{"https://portico.example" + inSubscription + "/operationresults/none?api-version=2020-01-01", m} {
		s.stays(404, "ResourceNotFound", "operation", unknown, "ask", "")
	}
}

// The deletion of a group, and a move, end as cancelled.
func TestUnstickGroups(t *testing.T) {
	s := newSite(t, setup{})
	g := s.group("g")
	s.machine("g", "m", "westus")
	s.stays(409, "Conflict", "id", g, "ask", "no pending work")
	s.stays(404, "ResourceGroupNotFound", "id", groupPath("none"), "ask", "")
	s.rule("westus", "DELETE", "virtualMachines/m", "status=500", -1)
	accepted := s.ok(202, "DELETE", g+own, "")
	s.stays(409, "Conflict", "id", g, "forget", "give it up")
	s.unsticks("id", g, "ask")
	s.unsticks("operation", accepted.header.Get("Location"), "ask")
	for range 2 {
		s.unsticks("id", g, "giveUp")
	}
	stop := s.working()
	if got := s.endAsTimePasses(time.Second, accepted); got.status < 400 {
		t.Errorf("%d %s", got.status, got.text)
	}
	stop()
	s.ok(200, "GET", g+own, "")
	s.stays(409, "Conflict", "id", g, "giveUp", "no pending work")

	s.group("from")
	to := s.group("to")
	moving := s.machine("from", "m2", "westus")
	accepted = s.ok(202, "POST", groupPath("from")+"/moveResources"+own, moveTo(to, moving))
	s.unsticks("id", groupPath("from"), "giveUp")
	s.work()
	s.endAsTimePasses(time.Second, accepted)
	s.ok(200, "PUT", moving+api, westus)
}

// A fence goes only when its time is over.
func TestUnstickFence(t *testing.T) {
	s := newSite(t, setup{})
	g := s.group("g")
	m := s.machine("g", "m", "westus")
	s.stays(404, "ResourceNotFound", "fence", m, "ask", "")
	s.stays(404, "ResourceNotFound", "fence", m, "forget", "")
	s.want(502, "BadGatewayConnection", "DELETE", m+api, "", "x-contoso-fault", "reset-after")
	stop := s.working()
	s.removed(g)
	stop()
	s.group("g")
	s.want(409, "Conflict", "PUT", m+api, westus)
	if done := s.unsticks("fence", m, "ask"); len(done.Jobs) != 1 {
		t.Errorf("%+v", done)
	}
	s.stays(409, "Conflict", "fence", m, "giveUp", "forget")
	s.stays(409, "Conflict", "fence", m, "forget", "It ends at")
	s.clock.advance(5 * time.Minute)
	s.unsticks("fence", m, "forget")
	s.stays(404, "ResourceNotFound", "fence", m, "forget", "")
	s.ok(201, "PUT", m+api, westus)
}

// A stray is forgotten beside its row, a notice to an endpoint that does not answer is
// given up.
func TestUnstickStrayAndNotice(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	m := s.machine("g", "m", "westus")
	row, _ := s.row(m)
	row.Region = "eastus"
	if result, err := s.store.Adopt(t.Context(), inventory.Discovery{Resource: row, ListedSince: s.store.Now()}); err != nil || result != inventory.Strayed {
		t.Fatal(result, err)
	}
	order := fmt.Sprintf(`{"id":%q,"region":"East US","step":"forget","reason":"r"}`, m)
	s.request(200, "", "POST", "/admin/unstick", order)
	s.request(404, "ResourceNotFound", "POST", "/admin/unstick", order)
	if _, there := s.row(m); !there {
		t.Error("the row has gone")
	}

	s.request(201, "", "PUT", "/admin/subscriptions/"+foreign, fmt.Sprintf(`{"tenantId":%q}`, tenant))
	jobs, err := s.store.Jobs.List(t.Context(), jobrow.Query{Kind: inventory.NoticeJob})
	if err != nil || len(jobs) == 0 {
		t.Fatal(jobs, err)
	}
	name := jobs[0].Name()
	s.unsticks("job", name, "ask")
	s.stays(409, "Conflict", "job", name, "forget", "give it up")
	s.unsticks("job", name, "giveUp")
	s.stays(409, "Conflict", "job", name, "giveUp", "has ended")
	// Jobs of which no one knows how to give them up.
	s.stays(409, "Conflict", "job", s.addJob("survey", "s", "{}"), "giveUp", "can only end by itself")
}

// What makes no sense is refused, and changes nothing.
func TestUnstickRefusesNonsense(t *testing.T) {
	s := newSite(t, setup{server: ", adminToken: {sha256: " + sha("operator") + "}"})
	s.request(401, "AuthenticationFailed", "POST", "/admin/unstick", `{}`)
	token := []string{"Authorization", bearer("operator")}
	m := machinePath("g", "m")
	for _, content := range []string{
		``, `{}`, `[]`, `{"step":"ask"}`, `{"id":"` + m + `"}`, `{"id":"` + m + `","step":"delete"}`, `{"id":"` + m + `","job":"x","step":"ask"}`,
		`{"id":"` + m + `","step":"forget"}`, `{"id":"` + m + `","step":"forget","reason":"  "}`, `{"id":"` + m + `","step":"forget","reason":"a\nb"}`,
		`{"id":"` + m + `","step":"forget","reason":"` + strings.Repeat("x", 513) + `"}`, `{"id":"` + inSubscription + `","step":"ask"}`,
		`{"id":"` + m + `","resource":"` + m + `","step":"giveUp"}`, `{"id":"/","step":"ask"}`, `{"job":"x","region":"westus","step":"ask"}`,
		`{"operation":":","step":"ask"}`, `{"operation":"x","step":"ask"}`, `{"fence":"/subscriptions","step":"ask"}`, `{"id":"` + m + `","step":"ask","unknown":1}`,
	} {
		if got := s.ask("POST", "/admin/unstick", content, token...); got.status != 400 {
			t.Errorf("%s: %d %s", content, got.status, got.text)
		}
	}
	for _, job := range []string{"x", "-." + strings.Repeat("0", 32)} {
		s.request(404, "ResourceNotFound", "POST", "/admin/unstick", unstickOrder("job", job, "ask"), token...)
	}
	s.request(404, "ResourceNotFound", "POST", "/admin/unstick", unstickOrder("operation", "/", "ask"), token...)
	s.request(404, "ResourceNotFound", "POST", "/admin/unstick", unstickOrder("operation", "/"+url.PathEscape("ü")+"?a=b", "ask"), token...)
	for _, id := range []string{m, groupPath("g") + "/providers", groupPath("g") + "/providers/Contoso.Compute"} {
		s.request(404, "ResourceNotFound", "POST", "/admin/unstick", unstickOrder("id", id, "forget"), token...)
	}
	s.request(405, "", "GET", "/admin/unstick", "", token...)
}

// Once the cancellation of a deletion was ordered, whatever shows the deletion says that, and
// no longer what it waited for before.
func TestDeletionThatIsBeingCanceled(t *testing.T) {
	s := newSite(t, setup{})
	g := s.group("g")
	m := s.machine("g", "m", "westus")
	s.machine("g", "gone", "eastus")
	s.rule("westus", "DELETE", "virtualMachines/m", "status=500", -1)
	s.rule("eastus", "DELETE", "virtualMachines/gone", "reset-after", 1)
	accepted := s.ok(202, "DELETE", g+own, "")
	status := func() seen { return s.do("GET", s.statusOf(accepted), "") }
	stop := s.working()
	s.within("its waits", func() bool {
		now := status().text
		return strings.Contains(now, `"waits":[`) && strings.Contains(now, "virtualMachines/m") && strings.Contains(now, `"status":"Deleting"`)
	})
	stop()
	s.unsticks("id", g, "giveUp")
	says := func(when string) {
		t.Helper()
		if now := status().text; !strings.Contains(now, `"status":"Canceling"`) || !strings.Contains(now, "It is being canceled: nothing more is sent") || strings.Contains(now, "tried again") || strings.Contains(now, `"waitingFor"`) {
			t.Errorf("%s: %s", when, now)
		}
		for id, version := range map[string]string{g: own, m: api} {
			held := s.explained(adminapi.Question{Method: "PUT", Path: id + version, Content: westus}).HeldBy
			if len(held) != 1 || !strings.Contains(held[0].Message, "It is being canceled") || strings.Contains(held[0].LastOutcome, "do not answer") {
				t.Errorf("%s: %s is held by %+v", when, id, held)
			}
		}
	}
	says("at once")
	stop = s.working()
	s.within("what the end of the cancellation waits for", func() bool {
		now := status().text
		return strings.Contains(now, "may still take effect") || strings.Contains(now, `"endTime"`)
	})
	stop()
	if now := status().text; strings.Contains(now, "may still take effect") {
		says("while a call may land")
	}
	s.work()
	if got := s.endAsTimePasses(time.Minute, accepted); got.status != 409 || got.code != "OperationCanceled" {
		t.Errorf("%d %s", got.status, got.text)
	}
	if now := status().text; !strings.Contains(now, `"status":"Canceled"`) || strings.Contains(now, "being canceled") {
		t.Errorf("at its end: %s", now)
	}
}
