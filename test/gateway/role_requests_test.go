package gateway_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"portico/access/roles"
	"portico/config"
	described "portico/gateway/admin/api"
	"portico/inventory/assignments"
)

// nobodys is a tenant in which the second caller is the owner, and no one else may do
// anything.
const nobodys = "owners: [{principalId: 00000000-0000-0000-0000-00000000000b}]"

// withoutOwner is a site of that tenant, with a machine.
func withoutOwner(t testing.TB, as setup) *site {
	t.Helper()
	as.tokens, as.roles = true, nobodys
	s := newSite(t, as)
	s.ok(201, "PUT", groupPath("g")+own, westus, auth(second)...)
	s.ok(201, "PUT", machinePath("g", "m")+api, westus, auth(second)...)
	s.arrived()
	return s
}

// unassign takes a role away.
func (s *site) unassign(name, group, scope string) {
	s.t.Helper()
	at := assignments.Scope{TenantID: tenant, Subscription: subscription, Group: group, ID: scope}
	must(s.t, s.store.Roles.DeleteAssignment(s.t.Context(), at, name, func(assignments.Assignment) error { return nil }))
}

// A role counts with the next request, and no longer than until it is taken away.
func TestRolesComeAndGo(t *testing.T) {
	s := withoutOwner(t, setup{})
	m := machinePath("g", "m")
	s.want(404, "SubscriptionNotFound", "GET", m+api, "", auth(secret)...)
	name := s.assign(callers[secret].ObjectID, roles.Reader, groupPath("g"))
	s.ok(200, "GET", m+api, "", auth(secret)...)
	s.want(403, "AuthorizationFailed", "PUT", m+api, westus, auth(secret)...).says(t,
		"The client 'ann@example' with object id '"+callers[secret].ObjectID+"' does not have authorization to perform action 'Contoso.Compute/virtualMachines/write' over scope '"+m+
			"' or the scope is invalid. If access was recently granted, please refresh your credentials.")
	s.unassign(name, "g", groupPath("g"))
	s.arrived()
	s.want(404, "SubscriptionNotFound", "GET", m+api, "", auth(secret)...)
	if got := s.arrived(); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

// Who has no role in a subscription cannot tell it from one that does not exist: the
// answers are the same but for its id, whatever is asked.
func TestSubscriptionsWithoutARoleLookAbsent(t *testing.T) {
	s := withoutOwner(t, setup{})
	const absent = "00000000-0000-0000-0000-0000000000ff"
	for _, of := range shapes() {
		if of.method == "HEAD" {
			continue
		}
		there := s.do(of.method, of.path+of.query, of.body, auth(secret)...)
		gone := s.do(of.method, strings.ReplaceAll(of.path, subscription, absent)+of.query, strings.ReplaceAll(of.body, subscription, absent), auth(secret)...)
		if there.status != 404 || there.status != gone.status || strings.ReplaceAll(there.text, subscription, absent) != gone.text {
			t.Errorf("%s %s: %d %s, but of an absent one %d %s", of.method, of.path, there.status, there.text, gone.status, gone.text)
		}
	}
	if got := s.arrived(); len(got) != 0 {
		t.Errorf("%v", got)
	}
}

// An operation may be polled by who began it, also without the role by then; others
// learn nothing of it.
func TestOwnOperationsNeedNoRole(t *testing.T) {
	s := withoutOwner(t, setup{})
	s.work()
	m := machinePath("g", "m")
	name := s.assign(callers[secret].ObjectID, roles.Contributor, groupPath("g"))
	s.assign(callers[third].ObjectID, roles.Reader, machinePath("g", "other"))
	put := s.ok(202, "PUT", m+api, westus, append([]string{"x-contoso-async", "accepted", "x-contoso-duration", "1h"}, auth(secret)...)...)
	poll := s.local(put.header.Get("Location"))
	for _, after := range []string{"with the role", "without it"} {
		s.ok(202, "GET", poll, "", auth(secret)...)
		s.arrived()
		s.want(403, "AuthorizationFailed", "GET", poll, "", auth(third)...)
		s.want(403, "AuthorizationFailed", "GET", strings.Replace(poll, "operation", "OPERATION", 1)+"&x=1", "", auth(third)...)
		// Portico follows the operation by itself, whatever callers may.
		got := slices.DeleteFunc(s.arrived(), func(r received) bool { return r.Headers.Get("X-Ms-Client-Authorization-Source") == "Bypassed" })
		if len(got) != 0 {
			t.Errorf("%s: another caller's poll arrived: %v", after, got)
		}
		if after == "with the role" {
			s.unassign(name, "g", groupPath("g"))
		}
	}
	// What is Portico's own work, likewise.
	s.ok(201, "PUT", groupPath("h")+own, westus, auth(second)...)
	s.ok(201, "PUT", machinePath("h", "n")+api, westus, auth(second)...)
	s.assign(callers[secret].ObjectID, roles.Contributor, groupPath("h")) // which goes with its group
	deleted := s.ok(202, "DELETE", groupPath("h")+own, "", auth(secret)...)
	if got := s.end(deleted, auth(secret)...); got.status != 200 {
		t.Errorf("%d %s", got.status, got.text)
	}
	s.want(403, "AuthorizationFailed", "GET", s.resultOf(deleted), "", auth(third)...)
}

// Providers are told whether roles were asked.
func TestProvidersLearnWhetherRolesDecide(t *testing.T) {
	m := machinePath("g", "m")
	for name, c := range map[string]struct {
		as   setup
		want string
	}{
		"enforced": {setup{tokens: true}, "RoleBased"}, "ignored": {setup{tokens: true, roles: "roles: ignored"}, "Bypassed"}, "nobody signs in": {setup{}, "Bypassed"},
	} {
		s := newSite(t, c.as)
		s.ok(201, "PUT", groupPath("g")+own, westus, auth(secret)...)
		s.ok(201, "PUT", m+api, westus, auth(secret)...)
		for _, r := range s.arrived() {
			if got := r.Headers.Get("X-Ms-Client-Authorization-Source"); got != c.want {
				t.Errorf("%s: %s", name, got)
			}
		}
	}
}

// The audit log says by what a write was allowed, or that it was not.
func TestAuditSaysByWhat(t *testing.T) {
	s := withoutOwner(t, setup{})
	name := s.assign(callers[secret].ObjectID, roles.Contributor, groupPath("g"))
	s.ok(200, "PUT", machinePath("g", "m")+api, westus, auth(secret)...)
	s.want(403, "AuthorizationFailed", "PUT", groupPath("x")+own, westus, auth(secret)...)
	s.want(404, "SubscriptionNotFound", "PUT", groupPath("g")+own, westus, auth(third)...)
	for _, line := range []string{
		`"action":"Contoso.Compute/virtualMachines/write","allowedBy":"` + assignments.ID(groupPath("g"), name) + `"`,
		`"action":"Microsoft.Resources/subscriptions/resourceGroups/write","allowedBy":"denied"`,
		`"action":"Microsoft.Resources/subscriptions/resourceGroups/write","allowedBy":"auth.owners"`,
	} {
		if !strings.Contains(s.log.String(), line) {
			t.Errorf("no %s in %s", line, s.log)
		}
	}
	for _, series := range []string{`portico_authorizations_total{result="denied"} 1`, `portico_authorizations_total{result="hidden"} 1`} {
		if got := s.request(200, "", "GET", "/metrics", "").text; !strings.Contains(got, series) {
			t.Errorf("no %s", series)
		}
	}
}

// The next configuration decides by its own owners, and its own word for roles.
func TestOwnersChangeAtAReload(t *testing.T) {
	s := withoutOwner(t, setup{})
	m := machinePath("g", "m")
	as := func(change func(*config.Auth)) {
		next := *s.config
		change(&next.Auth)
		s.answerBy(s.gateway.Succeed(&next, s.authenticator(), nil, nil))
	}
	as(func(a *config.Auth) {
		a.Owners = []config.Owner{{TenantID: tenant, PrincipalID: callers[secret].ObjectID, Scope: m}}
	})
	s.ok(200, "GET", m+api, "", auth(secret)...)
	s.want(404, "SubscriptionNotFound", "GET", m+api, "", auth(second)...)
	as(func(a *config.Auth) { a.Roles = config.RolesIgnored })
	s.ok(200, "GET", m+api, "", auth(third)...)
}

// A warm read of a caller with a role costs no allocation more than one where roles are
// ignored, and asks the store nothing.
func TestWarmReadWithARole(t *testing.T) {
	cost := func(s *site) float64 {
		reads := newReads(t, s.gateway.Public())
		return allocated(func() { reads.read(t) })
	}
	without := cost(warmSiteOf(t, setup{roles: "roles: ignored"}, ""))
	s := warmSiteOf(t, setup{roles: "roles: enforced"}, roles.Contributor)
	if with := cost(s); with > without+less {
		t.Errorf("%v allocations with roles, %v without", with, without)
	}
	must(t, s.store.Close())
	if got := s.do("GET", machinePath("g", "m")+api, "", auth(secret)...); got.status != http.StatusOK {
		t.Errorf("without the store: %d %s", got.status, got.text)
	}
}

// Operators can ask who may do what, and by what.
func TestAdminChecksRoles(t *testing.T) {
	s := withoutOwner(t, setup{})
	name := s.assign(callers[secret].ObjectID, roles.Contributor, groupPath("g"))
	const write = "Contoso.Compute/virtualMachines/write"
	type answer struct {
		Allowed bool
		Reason  string
		Grant   struct {
			Assignment, Scope, Role string
			Owner                   bool
		}
		WouldAllow []string
	}
	ask := func(principal, rest, scope string) answer {
		t.Helper()
		return decode[answer](t, s.request(200, "", "POST", "/admin/roles/check", `{"principalId":"`+principal+`","action":"`+write+`","scope":"`+scope+`"`+rest+`}`))
	}
	if got := ask(callers[secret].ObjectID, "", machinePath("G", "m")); !got.Allowed || got.Grant.Assignment != assignments.ID(groupPath("g"), name) || got.Grant.Role != "Contributor" {
		t.Errorf("%+v", got)
	}
	if got := ask(callers[second].ObjectID, "", inSubscription); !got.Allowed || !got.Grant.Owner || got.Grant.Scope != "/" {
		t.Errorf("%+v", got)
	}
	if got := ask(callers[third].ObjectID, `,"groups":["`+strings.ToUpper(callers[secret].ObjectID)+`"]`, groupPath("g")); !got.Allowed {
		t.Errorf("%+v", got)
	}
	if got := ask(callers[secret].ObjectID, "", inSubscription); got.Allowed || !strings.Contains(got.Reason, "does not have authorization") || strings.Join(got.WouldAllow, " ") != "Owner Contributor" {
		t.Errorf("%+v", got)
	}
	if got := ask(callers[second].ObjectID, `,"tenantId":"`+otherTenant+`"`, inSubscription); got.Allowed || got.Reason == "" {
		t.Errorf("%+v", got)
	}
	for _, body := range []string{`{}`, `{"principalId":"x","action":"a","scope":"/"}`, `{"principalId":"` + tenant + `","scope":"/"}`, `{"principalId":"` + tenant + `","action":"a","scope":"g"}`, `{"principalId":"` + tenant + `","action":"a","scope":"/","tenantId":"x"}`} {
		s.request(400, "InvalidRequestContent", "POST", "/admin/roles/check", body)
	}
}

// Operators can ask for all who may do something, at once.
func TestAdminSaysWhoMay(t *testing.T) {
	s := withoutOwner(t, setup{})
	const write, del = "Contoso.Compute/virtualMachines/write", "Contoso.Compute/virtualMachines/delete"
	s.ok(201, "PUT", groupPath("other")+own, westus, auth(second)...)
	one, two := "00000000-0000-0000-0000-0000000000f1", "00000000-0000-0000-0000-0000000000f2"
	of := s.assign(one, roles.Contributor, groupPath("g"))
	s.assign(two, roles.Reader, inSubscription)
	s.assign(two, roles.Contributor, groupPath("other"))
	custom := two + " " + assignments.ID(inSubscription, s.assign(two, s.define(roles.Permission{Actions: []string{"*/delete"}}), inSubscription))
	ask := func(action, scope string) (holders []string) {
		t.Helper()
		got := decode[described.RoleHolders](t, s.request(200, "", "POST", "/admin/roles/who", `{"action":"`+action+`","scope":"`+scope+`"}`))
		for _, h := range got.Value {
			if h.Grant.Owner != (h.Grant.Assignment == "") {
				t.Errorf("%+v", h)
			}
			holders = append(holders, h.PrincipalID+" "+h.Grant.Assignment)
		}
		if got.Everybody || got.Further {
			t.Errorf("%+v", got)
		}
		return holders
	}
	owner := callers[second].ObjectID + " "
	byGroup := one + " " + assignments.ID(groupPath("g"), of)
	for _, c := range []struct {
		action, scope string
		want          []string
	}{
		{write, machinePath("G", "m"), []string{owner, byGroup}},
		{write, inSubscription, []string{owner}},
		{del, groupPath("g"), []string{owner, custom, byGroup}},
	} {
		got := ask(c.action, c.scope)
		if !slices.Equal(got, c.want) {
			t.Errorf("%s at %s: %q, want %q", c.action, c.scope, got, c.want)
		}
		for _, holder := range got { // as it is answered for each alone
			check := decode[described.RoleAnswer](t, s.request(200, "", "POST", "/admin/roles/check", `{"principalId":"`+holder[:36]+`","action":"`+c.action+`","scope":"`+c.scope+`"}`))
			if !check.Allowed {
				t.Errorf("%s at %s: %s may not", c.action, c.scope, holder)
			}
		}
	}
	for _, body := range []string{`{}`, `{"action":"a","scope":"/"}`, `{"scope":"` + inSubscription + `"}`, `{"action":"a","scope":"g"}`, `{"action":"a","scope":"/","tenantId":"x"}`} {
		s.request(400, "InvalidRequestContent", "POST", "/admin/roles/who", body)
	}
	s.request(404, "SubscriptionNotFound", "POST", "/admin/roles/who", `{"action":"a","scope":"/subscriptions/00000000-0000-0000-0000-0000000000d9"}`)
	free := newSite(t, setup{})
	if got := decode[described.RoleHolders](t, free.request(200, "", "POST", "/admin/roles/who", `{"action":"a","scope":"`+inSubscription+`"}`)); !got.Everybody {
		t.Errorf("%+v", got)
	}
}

// The requests of a batch that a job sends need the roles of its caller, as they stand
// when each is sent.
func TestRolesInALongBatch(t *testing.T) {
	text := fmt.Sprintf(`{"requests":[{"httpMethod":"PUT","url":%q,"content":%s},{"httpMethod":"PUT","url":%q,"content":%s},{"httpMethod":"GET","url":%q}]}`,
		machinePath("g", "a")+api, westus, machinePath("h", "b")+api, westus, groupPath("g")+own)
	for _, c := range []struct {
		name  string
		keeps bool // the role, until the job runs
		want  []int
		sent  int
	}{
		{"with a role at one group", true, []int{201, 403, 200}, 1},
		{"without it by then", false, []int{404, 404, 404}, 0},
	} {
		s := withoutOwner(t, setup{sections: "batch: {immediate: 2}\n"})
		name := s.assign(callers[secret].ObjectID, roles.Contributor, groupPath("g"))
		accepted := s.ok(202, "POST", batchPath, text, auth(secret)...)
		if !c.keeps {
			s.unassign(name, "g", groupPath("g"))
		}
		s.work()
		var got []int
		for _, r := range decode[responses](t, s.end(accepted, auth(secret)...)).Responses {
			got = append(got, r.HTTPStatusCode)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		if sent := s.puts(); sent["a"] != c.sent || sent["b"] != 0 {
			t.Errorf("%s: %v", c.name, sent)
		}
	}
}
