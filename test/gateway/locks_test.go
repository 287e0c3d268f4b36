package gateway_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

const (
	lockPlace    = "/providers/Microsoft.Authorization/locks"
	canNotDelete = `{"properties":{"level":"CanNotDelete","notes":"mine"}}`
	readOnly     = `{"properties":{"level":"readonly"}}`
)

func TestLocksLive(t *testing.T) {
	s := newSite(t, setup{})
	g := s.group("g")
	m := s.machine("g", "m", "eastus")
	for _, scope := range []string{inSubscription, g, m} {
		at := scope + lockPlace + "/L" + own
		s.want(404, "LockNotFound", "GET", at, "")
		s.ok(204, "DELETE", at, "")
		lock := decode[lockBody](t, s.ok(201, "PUT", at, canNotDelete))
		if lock.ID != scope+lockPlace+"/L" || lock.Name != "L" || lock.Type != "Microsoft.Authorization/locks" || lock.Properties.Level != "CanNotDelete" || lock.Properties.Notes != "mine" {
			t.Errorf("%+v", lock)
		}
		got := s.ok(200, "GET", strings.ToLower(scope)+lockPlace+"/l"+own, "")
		if again := decode[lockBody](t, got); again.ID != lock.ID || again.ETag != lock.ETag || got.header.Get("ETag") != lock.ETag {
			t.Errorf("%+v", again)
		}
		s.ok(304, "GET", at, "", "If-None-Match", lock.ETag)
		s.want(412, "PreconditionFailed", "PUT", at, readOnly, "If-None-Match", "*")
		s.want(412, "PreconditionFailed", "DELETE", at, "", "If-Match", `"other"`)
		s.ok(200, "PUT", at, s.ok(200, "GET", at, "").text) // what was read can be written
		bare := s.ok(200, "PUT", at, `{"properties":{"level":"CanNotDelete"}}`)
		if null := s.ok(200, "PUT", at, `{"properties":{"level":"CanNotDelete","notes":null,"owners":null}}`); null.text != bare.text {
			t.Errorf("null is another lock than none: %s, %s", null.text, bare.text)
		}
		s.ok(200, "PUT", at, canNotDelete)
		for _, bad := range []string{`{}`, `{"properties":{"level":"None"}}`, `{"properties":null}`, `{"properties":{"level":"ReadOnly"},"name":"other"}`, `{"x":1}`, `[]`} {
			s.want(400, "InvalidRequestContent", "PUT", at, bad)
		}
	}
	for _, c := range []struct {
		target string
		want   []string
	}{
		{inSubscription + lockPlace + own, []string{inSubscription, g, m}}, {g + lockPlace + own, []string{g, m}}, {m + lockPlace + own, []string{m}},
		{inSubscription + lockPlace + own + "&$filter=atScope()", []string{inSubscription}},
	} {
		var scopes []string
		for _, l := range decode[struct{ Value []lockBody }](t, s.ok(200, "GET", c.target, "")).Value {
			scopes = append(scopes, strings.TrimSuffix(l.ID, lockPlace+"/L"))
		}
		if !slices.Equal(scopes, c.want) {
			t.Errorf("%s: %v", c.target, scopes)
		}
	}
	s.want(400, "InvalidQueryParameter", "GET", g+lockPlace+own+"&$filter=x", "")
	s.want(405, "MethodNotAllowed", "PATCH", g+lockPlace+"/l"+own, "{}")
	s.want(404, "ResourceNotFound", "PUT", machinePath("g", "absent")+lockPlace+"/l"+own, readOnly)
	s.want(404, "ResourceGroupNotFound", "PUT", groupPath("absent")+lockPlace+"/l"+own, readOnly)
	s.ok(200, "DELETE", inSubscription+lockPlace+"/l"+own, "")
	s.want(404, "LockNotFound", "GET", inSubscription+lockPlace+"/l"+own, "")
	for i := range 19 {
		s.ok(201, "PUT", m+lockPlace+fmt.Sprint("/k", i)+own, canNotDelete)
	}
	got := s.want(409, "LockQuotaExceeded", "PUT", m+lockPlace+"/one-more"+own, canNotDelete)
	if !strings.Contains(got.text, "Creating the lock 'one-more' would exceed the quota of '20' locks per scope. The current lock count is '20',") {
		t.Error(got.text)
	}
}

// A lock on an extension resource, or on one nested in another, is for that
// alone; one on the resource that they belong to is for them too.
func TestLocksOnExtensions(t *testing.T) {
	s := newSite(t, setup{})
	s.work() // providers are told of the registration, which is waited for
	s.ok(200, "POST", inSubscription+"/providers/Contoso.Insight/register"+own, "")
	g := s.group("g")
	m := s.machine("g", "m", "eastus")
	for _, scope := range []string{inSubscription, g, m} {
		setting := scope + "/providers/contoso.insight/DiagnosticSettings/D"
		s.ok(201, "PUT", setting+api, `{}`)
		s.ok(201, "PUT", setting+"2"+api, `{}`)
		at := setting + lockPlace + "/l" + own
		lock := decode[lockBody](t, s.ok(201, "PUT", at, readOnly))
		if want := scope + "/providers/Contoso.Insight/diagnosticSettings/D"; lock.ID != want+lockPlace+"/l" {
			t.Errorf("%+v", lock)
		}
		s.want(409, "ScopeLocked", "PUT", setting+api, `{}`)
		s.want(409, "ScopeLocked", "DELETE", setting+api, "")
		s.ok(200, "PUT", setting+"2"+api, `{}`)
		s.ok(200, "DELETE", at, "")
		s.ok(201, "PUT", scope+lockPlace+"/l"+own, canNotDelete)
		s.want(409, "ScopeLocked", "DELETE", setting+api, "")
		s.ok(200, "DELETE", scope+lockPlace+"/l"+own, "")
		s.ok(200, "DELETE", setting+api, "")
	}
	s.want(404, "ResourceNotFound", "PUT", machinePath("g", "none")+"/providers/Contoso.Insight/diagnosticSettings/D"+lockPlace+"/l"+own, readOnly)
}

// What the gateway has not seen yet can be locked as well.
func TestLocksOnTheEstate(t *testing.T) {
	s, east, _ := preexisting(t)
	s.ok(201, "PUT", east+lockPlace+"/l"+own, canNotDelete)
	s.want(409, "ScopeLocked", "DELETE", east+api, "")
	s.want(404, "ResourceNotFound", "PUT", machinePath("G", "none")+lockPlace+"/l"+own, canNotDelete)
}

// The PUT of a lock waits for the calls under way, and never for those that ended
// without a definite answer.
func TestLocksOutlastWrites(t *testing.T) {
	s := newSite(t, setup{})
	s.work()
	g := s.group("g")
	for _, scope := range []string{inSubscription, g, g + "/providers/Contoso.Compute/virtualMachines/m"} {
		m := s.machine("g", "m", "eastus")
		s.at("eastus").fault("DELETE", "/m", "slow=150ms")
		s.at("eastus").requests()
		ended := make(chan seen, 1)
		go func() { ended <- s.do("DELETE", m+api, "") }()
		s.within("the provider's call", func() bool { return len(s.at("eastus").peek()) > 0 })
		if scope == m {
			s.want(404, "ResourceNotFound", "PUT", scope+lockPlace+"/l"+own, canNotDelete)
		} else {
			s.ok(201, "PUT", scope+lockPlace+"/l"+own, canNotDelete)
		}
		if _, there := s.row(m); there {
			t.Error("the lock was acknowledged before the DELETE had ended")
		}
		if got := <-ended; got.status != 200 {
			t.Error(got)
		}
		if scope != m { // it has gone with the machine, or was not made any more
			s.ok(200, "DELETE", scope+lockPlace+"/l"+own, "")
		}
		if locks := s.names(inSubscription + lockPlace + own); locks != "" {
			t.Errorf("%s is left", locks)
		}
	}
	m := s.machine("g", "m", "eastus")
	s.want(502, "BadGatewayConnection", "DELETE", m+api, "", "x-contoso-fault", "reset-before")
	for _, scope := range []string{inSubscription, g, m} {
		s.ok(201, "PUT", scope+lockPlace+"/l"+own, canNotDelete)
		s.want(409, "ScopeLocked", "DELETE", m+api, "")
		s.ok(200, "DELETE", scope+lockPlace+"/l"+own, "")
	}
	if s.openWrites("g") != 1 {
		t.Error("the DELETE that got no answer is open no more")
	}
}

// A lock anywhere above, on or in a group forbids to delete it; nothing is
// deleted then, and nothing marked.
func TestLocksForbidToDeleteTheGroup(t *testing.T) {
	s := newSite(t, setup{})
	s.work()
	g := s.group("g")
	m := s.machine("g", "m", "eastus")
	s.group("other")
	s.ok(201, "PUT", groupPath("other")+lockPlace+"/o"+own, canNotDelete)
	for _, scope := range []string{inSubscription, g, m} {
		for _, level := range []string{canNotDelete, readOnly} {
			s.do("PUT", scope+lockPlace+"/l"+own, level)
			got := s.want(409, "ScopeLocked", "DELETE", g+own, "")
			if want := "The scope '" + g + "' cannot perform delete operation because following scope(s) are locked: '" + scope + "'. Please remove the lock and try again."; !strings.Contains(got.text, want) {
				t.Errorf("%s", got.text)
			}
			if text := s.ok(200, "GET", g+own, "").text; !strings.Contains(text, `"Succeeded"`) {
				t.Errorf("%s", text)
			}
		}
		s.ok(200, "DELETE", scope+lockPlace+"/l"+own, "")
	}
	s.ok(201, "PUT", g+lockPlace+"/l"+own, canNotDelete)
	s.ok(201, "PUT", m+lockPlace+"/l"+own, readOnly)
	// Who removes one of them and tries again should not learn of the next one then.
	if got := s.want(409, "ScopeLocked", "DELETE", g+own, ""); !strings.Contains(got.text, "'"+g+","+m+"'") {
		t.Errorf("%s", got.text)
	}
	for _, scope := range []string{g, m} {
		s.ok(200, "DELETE", scope+lockPlace+"/l"+own, "")
	}
	s.want(409, "ScopeLocked", "DELETE", groupPath("other")+own, "") // empty as it is
	s.removed(g)
}

// A lock forbids clients' writes as its level says, to what it stands on and all
// below.
func TestLocksForbidWrites(t *testing.T) {
	s := newSite(t, setup{})
	g := s.group("g")
	m, n := s.machine("g", "m", "eastus"), s.machine("g", "mm", "eastus")
	disk := m + "/disks/d"
	s.ok(201, "PUT", disk+api, `{}`)
	for _, scope := range []string{inSubscription, g, m} {
		at := scope + lockPlace + "/l" + own
		s.ok(201, "PUT", at, canNotDelete)
		s.ok(200, "PUT", m+api, eastus)
		s.want(409, "ScopeLocked", "DELETE", disk+api, "")
		s.want(409, "ScopeLocked", "DELETE", m+"/runCommands/r"+api, "")
		s.ok(200, "PATCH", m+api, `{"tags":{}}`)
		s.want(409, "ScopeLocked", "DELETE", m+api, "")
		s.ok(200, "PUT", at, readOnly)
		s.want(409, "ScopeLocked", "PUT", m+api, eastus)
		s.want(409, "ScopeLocked", "PUT", disk+api, `{}`)
		s.want(409, "ScopeLocked", "DELETE", m+api, "")
		s.want(409, "ScopeLocked", "PATCH", m+api, `{"tags":{}}`)
		s.want(409, "ScopeLocked", "POST", m+"/start"+api, "")
		s.want(409, "ScopeLocked", "POST", m+"/listKeys"+api, "")
		s.want(409, "ScopeLocked", "PUT", m+"/runCommands/r"+api, `{}`)
		s.ok(200, "GET", m+api, "")
		if scope == inSubscription {
			s.want(409, "ScopeLocked", "PUT", groupPath("new")+own, westus)
		}
		if scope != m {
			s.want(409, "ScopeLocked", "PATCH", g+own, `{"tags":{}}`)
		} else {
			s.ok(200, "PUT", n+api, eastus)
		}
		s.ok(200, "DELETE", at, "")
	}
	// A lock goes with what it stands on.
	s.ok(201, "PUT", disk+lockPlace+"/l"+own, readOnly)
	s.ok(200, "DELETE", m+api, "")
	s.machine("g", "m", "eastus")
	s.ok(201, "PUT", disk+api, `{}`)
	if locks := decode[named](t, s.ok(200, "GET", g+lockPlace+own, "")).Value; len(locks) != 0 {
		t.Errorf("%v", locks)
	}
}
