package gateway_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"portico/access"
	"portico/access/roles"
	"portico/inventory"
	"portico/inventory/assignments"
)

// spare is a second subscription of the tenant, in which there is nothing.
const spare = "00000000-0000-0000-0000-000000000002"

// claimed signs in whoever the token says that it is: an object id, and ids of groups.
type claimed struct{}

func (claimed) Authenticate(r *http.Request) (access.Principal, *access.Refusal) {
	ids := strings.Fields(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	if len(ids) == 0 {
		ids = []string{uuid.Nil.String()}
	}
	return access.Principal{TenantID: tenant, ObjectID: ids[0], Groups: access.GroupsOf(ids[1:])}, nil
}
func (c claimed) Explain(r *http.Request, _ bool) access.Explanation {
	p, refusal := c.Authenticate(r)
	return access.Explanation{Method: "claimed", Principal: p, Refusal: refusal}
}
func (claimed) Valid(access.Principal) bool      { return true }
func (claimed) Challenge(*access.Refusal) string { return "" }

// assign gives a role to a principal.
func (s *site) assign(principal, role, scope string) (name string) {
	s.t.Helper()
	name = uuid.NewString()
	at := assignments.Scope{TenantID: tenant, ID: scope}
	if segments := strings.Split(scope, "/"); len(segments) > 2 {
		at.Subscription = segments[2]
		if len(segments) > 4 {
			at.Group = segments[4]
		}
	}
	_, _, err := s.store.Roles.PutAssignment(s.t.Context(), at, name, func(*assignments.Assignment) (*assignments.Assignment, error) {
		return &assignments.Assignment{ScopeID: scope, PrincipalID: principal, PrincipalType: "ServicePrincipal", RoleDefinition: role}, nil
	})
	must(s.t, err)
	return name
}

// define makes a custom role.
func (s *site) define(p ...roles.Permission) (id string) {
	s.t.Helper()
	id = uuid.NewString()
	_, _, err := s.store.Roles.PutDefinition(s.t.Context(), tenant, id, func(*assignments.Definition) (*assignments.Definition, error) {
		return &assignments.Definition{Definition: roles.Definition{ID: id, Name: id, Permissions: p, AssignableScopes: []string{"/"}}}, nil
	})
	must(s.t, err)
	return id
}

// right is an action at a scope.
type right struct{ action, scope string }

// shape is a request, with what it needs.
type shape struct {
	method, path, query, body string
	needs                     []right
	list                      bool // it is answered in part to who may see a part
	arrives                   bool // a provider is asked if it is allowed
}

// shapes are requests of every class, of which none changes what others are about.
func shapes() []shape {
	const (
		compute, insight = "Contoso.Compute/", "Contoso.Insight/"
		resources        = "Microsoft.Resources/subscriptions/"
		groups           = resources + "resourceGroups/"
	)
	g, h, m, gone := groupPath("g"), groupPath("h"), machinePath("g", "m"), machinePath("g", "gone")
	setting := m + "/providers/Contoso.Insight/diagnosticSettings/d"
	tags := "/providers/Microsoft.Resources/tags/default"
	one := func(action, scope string) []right { return []right{{action, scope}} }
	return []shape{
		{"GET", m, api, "", one(compute+"virtualMachines/read", m), false, true},
		{"GET", m + "/providers/Microsoft.Resources/changes", own, "", one("Microsoft.Resources/changes/read", m), false, false},
		{"GET", gone + "/providers/Microsoft.Resources/changes/1_x", own, "", one("Microsoft.Resources/changes/read", gone), false, false},
		{"GET", g + "/providers/Microsoft.Resources/changes", own, "", one("Microsoft.Resources/changes/read", g), false, false},
		{"HEAD", m, api, "", one(compute+"virtualMachines/read", m), false, false},
		{"PUT", m, api, westus, one(compute+"virtualMachines/write", m), false, true},
		{"PATCH", m, api, `{"tags":{"a":"b"}}`, one(compute+"virtualMachines/write", m), false, true},
		{"POST", m + "/start", api, "", one(compute+"virtualMachines/start/action", m), false, true},
		{"DELETE", gone, api, "", one(compute+"virtualMachines/delete", gone), false, false},
		{"GET", gone, api, "", one(compute+"virtualMachines/read", gone), false, false},
		{"GET", machinePath("none", "m"), api, "", one(compute+"virtualMachines/read", machinePath("none", "m")), false, false},
		{"PUT", m + "/disks/d", api, `{}`, one(compute+"virtualMachines/disks/write", m+"/disks/d"), false, true},
		{"GET", m + "/disks/d", api, "", one(compute+"virtualMachines/disks/read", m+"/disks/d"), false, true},
		{"GET", m + "/disks", api, "", one(compute+"virtualMachines/disks/read", m), true, true},
		{"GET", m + "/runCommands/r", api, "", one(compute+"virtualMachines/runCommands/read", m+"/runCommands/r"), false, true},
		{"PUT", setting, api, `{"properties":{}}`, one(insight+"diagnosticSettings/write", setting), false, true},
		{"GET", setting, api, "", one(insight+"diagnosticSettings/read", setting), false, true},
		{"GET", m + "/providers/Contoso.Insight/diagnosticSettings", api, "", one(insight+"diagnosticSettings/read", m), true, true},
		{"PUT", g + "/providers/Contoso.Insight/annotations/a", api, `{"properties":{}}`, one(insight+"annotations/write", g+"/providers/Contoso.Insight/annotations/a"), false, true},
		{"GET", g + "/providers/Contoso.Compute/virtualMachines", api, "", one(compute+"virtualMachines/read", g), true, true},
		{"GET", inSubscription + "/providers/Contoso.Compute/virtualMachines", api, "", one(compute+"virtualMachines/read", inSubscription), true, true},
		{"POST", inSubscription + "/providers/Contoso.Compute/checkQuota", api, `{}`, one(compute+"checkQuota/action", inSubscription), false, true},
		{"GET", inSubscription + "/providers/Contoso.Compute/locations/westus/usages", api, "", one(compute+"locations/usages/read", inSubscription), false, true},
		{"GET", inSubscription + "/providers/Contoso.Compute/locations/westus/operationStatuses/none", api, "", one(compute+"locations/operationStatuses/read", inSubscription), false, true},
		{"GET", g + "/providers/Contoso.Compute/nothings/n", api, "", one(compute+"nothings/read", g+"/providers/Contoso.Compute/nothings/n"), false, false},
		{"GET", g + "/providers/Contoso.Compute", api, "", one(groups+"read", g), false, false},
		{"GET", g + "/nothing", own, "", one(groups+"read", g), false, false},
		// Portico's own.
		{"GET", inSubscription, own, "", one(resources+"read", inSubscription), true, false},
		{"GET", inSubscription + "/locations", own, "", one(resources+"locations/read", inSubscription), true, false},
		{"GET", inSubscription + "/resourceGroups", own, "", one(groups+"read", inSubscription), true, false},
		{"GET", g, own, "", one(groups+"read", g), false, false},
		{"HEAD", g, own, "", one(groups+"read", g), false, false},
		{"PUT", g, own, westus, one(groups+"write", g), false, false},
		{"DELETE", groupPath("none"), own, "", one(groups+"delete", groupPath("none")), false, false},
		{"GET", inSubscription + "/resources", own, "", one(resources+"resources/read", inSubscription), true, false},
		{"GET", g + "/resources", own, "", one(groups+"resources/read", g), true, false},
		{"GET", inSubscription + "/providers", own, "", one(resources+"providers/read", inSubscription), true, false},
		{"GET", inSubscription + "/providers/Contoso.Compute", own, "", one(resources+"providers/read", inSubscription), true, false},
		{"POST", inSubscription + "/providers/Contoso.Compute/register", own, "", one(compute+"register/action", inSubscription), false, false},
		{"GET", inSubscription + "/tagNames", own, "", one(resources+"tagNames/read", inSubscription), true, false},
		{"PUT", inSubscription + "/tagNames/n", own, "", one(resources+"tagNames/write", inSubscription), false, false},
		{"PUT", inSubscription + "/tagNames/n/tagValues/v", own, "", one(resources+"tagNames/tagValues/write", inSubscription), false, false},
		{"DELETE", inSubscription + "/tagNames/none", own, "", one(resources+"tagNames/delete", inSubscription), false, false},
		{"GET", inSubscription + "/operationresults/none", own, "", one(resources+"operationresults/read", inSubscription), false, false},
		{"GET", inSubscription + "/providers/Microsoft.Features/features", "?api-version=2021-07-01", "", one("Microsoft.Features/features/read", inSubscription), true, false},
		{"GET", inSubscription + registrations, own, "", one("Microsoft.Features/featureProviders/subscriptionFeatureRegistrations/read", inSubscription), true, false},
		{"PUT", inSubscription + registrations + "/none", own, "{}", one("Microsoft.Features/featureProviders/subscriptionFeatureRegistrations/write", inSubscription), false, false},
		{"DELETE", inSubscription + registrations + "/none", own, "", one("Microsoft.Features/featureProviders/subscriptionFeatureRegistrations/delete", inSubscription), false, false},
		{"GET", inSubscription + "/providers/Contoso.Compute/resourceTypes", own, "", one(resources+"providers/read", inSubscription), true, false},
		{"GET", inSubscription + "/providers/Microsoft.Authorization/classicAdministrators", own, "", one("Microsoft.Authorization/classicAdministrators/read", inSubscription), true, false},
		{"GET", m + "/providers/Microsoft.Authorization/denyAssignments", own, "", one("Microsoft.Authorization/denyAssignments/read", m), true, false},
		{"GET", m + tags, "?api-version=2021-04-01", "", one("Microsoft.Resources/tags/read", m+tags), false, false},
		{"PATCH", m + tags, "?api-version=2021-04-01", `{"operation":"Merge","properties":{"tags":{"a":"b"}}}`, one("Microsoft.Resources/tags/write", m+tags), false, true},
		{"PUT", g + tags, "?api-version=2021-04-01", `{"properties":{"tags":{"a":"b"}}}`, one("Microsoft.Resources/tags/write", g+tags), false, false},
		{"GET", m + "/providers/Microsoft.Authorization/locks", "?api-version=2016-09-01", "", one("Microsoft.Authorization/locks/read", m), true, false},
		{"DELETE", m + "/providers/Microsoft.Authorization/locks/none", "?api-version=2016-09-01", "", one("Microsoft.Authorization/locks/delete", m+"/providers/Microsoft.Authorization/locks/none"), false, false},
		{"POST", g + "/moveResources", own, `{"targetResourceGroup":"` + h + `","resources":["` + gone + `"]}`,
			[]right{{groups + "moveResources/action", g}, {compute + "virtualMachines/read", gone}, {groups + "write", h}}, false, false},
	}
}

// given is a role as the model knows it, at a scope.
type given struct {
	permission roles.Permission
	scope      string
}

func matchesAny(patterns []string, action string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		return regexp.MustCompile("(?i)^" + strings.ReplaceAll(regexp.QuoteMeta(p), `\*`, ".*") + "$").MatchString(action)
	})
}

func (g given) allows(action string) bool {
	return matchesAny(g.permission.Actions, action) && !matchesAny(g.permission.NotActions, action)
}

func holds(scope, id string) bool {
	scope, id = strings.ToLower(strings.TrimSuffix(scope, "/")), strings.ToLower(id)
	return id == scope || strings.HasPrefix(id, scope+"/")
}

// allowed reports whether somebody with these rights has a right; partly, whether it has
// it at a part of the scope.
func allowed(all []given, want right) (whole, partly bool) {
	for _, g := range all {
		whole = whole || g.allows(want.action) && holds(g.scope, want.scope)
		partly = partly || g.allows(want.action) && holds(want.scope, g.scope)
	}
	return whole, partly
}

// concerned reports whether something is granted at, above or below the subscription.
func concerned(all []given) bool {
	return slices.ContainsFunc(all, func(g given) bool { return holds(g.scope, inSubscription) || holds(inSubscription, g.scope) })
}

// spelled writes a path in one of the ways in which clients may.
func spelled(path string, seed uint64) string {
	random := rand.New(rand.NewPCG(seed, 0))
	var b strings.Builder
	for i, c := range []byte(path) {
		switch way := random.IntN(10); {
		case c == '/' && i == 0 && way < 3:
			b.WriteString("//")
		case c == '/' || c == '-' || '0' <= c && c <= '9':
			b.WriteByte(c)
		case way == 1:
			fmt.Fprintf(&b, "%%%02X", c)
		case way == 2:
			b.WriteString(strings.ToUpper(string(c)))
		case way == 3:
			b.WriteString(strings.ToLower(string(c)))
		default:
			b.WriteByte(c)
		}
	}
	if random.IntN(4) == 0 {
		b.WriteByte('/')
	}
	return strings.ReplaceAll(b.String(), "/providers/Contoso.Insight/", "/providers/Contoso.Insight//")
}

// Whoever has whichever roles: nothing arrives at a provider, and nothing is said of what
// exists, without its action having been allowed at its scope, however a path is spelled,
// alone or in a batch; and what is allowed is done.
func TestRolesDecideEveryRequest(t *testing.T) {
	s := newSite(t, setup{tokens: true, claimed: true, roles: "owners: [{principalId: 00000000-0000-0000-0000-00000000000a}]"})
	s.work()
	ann := []string{"Authorization", bearer("00000000-0000-0000-0000-00000000000a")}
	for _, name := range []string{"g", "h", "g2"} {
		s.ok(201, "PUT", groupPath(name)+own, westus, ann...)
	}
	m := machinePath("g", "m")
	s.ok(201, "PUT", m+api, westus, ann...)
	s.ok(201, "PUT", m+"/disks/d"+api, `{}`, ann...)
	s.ok(201, "PUT", machinePath("h", "n")+api, eastus, ann...)
	s.ok(200, "POST", register, "", ann...)
	s.subscribe(spare, tenant, inventory.Enabled)
	permissions := map[string]roles.Permission{}
	for _, d := range roles.BuiltIn() {
		permissions[d.ID] = d.Permissions[0]
	}
	for _, p := range []roles.Permission{
		{Actions: []string{"contoso.compute/*"}, NotActions: []string{"*/DELETE", "Contoso.Compute/virtualMachines/start/action"}},
		{Actions: []string{"*/virtualMachines/disks/*", "Microsoft.Resources/subscriptions/resourceGroups/*"}},
		{Actions: []string{"Contoso.Insight/*/read", "*/tags/*", "Microsoft.Authorization/locks/*"}},
		{Actions: []string{"Microsoft.Resources/subscriptions/*/read", "Contoso.Compute/*/action"}, NotActions: []string{"*/resources/read"}},
	} {
		permissions[s.define(p)] = p
	}
	ids := slices.Sorted(maps.Keys(permissions))
	scopes := []string{
		"/", inSubscription, groupPath("g"), groupPath("h"), m, m + "/disks/d", m + "/providers/Contoso.Insight/diagnosticSettings/d",
		machinePath("g", "gone"), machinePath("g", "m2"), groupPath("g2"), "/subscriptions/" + spare,
	}
	all := shapes()
	s.arrived()
	rapid.Check(t, func(t *rapid.T) {
		who, group := uuid.NewString(), uuid.NewString()
		var has []given
		for range rapid.IntRange(0, 3).Draw(t, "roles") {
			id, scope := rapid.SampledFrom(ids).Draw(t, "role"), rapid.SampledFrom(scopes).Draw(t, "scope")
			if slices.ContainsFunc(has, func(g given) bool { return g.scope == scope }) {
				continue
			}
			s.assign(rapid.SampledFrom([]string{who, group}).Draw(t, "principal"), id, scope)
			has = append(has, given{permissions[id], scope})
		}
		as := []string{"Authorization", bearer(who + " " + group)}
		for range rapid.IntRange(1, 6).Draw(t, "requests") {
			of := rapid.SampledFrom(all).Draw(t, "shape")
			path := spelled(of.path, rapid.Uint64().Draw(t, "spelling"))
			var got brief
			if rapid.IntRange(0, 3).Draw(t, "batched") == 0 {
				content := ""
				if of.body != "" {
					content = `,"content":` + of.body
				}
				r := s.batch([]string{fmt.Sprintf(`{"httpMethod":%q,"url":%q%s}`, of.method, "/"+strings.TrimLeft(path, "/")+of.query, content)}, as...)[0]
				got = brief{r.HTTPStatusCode, r.code(), string(r.Content)}
			} else {
				answer := s.do(of.method, path+of.query, of.body, as...)
				got = brief{answer.status, answer.code, answer.text}
			}
			judge(t, of, has, path, got, s.arrived())
		}
	})
}

// brief is an answer, alone or in a batch.
type brief struct {
	status     int
	code, text string
}

// judge compares an answer, and what arrived, with the model.
func judge(t *rapid.T, of shape, has []given, path string, got brief, arrived []received) {
	mayAll, some := true, true
	for _, need := range of.needs {
		whole, partly := allowed(has, need)
		mayAll, some = mayAll && whole, some && (whole || partly)
	}
	refused := got.status == 403 || got.status == 404 && got.code == "SubscriptionNotFound" || of.method == "HEAD" && got.status == 404
	what := fmt.Sprintf("%s %s with %v: %d %s, %s, %d arrived", of.method, path, has, got.status, got.code, got.text, len(arrived))
	switch {
	case mayAll:
		if refused && of.method != "HEAD" || of.method == "HEAD" && got.status == 403 {
			t.Fatal("refused: " + what)
		}
		if of.arrives && len(arrived) == 0 {
			t.Fatal("not sent: " + what)
		}
		return
	case of.list && some:
		return // what is shown is held elsewhere
	case !refused:
		t.Fatal("allowed: " + what)
	}
	if len(arrived) > 0 {
		t.Fatal("sent: " + what)
	}
	if of.method == "HEAD" {
		return
	}
	want := "SubscriptionNotFound"
	if concerned(has) {
		want = "AuthorizationFailed"
		if first, _ := allowed(has, of.needs[0]); first && len(of.needs) > 1 {
			if second, _ := allowed(has, of.needs[1]); second {
				want = "LinkedAuthorizationFailed"
			}
		}
	}
	if got.code != want {
		t.Fatal("not " + want + ": " + what)
	}
}

// arrived lists what all providers got from clients since it was asked last: Portico's
// own questions name no caller.
func (s *site) arrived() (all []received) {
	s.t.Helper()
	for _, e := range s.providers {
		for _, r := range e.requests() {
			if r.Headers.Get("X-Ms-Client-Object-Id") != "" {
				all = append(all, r)
			}
		}
	}
	return all
}
