package gateway_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"portico/events"
	adminapi "portico/gateway/admin/api"
)

// why is what the admin listener answers about one thing.
func (s *site) why(of string) adminapi.Why {
	s.t.Helper()
	w := report[adminapi.Why](s, "/admin/why?of="+url.QueryEscape(of))
	if w.Verdict == "" || strings.TrimSpace(w.Verdict) != w.Verdict || w.Searched == "" || w.Subject.ID == "" || w.Known == nil || w.Actions == nil || len(w.Known) > 100 {
		s.t.Errorf("%s: %+v", of, w)
	}
	for i, e := range w.Known {
		if i > 0 && e.Time.After(w.Known[i-1].Time) || e.What == "" || e.Text == "" || strings.TrimSpace(e.Text) != e.Text {
			s.t.Errorf("%s: entry %d of %+v", of, i, w.Known)
		}
	}
	return w
}

// knows finds the only entry of a kind whose text has a part.
func knows(t *testing.T, w adminapi.Why, what, part string) (found adminapi.WhyEntry) {
	t.Helper()
	n := 0
	for _, e := range w.Known {
		if e.What == what && strings.Contains(e.Text, part) {
			found = e
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d times %s %q in %+v", n, what, part, w.Known)
	}
	return found
}

const ticket = "00000000-0000-0000-0000-0000000000c7"

// A refusal is found by its correlation id and by its resource, with its sentence, its lock
// and nothing of other requests in the verdict.
func TestWhyOfARefusal(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	m := s.machine("g", "m", "westus")
	s.ok(201, "PUT", m+lockPlace+"/l"+own, canNotDelete)
	s.want(409, "ScopeLocked", "DELETE", m+api, "", "x-ms-correlation-request-id", ticket)
	s.want(409, "InvalidResourceLocation", "PUT", m+api, eastus)

	w := s.why(strings.ToUpper(ticket))
	e := knows(t, w, "event", vms+"/delete Failed ScopeLocked: The scope")
	if w.Subject.Kind != "correlation" || !strings.HasPrefix(w.Verdict, "m is in westus, Live. Last, at ") || !strings.Contains(w.Verdict, "/delete Failed ScopeLocked: The scope") || strings.Contains(w.Verdict, "InvalidResourceLocation") || e.Link != m || e.By == "" {
		t.Errorf("%+v, %+v", w, e)
	}
	knows(t, w, "error", "DELETE answered 409 ScopeLocked")
	w = s.why(strings.ToUpper(m))
	if w.Subject != (adminapi.WhySubject{Kind: "id", ID: m}) || !strings.Contains(w.Verdict, "Failed InvalidResourceLocation: ") {
		t.Errorf("%+v", w)
	}
	knows(t, w, "lock", "CanNotDelete")
	knows(t, w, "event", vms+"/write Succeeded")
	if w := s.why(groupPath("g")); !strings.HasPrefix(w.Verdict, "g exists. ") {
		t.Errorf("%+v", w)
	} else {
		knows(t, w, "error", "PUT answered 409 InvalidResourceLocation") // below it
	}
	if w := s.why(inSubscription); !strings.Contains(w.Verdict, subscription+" exists. ") {
		t.Errorf("%+v", w)
	}
	// A read has no event, only its answer.
	s.want(404, "ResourceNotFound", "GET", machinePath("g", "none")+api, "", "x-ms-correlation-request-id", "00000000-0000-0000-0000-0000000000c8")
	if w := s.why("00000000-0000-0000-0000-0000000000c8"); !strings.HasPrefix(w.Verdict, "Last, at ") || !strings.Contains(w.Verdict, "GET answered 404 ResourceNotFound (caller) The Resource ") || len(w.Known) != 1 || w.Known[0].Link != machinePath("g", "none") {
		t.Errorf("%+v", w)
	}
}

// ordered gives the order to try again that an answer names.
func (s *site) ordered(w adminapi.Why) {
	s.t.Helper()
	i := slices.IndexFunc(w.Actions, func(a adminapi.WhyAction) bool { return strings.HasSuffix(a.Command, " --ask") })
	if i < 0 {
		s.t.Fatalf("%+v", w)
	}
	s.request(200, "", "POST", "/admin/unstick", fmt.Sprintf(`{"job":%q,"step":"ask"}`, strings.Fields(w.Actions[i].Command)[2]))
}

// What waits says for what, and names the orders about it, which can be given.
func TestWhyOfAnOpenWrite(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	m := s.machine("g", "m", "westus")
	s.want(502, "BadGatewayConnection", "DELETE", m+api, "", "x-contoso-fault", "reset-after", "x-ms-correlation-request-id", ticket)
	for _, of := range []string{m, ticket, "https://portico.example" + m + api} {
		w := s.why(of)
		if !strings.HasPrefix(w.Verdict, "m waits since 2") {
			t.Errorf("%s: %s", of, w.Verdict)
		}
		knows(t, w, adminapi.WriteWithoutAnswer, "may still apply it")
		knows(t, w, adminapi.VerificationPending, "")
		s.ordered(w)
	}
}

// A fence holds up its ID, and what would lie below.
func TestWhyOfAFence(t *testing.T) {
	s := newSite(t, setup{})
	g := s.group("g")
	m := s.machine("g", "m", "westus")
	s.want(502, "BadGatewayConnection", "DELETE", m+api, "", "x-contoso-fault", "reset-after")
	stop := s.working()
	s.removed(g)
	stop()
	s.group("g")
	w := s.why(m)
	if e := knows(t, w, adminapi.FenceStands, " Until 2"); e.Link == "" {
		t.Errorf("%+v", e)
	}
	s.ordered(w)
	if w := s.why(m + "/extensions/x"); !strings.HasPrefix(w.Verdict, "m waits since 2") || !strings.Contains(w.Verdict, "x does not exist.") {
		t.Errorf("%+v", w)
	}
}

// A polling URL is the work behind it, a provider's as well as Portico's, while it goes on and
// after its end.
func TestWhyOfAPollingURL(t *testing.T) {
	s := newSite(t, setup{})
	g := s.group("g")
	m := machinePath("g", "m")
	poll := s.ok(202, "PUT", m+api, westus, "x-contoso-async", "accepted-async", "x-contoso-duration", "0s").header.Get("Azure-AsyncOperation")
	w := s.why(poll)
	if w.Subject != (adminapi.WhySubject{Kind: "id", ID: m}) || !strings.HasPrefix(w.Verdict, "m waits since 2") {
		t.Fatalf("%s: %+v", poll, w)
	}
	s.ok(200, "GET", s.local(poll), "")
	if w := s.why(poll); strings.Contains(w.Verdict, " waits since ") || !strings.Contains(w.Verdict, "m is in westus, Live. Last, at ") || !strings.Contains(w.Verdict, vms+"/write Succeeded") {
		t.Errorf("%+v", w)
	}
	s.work()
	deleted := s.ok(202, "DELETE", g+own, "")
	s.end(deleted)
	if w := s.why(deleted.header.Get("Location")); w.Subject.Kind != "job" || !strings.HasPrefix(w.Verdict, "The job (group-delete) is Done since 2") || !strings.Contains(w.Verdict, "g does not exist. Last, at ") {
		t.Errorf("%+v", w)
	}
}

// What is not known is not found, and says what was searched; what names nothing is refused.
func TestWhyOfTheUnknown(t *testing.T) {
	s := newSite(t, setup{})
	for _, of := range []string{
		machinePath("none", "m"), inSubscription + "/resourceGroups/a b(c)", inSubscription + "/resourceGroups/none", machinePath("none", "it#s"), "/subscriptions/" + ticket,
		ticket, subscription + "." + strings.Repeat("0", 32), "-." + strings.Repeat("0", 32), inSubscription + "/providers/No.Such/types/t", "https://elsewhere.example" + machinePath("g", "m") + "?x=%zz",
	} {
		if a := s.request(404, "ResourceNotFound", "GET", "/admin/why?of="+url.QueryEscape(of), ""); !strings.Contains(a.text, "events since 2") {
			t.Errorf("%s: %s", of, a.text)
		}
	}
	for _, of := range []string{"", "vm1", "/", "/subscriptions", "/subscriptions/x", "%zz", "sink/audit", "a.b", strings.Repeat("/a", 200), "//", "\x00", "/providers/A.B/c/d"} {
		s.request(400, "InvalidQueryParameter", "GET", "/admin/why?of="+url.QueryEscape(of), "")
	}
	s.request(400, "InvalidQueryParameter", "GET", "/admin/why?of="+ticket+"&limit=3", "")
	s.request(405, "", "POST", "/admin/why", "")
}

// All events of a correlation id are found once, however many lie between, and only the
// newest hundred entries are shown.
func TestWhySearchesManyEvents(t *testing.T) {
	s := newSite(t, setup{})
	g := s.group("g")
	record := func(name string, n int, cause events.Cause) {
		for range n {
			payload := events.Payload{Resource: g + "/providers/" + vms + "/" + name, Action: vms + "/write", Status: events.Succeeded}
			if err := s.store.Events.Record(events.With(t.Context(), &cause), subscription, payload); err != nil {
				t.Fatal(err)
			}
		}
	}
	record("first", 1, events.Cause{Correlation: ticket, Name: "first"})
	record("other", 1100, events.Cause{})
	record("last", 1, events.Cause{Correlation: ticket, Name: "last"})
	w := s.why(ticket)
	if len(w.Known) != 2 || w.Known[0].By != "last" || w.Known[1].By != "first" {
		t.Errorf("%+v", w)
	}
	record("many", 150, events.Cause{Correlation: ticket})
	if w := s.why(ticket); len(w.Known) != 100 {
		t.Errorf("%d entries", len(w.Known))
	}
}
