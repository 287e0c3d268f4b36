package gateway_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"testing"

	"portico/access/roles"
	"portico/arm"
	"portico/inventory"
	"portico/inventory/assignments"
)

// listedSite is a site with resources of all kinds in several groups and regions, of
// which each caller but the first may see a part.
func listedSite(t *testing.T, roles string) *site {
	t.Helper()
	return fillLists(t, newSite(t, setup{tokens: true, roles: "owners: [{principalId: " + callers[secret].ObjectID + "}" + roles + "]"}))
}

func fillLists(t *testing.T, s *site) *site {
	t.Helper()
	s.work()
	put := func(path, body string) {
		t.Helper()
		if got := s.do("PUT", path, body, "Authorization", bearer(secret)); got.status != 201 && got.status != 200 {
			t.Fatalf("PUT %s: %d %s", path, got.status, got.text)
		}
	}
	if got := s.do("POST", inSubscription+"/providers/Contoso.Insight/register"+own, "", "Authorization", bearer(secret)); got.status != 200 {
		t.Fatal(got.text)
	}
	for i, group := range []string{"mine", "mine2", "Other", "theirs"} {
		put(groupPath(group)+own, westus)
		for j, name := range []string{"a", "a-b", "b"} {
			location := []string{westus, eastus}[(i+j)%2]
			m := machinePath(group, name)
			put(m+api, location)
			put(m+"/disks/d"+api, location)
			put(m+"/disks/d2"+api, location)
			put(m+"/runCommands/r"+api, `{}`)
			put(m+"/providers/Contoso.Insight/diagnosticSettings/s"+api, `{}`)
			put(m+"/providers/Microsoft.Authorization/locks/l"+own, `{"properties":{"level":"CanNotDelete"}}`)
		}
		put(groupPath(group)+"/providers/Contoso.Insight/profiles/p"+api, `{"location":"global"}`)
		put(groupPath(group)+"/providers/Contoso.Compute/networkInterfaces/n"+api, []string{westus, eastus}[i%2])
		put(groupPath(group)+"/providers/Microsoft.Authorization/locks/l"+own, `{"properties":{"level":"CanNotDelete"}}`)
	}
	put(inSubscription+"/providers/Microsoft.Authorization/locks/l"+own, `{"properties":{"level":"CanNotDelete"}}`)
	return s
}

// listedPaths are lists of a listed site.
func listedPaths() []string {
	m := machinePath("Other", "a")
	paths := []string{
		machines + api, inSubscription + "/providers/Contoso.Compute/networkInterfaces" + api, inSubscription + "/providers/Contoso.Insight/profiles" + api,
		m + "/disks" + api, m + "/runCommands" + api, m + "/providers/Contoso.Insight/diagnosticSettings" + api,
		m + "/providers/Microsoft.Authorization/locks" + own,
		inSubscription + "/resourceGroups" + own, inSubscription + "/resources" + own, inSubscription + "/providers/Microsoft.Authorization/locks" + own,
		inSubscription + "/resourceGroups" + own + "&$filter=" + url.QueryEscape("location eq 'westus'"),
	}
	for _, filter := range []string{
		"resourceType eq 'Contoso.Compute/virtualMachines'", "name eq 'a'", "location eq 'eastus'",
		"resourceGroup eq 'Other'", "resourceType eq 'Contoso.Compute/virtualMachines/disks' or name eq 'n'",
	} {
		paths = append(paths, inSubscription+"/resources"+own+"&$filter="+url.QueryEscape(filter))
	}
	for _, group := range []string{"mine", "other"} {
		paths = append(paths, groupPath(group)+"/resources"+own, groupPath(group)+"/providers/Contoso.Compute/virtualMachines"+api,
			groupPath(group)+"/providers/Contoso.Insight/profiles"+api, groupPath(group)+"/providers/Microsoft.Authorization/locks"+own)
	}
	return paths
}

// idsOn walks a list as a caller sees it, at most so many pages, and returns the ids;
// known is false if the caller is refused.
func (s *site) idsOn(t testing.TB, path, token string, header ...string) (ids []string, known bool) {
	t.Helper()
	for range 200 {
		got := s.do("GET", path, "", append([]string{"Authorization", bearer(token)}, header...)...)
		if got.status == 403 || got.status == 404 {
			return nil, false
		}
		if got.status != 200 {
			t.Fatalf("%s: %d %s", path, got.status, got.text)
		}
		page := decode[named](t, got)
		for _, e := range page.Value {
			ids = append(ids, e.ID)
		}
		if page.NextLink == "" {
			slices.Sort(ids)
			return ids, true
		}
		path = s.local(page.NextLink)
	}
	t.Fatalf("%s: the list does not end", path)
	return nil, false
}

// withinAny reports whether an id is one of the scopes, or lies in one.
func withinAny(scopes []string, id string) bool {
	id = arm.Fold(id)
	return slices.ContainsFunc(scopes, func(scope string) bool {
		scope = strings.TrimSuffix(arm.Fold(scope), "/")
		return id == scope || strings.HasPrefix(id, scope+"/")
	})
}

// checkLists compares all lists of a caller that has a role with all rights at scopes
// with what of those lists its model may see.
func checkLists(t testing.TB, s *site, full map[string][]string, token string, scopes []string) {
	t.Helper()
	for _, path := range slices.Sorted(maps.Keys(full)) {
		plain, _, _ := strings.Cut(path, "?")
		listed := strings.TrimSuffix(plain, plain[strings.LastIndexByte(plain, '/'):])
		if i := strings.Index(listed, "/providers/"); i >= 0 && strings.Count(listed[i:], "/") == 2 {
			listed = listed[:i] // of a top-level type
		}
		if i := strings.LastIndex(listed, "/providers/"); i > 0 && strings.Count(listed[i:], "/") == 2 {
			listed = listed[:i] // of an extension
		}
		var want []string
		for _, id := range full[path] {
			if withinAny(scopes, id) {
				want = append(want, id)
			}
		}
		allowed := withinAny(scopes, listed) || slices.ContainsFunc(scopes, func(scope string) bool { return withinAny([]string{listed}, scope) })
		for _, top := range []string{"", "&$top=1", "&$top=3"} {
			if top != "" && strings.Contains(path, "Microsoft.Authorization") {
				continue
			}
			got, known := s.idsOn(t, path+top, token)
			if known != allowed || allowed && !slices.EqualFunc(got, want, arm.EqualFold) {
				t.Errorf("%s%s by %q: answered %v, got\n%q, want\n%q", path, top, scopes, known, got, want)
			}
		}
	}
}

func (s *site) fullLists(t testing.TB) map[string][]string {
	full := map[string][]string{}
	for _, path := range listedPaths() {
		ids, known := s.idsOn(t, path, secret)
		if !known || len(ids) == 0 {
			t.Fatalf("%s: nothing is listed", path)
		}
		full[path] = ids
	}
	return full
}

// Every list shows its caller what that may read, on all of its pages together, and
// nothing else; who may read nothing there is refused.
func TestListsShowWhatMayBeRead(t *testing.T) {
	scopes := map[string][]string{
		second: {groupPath("MINE"), machinePath("other", "A"), machinePath("theirs", "b") + "/disks/d2"},
		third:  {},
	}
	roles := ""
	for token, all := range scopes {
		for _, scope := range all {
			roles += fmt.Sprintf(", {principalId: %s, scope: %q}", callers[token].ObjectID, scope)
		}
	}
	s := listedSite(t, roles)
	full := s.fullLists(t)
	checkLists(t, s, full, secret, []string{"/"})
	checkLists(t, s, full, second, scopes[second])
	for path := range full {
		s.want(404, "SubscriptionNotFound", "GET", path, "", "Authorization", bearer(third))
	}
}

// What a provider lists of other subscriptions, groups and parents is shown to no one, who
// may read all as little as who may read a part, on whichever way the list is answered.
func TestListsShowNothingFromElsewhere(t *testing.T) {
	const elsewhere = "00000000-0000-0000-0000-0000000000e1"
	some := fmt.Sprintf(", {principalId: %s, scope: %q}", callers[second].ObjectID, groupPath("Other"))
	for name, s := range map[string]*site{
		"enforced": listedSite(t, some),
		"ignored":  fillLists(t, newSite(t, setup{tokens: true, roles: "roles: ignored"})),
		"none":     fillLists(t, newSite(t, setup{})),
	} {
		for region, e := range s.providers {
			for _, group := range []string{"Other", "far"} {
				m := strings.Replace(machinePath(group, "a"), subscription, elsewhere, 1)
				at, _, _ := strings.Cut(m, "/providers/")
				paths := []string{m, m + "/disks/d", m + "/runCommands/r", m + "/providers/Contoso.Insight/diagnosticSettings/s", at + "/providers/Contoso.Compute/networkInterfaces/n"}
				if region == arm.GlobalLocation {
					paths = []string{at + "/providers/Contoso.Insight/profiles/p"}
				}
				for _, path := range paths {
					e.do("PUT", path+api, fmt.Sprintf(`{"location":%q}`, region), 201)
				}
			}
		}
		tokens := []string{secret}
		if name == "enforced" {
			tokens = append(tokens, second)
		}
		for _, path := range listedPaths() {
			if !strings.HasSuffix(path, api) {
				continue
			}
			for _, token := range tokens {
				want, known := s.idsOn(t, path, token)
				for _, top := range []string{"", "&$top=1"} {
					got, _ := s.idsOn(t, path+top, token, "x-contoso-fault", "foreign-elements")
					if known && !slices.Equal(got, want) {
						t.Errorf("%s: %s%s by %s: got\n%q, want\n%q", name, path, top, token, got, want)
					}
				}
			}
		}
	}
}

// A list tells its caller nothing of groups that it may not read: not by the number of pages,
// nor by what they cost. What is asked of providers concerns what it may read.
func TestListsTellNothingOfHiddenGroups(t *testing.T) {
	mine := []string{groupPath("G3"), machinePath("g5", "M1"), groupPath("g7"), machinePath("g7", "m0"), machinePath("g8", "m2") + "/disks/d"}
	roles := "owners: [{principalId: " + callers[secret].ObjectID + "}"
	for _, scope := range mine {
		roles += fmt.Sprintf(", {principalId: %s, scope: %q}", callers[second].ObjectID, scope)
	}
	s := newSite(t, setup{tokens: true, roles: roles + "]"})
	s.work()
	ann, bob := bearer(secret), bearer(second)
	s.ok(200, "POST", inSubscription+"/providers/Contoso.Insight/register"+own, "", "Authorization", ann)
	fill := func(group string) {
		s.ok(201, "PUT", groupPath(group)+own, westus, "Authorization", ann)
		s.ok(201, "PUT", groupPath(group)+"/providers/Contoso.Insight/profiles/p"+api, `{"location":"global"}`, "Authorization", ann)
		for i := range 4 {
			s.ok(201, "PUT", machinePath(group, fmt.Sprint("m", i))+api, []string{westus, eastus}[i/3], "Authorization", ann)
		}
	}
	for i := range 9 {
		fill(fmt.Sprint("g", i))
	}
	walk := func(link string) (ids []string, pages, empty int, requests []string) {
		for _, e := range s.providers {
			e.requests()
		}
		for link != "" {
			page := decode[named](t, s.ok(200, "GET", link, "", "Authorization", bob, "x-contoso-page-size", "2"))
			if pages++; len(page.Value) == 0 {
				empty++
			}
			for _, e := range page.Value {
				ids = append(ids, e.ID)
			}
			if link = ""; page.NextLink != "" {
				link = s.local(page.NextLink)
			}
		}
		for _, e := range s.providers {
			for _, r := range e.requests() {
				requests = append(requests, r.Path)
			}
		}
		return ids, pages, empty, requests
	}
	for _, c := range []struct {
		list        string
		ids, pages  int // with pages of two
		calls, tops int
	}{
		{machines + api, 9, 2, 7, 9},
		{inSubscription + "/providers/Contoso.Insight/profiles" + api, 2, 1, 2, 2},
	} {
		for round := range 2 {
			ids, pages, empty, requests := walk(c.list)
			if len(ids) != c.ids || pages != c.pages || empty != 0 || len(requests) != c.calls {
				t.Errorf("%s: %d pages, %d of them empty, by %d calls: %q", c.list, pages, empty, len(requests), ids)
			}
			for _, path := range requests {
				if !withinAny(mine[:3], path) {
					t.Errorf("%s: a provider was asked for %s", c.list, path)
				}
			}
			if ids, pages, empty, _ = walk(c.list + "&$top=1"); len(ids) != c.ids || pages != c.tops || empty != 0 {
				t.Errorf("%s: one by one %d pages, %d of them empty: %q", c.list, pages, empty, ids)
			}
			fill(fmt.Sprint(len(c.list), "another", round)) // which tells him nothing
		}
	}
}

// What a subscription is and may use is known to all who may read something in it; sums
// over all of it, and what they may not read in it, are not.
func TestReadsOfASubscriptionByWhoMayReadAPart(t *testing.T) {
	s := listedSite(t, fmt.Sprintf(", {principalId: %s, scope: %q}", callers[second].ObjectID, machinePath("Other", "a")))
	by := func(token string) []string { return []string{"Authorization", bearer(token)} }
	for _, path := range []string{
		inSubscription, inSubscription + "/locations", inSubscription + "/providers", inSubscription + "/providers/Contoso.Compute",
		inSubscription + "/providers/Microsoft.Features/features", inSubscription + "/providers/Microsoft.Features/providers/Contoso.Compute/features",
		inSubscription + registrations, inSubscription + "/providers/Microsoft.Features/subscriptionFeatureRegistrations", inSubscription + "/providers/Contoso.Compute/resourceTypes",
		inSubscription + "/providers/Microsoft.Authorization/denyAssignments", inSubscription + "/providers/Microsoft.Authorization/classicAdministrators",
	} {
		all := s.ok(200, "GET", path+own, "", by(secret)...)
		if part := s.ok(200, "GET", path+own, "", by(second)...); part.text != all.text {
			t.Errorf("%s: %s", path, part.text)
		}
		s.want(404, "SubscriptionNotFound", "GET", path+own, "", by(third)...)
	}
	for _, path := range []string{inSubscription + "/tagNames", inSubscription + "/providers/Microsoft.Resources/tags/default", groupPath("Other"), groupPath("mine"), groupPath("mine") + "/resources", groupPath("none") + "/resources"} {
		s.want(403, "AuthorizationFailed", "GET", path+own, "", by(second)...)
		s.want(404, "SubscriptionNotFound", "GET", path+own, "", by(third)...)
	}
	if got := s.ok(200, "GET", inSubscription+"/resourceGroups"+own, "", by(second)...); got.text != `{"value":[]}` {
		t.Errorf("groups: %s", got.text)
	}
}

// Whatever is assigned where, to callers or to their groups, every list shows exactly what
// may be read, also where rights change between two pages.
func TestListsFollowAssignments(t *testing.T) {
	s := listedSite(t, "")
	full := s.fullLists(t)
	var candidates []string
	for _, path := range []string{inSubscription + "/resources" + own, inSubscription + "/resourceGroups" + own} {
		candidates = append(candidates, full[path]...)
	}
	candidates = append(candidates, inSubscription)
	rng := rand.New(rand.NewPCG(4, 2))
	for round := range 6 {
		var scopes []string
		for _, i := range rng.Perm(len(candidates))[:1+rng.IntN([]int{3, len(candidates)}[round%2])] {
			if id := candidates[i]; id != inSubscription || round == 5 {
				scopes = append(scopes, id)
			}
		}
		for i, scope := range scopes {
			s.own(scope, third, i)
		}
		checkLists(t, s, full, third, scopes)
		for i, scope := range scopes {
			s.disown(scope, i)
		}
	}
	for path := range full {
		s.want(404, "SubscriptionNotFound", "GET", path, "", "Authorization", bearer(third))
	}
}

// A page is its caller's at the time at which it is asked for, whoever got the link to it,
// and however many endpoints serve the list.
func TestPagesFollowRights(t *testing.T) {
	s := listedSite(t, fmt.Sprintf(", {principalId: %s, scope: %q}", callers[second].ObjectID, groupPath("mine")))
	next := func(link, token string) (names, more string) {
		t.Helper()
		page := decode[named](t, s.ok(200, "GET", link, "", "Authorization", bearer(token)))
		for _, e := range page.Value {
			if token != secret && !withinAny([]string{groupPath("mine"), groupPath("Other")}, e.ID) {
				t.Errorf("%s shows %s", link, e.ID)
			}
			names += " " + e.Name
		}
		if page.NextLink != "" {
			more = s.local(page.NextLink)
		}
		return names, more
	}
	for _, list := range []string{
		machines + api, inSubscription + "/providers/Contoso.Insight/profiles" + api, inSubscription + "/resources" + own, inSubscription + "/resourceGroups" + own,
	} {
		// Each has its own links, but where the provider's are passed on.
		walk := func(by, other string) (all string) {
			for link, n := list+"&$top=1", 0; link != ""; n++ {
				if n > 0 && !(by == secret && strings.Contains(list, "/profiles")) {
					s.want(400, "InvalidSkipToken", "GET", link, "", "Authorization", bearer(other))
				}
				var names string
				names, link = next(link, by)
				if all += names; n > 60 {
					t.Fatal("the list does not end")
				}
			}
			return all
		}
		walk(second, secret)
		all := walk(secret, second)
		// What the second caller may read is of all that the first one was shown.
		ids, _ := s.idsOn(t, list, second)
		for _, id := range ids {
			if name := id[strings.LastIndexByte(id, '/'):][1:]; !strings.Contains(all+" ", " "+name+" ") && !strings.Contains(all+" ", "/"+name+" ") {
				t.Errorf("%s: %s is not among%s", list, id, all)
			}
		}
	}
	// A link of a list that was begun with fewer rights, after more were given and taken.
	_, link := next(machines+api+"&$top=1", second)
	s.own(groupPath("Other"), second, 1)
	var shown string
	for link != "" {
		var names string
		names, link = next(link, second)
		shown += names
	}
	if strings.Count(shown, "a-b") < 1 {
		t.Errorf("shown are%s", shown)
	}
	s.disown(groupPath("Other"), 1)
}

// Subscriptions are listed to who has a role anywhere in them.
func TestSubscriptionsAreListedToWhoHasARole(t *testing.T) {
	const another = "00000000-0000-0000-0000-0000000000f2"
	s := newSite(t, setup{tokens: true, roles: fmt.Sprintf("owners: [{principalId: %s}, {principalId: %s, scope: /subscriptions/%s/resourceGroups/g}]",
		callers[secret].ObjectID, callers[second].ObjectID, strings.ToUpper(another))})
	s.subscribe(another, tenant, inventory.Enabled)
	listed := func(token string) string {
		t.Helper()
		var all []string
		for link := "/subscriptions" + own + "&$top=1"; link != ""; {
			page := decode[named](t, s.ok(200, "GET", link, "", "Authorization", bearer(token)))
			for _, e := range page.Value {
				all = append(all, e.ID[len(e.ID)-2:])
			}
			if link = ""; page.NextLink != "" {
				link = s.local(page.NextLink)
			}
		}
		return strings.Join(all, " ")
	}
	s.ok(201, "PUT", groupPath("g")+own, westus, "Authorization", bearer(secret))
	for _, c := range []struct{ token, want string }{{secret, "01 f2"}, {second, "f2"}, {third, ""}, {stranger, ""}} {
		if got := listed(c.token); got != c.want {
			t.Errorf("%s is shown %q, want %q", c.token, got, c.want)
		}
	}
	s.own(groupPath("g"), third, 1)
	s.own(groupPath("g"), second, 2)
	for _, c := range []struct{ token, want string }{{second, "01 f2"}, {third, "01"}} {
		if got := listed(c.token); got != c.want {
			t.Errorf("%s is shown %q, want %q", c.token, got, c.want)
		}
	}
}

// own makes a caller an owner at a scope, by an assignment with a number.
func (s *site) own(scope, token string, n int) {
	s.t.Helper()
	_, _, err := s.store.Roles.PutAssignment(s.t.Context(), roleScope(scope), fmt.Sprintf("00000000-0000-0000-0002-%012d", n), func(*assignments.Assignment) (*assignments.Assignment, error) {
		a := assignments.Assignment{ScopeID: scope, PrincipalID: callers[token].ObjectID, PrincipalType: "User", RoleDefinition: roles.Owner, ETag: "e"}
		if strings.Contains(scope, "/providers/") {
			a.Host = arm.Fold(scope)
		}
		return &a, nil
	})
	if err != nil {
		s.t.Fatal(scope, err)
	}
}

func (s *site) disown(scope string, n int) {
	s.t.Helper()
	err := s.store.Roles.DeleteAssignment(s.t.Context(), roleScope(scope), fmt.Sprintf("00000000-0000-0000-0002-%012d", n), func(assignments.Assignment) error { return nil })
	if err != nil {
		s.t.Fatal(scope, err)
	}
}

func roleScope(scope string) assignments.Scope {
	at := assignments.Scope{TenantID: tenant, Subscription: subscription, ID: scope}
	if segments := strings.Split(scope, "/"); len(segments) > 4 {
		at.Group = segments[4]
	}
	return at
}
