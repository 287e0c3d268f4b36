package gateway

import (
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"portico/arm"
)

// listedSite is a site with resources of all kinds in several groups and regions, of
// which each caller but the first may see a part.
func listedSite(t *testing.T, roles string) *site {
	t.Helper()
	s := newSite(t, setup{tokens: true, roles: "owners: [{principalId: " + callers[secret].ObjectID + "}" + roles + "]"})
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
func (s *site) idsOn(t testing.TB, path, token string) (ids []string, known bool) {
	t.Helper()
	for range 200 {
		got := s.do("GET", path, "", "Authorization", bearer(token))
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

// What a subscription is and may use is known to all who may read something in it; sums
// over all of it, and what they may not read in it, are not.
func TestReadsOfASubscriptionByWhoMayReadAPart(t *testing.T) {
	s := listedSite(t, fmt.Sprintf(", {principalId: %s, scope: %q}", callers[second].ObjectID, machinePath("Other", "a")))
	by := func(token string) []string { return []string{"Authorization", bearer(token)} }
	for _, path := range []string{
		inSubscription, inSubscription + "/locations", inSubscription + "/providers", inSubscription + "/providers/Contoso.Compute",
		inSubscription + "/providers/Microsoft.Features/features", inSubscription + "/providers/Microsoft.Features/providers/Contoso.Compute/features",
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
