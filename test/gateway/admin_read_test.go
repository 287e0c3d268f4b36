package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	described "portico/gateway/admin/api"
	"portico/inventory/assignments"
)

// report reads an answer of the admin listener, which has no member but those that are
// described.
func report[T any](s *site, target string, header ...string) (answer T) {
	s.t.Helper()
	decoder := json.NewDecoder(bytes.NewReader([]byte(s.request(200, "", "GET", target, "", header...).text)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&answer); err != nil {
		s.t.Fatalf("%s: %v", target, err)
	}
	return answer
}

// pages walks a list of the admin listener.
func pages[T any](s *site, target string) (all []T, n int) {
	s.t.Helper()
	for ; target != ""; n++ {
		page := report[described.Page[T]](s, target)
		if page.Value == nil {
			s.t.Errorf("%s: null", target)
		}
		all, target = append(all, page.Value...), page.NextLink
		if n > 50 {
			s.t.Fatal("the list does not end")
		}
	}
	return all, n
}

func TestAdminRegions(t *testing.T) {
	s := newSite(t, setup{})
	all, n := pages[described.Region](s, "/admin/regions?limit=1")
	if n != 3 || len(all) != 3 || all[0].Name != "eastus" || all[1].Name != "global" || all[2].Name != "westus" {
		t.Fatalf("%d pages of %+v", n, all)
	}
	if west := all[2]; west.DisplayName != "West US" || west.PairedRegion != "eastus" || west.State != described.Unknown || len(west.Endpoints) != 2 {
		t.Errorf("%+v", west)
	}
	s.group("g")
	s.machine("g", "m", "westus")
	s.want(500, "ContosoFault", "PUT", machinePath("g", "Broken")+api, westus, "x-contoso-fault", "status=500")
	for _, r := range report[described.Page[described.Region]](s, "/admin/regions").Value {
		for _, e := range r.Endpoints {
			a := e.Addresses[0]
			called := r.Name == "westus"
			if len(e.Addresses) != 1 || a.URL != s.at(r.Name).server.URL || a.Circuit != "closed" || a.Reason != "" || a.InFlight != 0 || called != (a.Requests > 1 && a.Failures == 1 && a.State == described.Up) {
				t.Errorf("%s: %+v", r.Name, e)
			}
			if e.Namespace == "Contoso.Compute" && !slices.Equal(e.ResourceTypes, []string{"virtualMachines", "virtualMachines/disks", "virtualMachines/runCommands", "networkInterfaces"}) && r.Name != "global" {
				t.Errorf("%s: %v", r.Name, e.ResourceTypes)
			}
		}
		if r.Name == "westus" && r.State != described.Up {
			t.Errorf("%+v", r)
		}
	}
	for _, after := range []string{"zzz", "westus", "%00"} {
		page := report[described.Page[described.Region]](s, "/admin/regions?after="+after)
		if want := map[bool]int{true: 3}[after == "%00"]; len(page.Value) != want || page.NextLink != "" {
			t.Errorf("%s: %+v", after, page)
		}
	}
	s.request(400, "InvalidQueryParameter", "GET", "/admin/regions?limit=many", "")
	s.request(405, "", "PUT", "/admin/regions", "")
}

func TestAdminProviders(t *testing.T) {
	s := newSite(t, setup{})
	all, n := pages[described.Provider](s, "/admin/providers?limit=1")
	if n != 2 || len(all) != 2 || all[0].Namespace != "Contoso.Compute" || all[0].Registration != "automatic" || all[1].Registration != "required" {
		t.Fatalf("%d pages of %+v", n, all)
	}
	first, global := all[0].ResourceTypes[0], all[1].ResourceTypes[1]
	slices.Sort(first.Locations)
	if first.Name != "virtualMachines" || first.Kind != "tracked" || first.Routing != "regional" || first.APIVersions[0] != "2024-06-01-preview" || !slices.Equal(first.Locations, []string{"eastus", "westus"}) {
		t.Errorf("%+v", first)
	}
	if global.Name != "profiles" || global.Routing != "global" || !slices.Equal(global.Locations, []string{"global"}) {
		t.Errorf("%+v", global)
	}
	s.request(400, "InvalidQueryParameter", "GET", "/admin/providers?limit=-1", "")
}

func TestAdminResources(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	s.group("h")
	for i := range 5 {
		s.machine("g", fmt.Sprint("m", i), map[bool]string{true: "westus", false: "eastus"}[i%2 == 0])
	}
	s.machine("h", "other", "westus")
	s.ok(202, "DELETE", machinePath("g", "m0")+api, "", "x-contoso-async", "location", "x-contoso-duration", "1h")
	list := "/admin/resources?subscription=" + subscription
	for query, want := range map[string]string{
		"": "m0 m1 m2 m3 m4 other", "&resourceGroup=G": "m0 m1 m2 m3 m4", "&region=EastUS": "m1 m3", "&resourceGroup=h": "other", "&region=global": "",
		"&resourceType=contoso.compute/virtualmachines&region=westus": "m0 m2 m4 other", "&resourceType=contoso.compute/disks": "", "&resourceGroup=%27%22": "",
	} {
		for _, limit := range []string{"&limit=1", "&limit=2", ""} {
			all, n := pages[described.Resource](s, list+query+limit)
			var names []string
			for _, r := range all {
				names = append(names, r.ID[strings.LastIndexByte(r.ID, '/')+1:])
			}
			if got := strings.Join(names, " "); got != want || limit == "&limit=2" && n > 1+len(all)/2 {
				t.Errorf("%s%s: %q on %d pages, want %q", query, limit, got, n, want)
			}
		}
	}
	first := report[described.Page[described.Resource]](s, list).Value[0]
	if first.ID != machinePath("g", "m0") || first.Type != "Contoso.Compute/virtualMachines" || first.Region != "westus" || first.Phase != "Deleting" || !slices.Equal(first.Flags, []string{"followDelete"}) || first.Created == nil {
		t.Errorf("%+v", first)
	}
	if empty := report[described.Page[described.Resource]](s, list+"&region=nowhere&after=x"); len(empty.Value) != 0 {
		t.Errorf("%+v", empty)
	}
	s.request(400, "InvalidQueryParameter", "GET", list+"&region=nowhere", "").says(t, "The query parameter 'region' is invalid: it must be one of eastus, global, westus, or a region in which the subscription has rows.")
	s.request(404, "SubscriptionNotFound", "GET", "/admin/resources?subscription="+foreign, "")
	s.request(400, "InvalidSubscriptionId", "GET", "/admin/resources", "")
	s.request(400, "InvalidSubscriptionId", "GET", "/admin/resources?subscription=x", "")
	s.request(400, "InvalidQueryParameter", "GET", list+"&limit=1001", "")
}

func TestAdminResource(t *testing.T) {
	s := newSite(t, setup{tokens: true})
	admin := func(id string) described.ResourceDetail {
		return report[described.ResourceDetail](s, "/admin/resource?id="+url.QueryEscape(id))
	}
	ann := []string{"Authorization", bearer(secret)}
	s.ok(201, "PUT", inSubscription+"/resourceGroups/g"+own, westus, ann...)
	m := machinePath("g", "M")
	s.ok(201, "PUT", m+api, westus, ann...)
	for _, scope := range []string{inSubscription, inSubscription + "/resourceGroups/g", m, machinePath("g", "M2")} {
		s.do("PUT", scope+lockPlace+"/L"+own, canNotDelete, ann...)
	}
	s.want(500, "ContosoFault", "PATCH", m+api, `{"tags":{"a":"b"}}`, append(ann, "x-contoso-fault", "status=500")...)
	for _, id := range []string{m, strings.ToUpper(m[:1]) + strings.ToLower(m[1:])} {
		got := admin(id)
		if got.ID != m || got.Row == nil || got.Row.Region != "westus" || !slices.Equal(got.Row.Flags, []string{"verify"}) || len(got.Fences) != 0 || got.Fences == nil {
			t.Errorf("%+v", got)
		}
		if len(got.Waiting) != 2 || got.Waiting[0].Reason != described.WriteWithoutAnswer || got.Waiting[0].Until == nil || got.Waiting[1].Reason != described.VerificationPending || got.Waiting[1].Job == "" {
			t.Errorf("%+v", got.Waiting)
		}
		if len(got.Locks) != 3 || got.Locks[0].Scope != inSubscription || got.Locks[2].Scope != m || got.Locks[2].ID != m+lockPlace+"/L" || got.Locks[2].Level != "CanNotDelete" || got.Locks[2].Notes != "mine" {
			t.Errorf("%+v", got.Locks)
		}
		last := got.Events[len(got.Events)-1]
		if last.Action != "Contoso.Compute/virtualMachines/write" || last.Status != "Succeeded" || last.Caller != callers[secret].ObjectID || last.CorrelationID == "" || last.Time.IsZero() {
			t.Errorf("%+v", got.Events)
		}
	}
	if g := admin(inSubscription + "/resourceGroups/G"); g.ID != inSubscription+"/resourceGroups/g" || g.Row != nil || g.Subscription != nil || g.Group == nil || g.Group.State != "Succeeded" || g.Group.Location != "westus" || g.Group.Created == nil {
		t.Errorf("%+v", g)
	}
	for _, none := range []string{inSubscription + "/resourceGroups/none", inSubscription + "/resourceGroups", inSubscription + "/resourceGroups/g/resources", "/subscriptions/" + foreign} {
		if got := admin(none); got.Group != nil || got.Subscription != nil {
			t.Errorf("%s: %+v", none, got)
		}
	}
	nothing := admin(machinePath("g", "none"))
	if nothing.Group != nil || nothing.ID != machinePath("g", "none") || nothing.Row != nil || nothing.Waiting == nil || len(nothing.Waiting) != 0 || len(nothing.Locks) != 2 || nothing.Events == nil {
		t.Errorf("%+v", nothing)
	}
	if sub := admin(inSubscription); sub.Row != nil || sub.Group != nil || len(sub.Locks) != 1 || sub.Subscription == nil || sub.Subscription.State != "Enabled" || sub.Subscription.TenantID != tenant {
		t.Errorf("%+v", sub)
	}
	for _, lock := range []string{inSubscription, inSubscription + "/resourceGroups/g", m} {
		s.ok(200, "DELETE", lock+lockPlace+"/L"+own, "", ann...)
	}
	s.ok(202, "DELETE", inSubscription+"/resourceGroups/g"+own, "", ann...)
	group := admin(inSubscription + "/resourceGroups/G")
	if group.Group == nil || group.Group.State != "Deleting" || len(group.Waiting) != 1 || group.Waiting[0].Reason != described.DeletionUnderWay || group.Waiting[0].Job == "" || group.Waiting[0].Until == nil || len(group.Events) < 2 {
		t.Errorf("%+v", group)
	}
	s.request(200, "", "GET", "/admin/jobs/"+group.Waiting[0].Job, "")
	for _, bad := range []string{"", "x", "/", "/subscriptions/x", "/providers/Contoso.Compute/operations", "/subscriptions/" + subscription + "/../x", strings.Repeat("/a", 3000), "/subscriptions/" + subscription + "/resourceGroups/%00"} {
		s.request(400, "InvalidQueryParameter", "GET", "/admin/resource?id="+url.QueryEscape(bad), "")
	}
	if log := s.log.String(); strings.Contains(log, "mine") {
		t.Errorf("the log shows the notes of a lock: %s", log)
	}
}

func TestAdminFencesOfAResource(t *testing.T) {
	s := newSite(t, setup{})
	g := s.group("g")
	m := s.machine("g", "m", "westus")
	s.want(502, "BadGatewayConnection", "DELETE", m+api, "", "x-contoso-fault", "reset-after")
	s.work()
	s.removed(g)
	got := report[described.ResourceDetail](s, "/admin/resource?id="+m)
	all := report[described.Page[described.Fence]](s, "/admin/fences?limit=1").Value
	if len(all) != 1 || len(got.Fences) != 1 || got.Fences[0] != all[0] || all[0].Kind != "DELETE" || all[0].Region == "" {
		t.Errorf("%+v and %+v", got, all)
	}
	s.request(400, "InvalidQueryParameter", "GET", "/admin/fences?limit=0", "")
	s.request(400, "InvalidQueryParameter", "GET", "/admin/fences?after=x", "")
}

func TestAdminLocks(t *testing.T) {
	s := newSite(t, setup{})
	g := s.group("g")
	m := s.machine("g", "m", "westus")
	for _, scope := range []string{m, inSubscription, g} {
		s.ok(201, "PUT", scope+lockPlace+"/B"+own, readOnly)
		s.ok(201, "PUT", scope+lockPlace+"/a%20c"+own, canNotDelete)
	}
	list := "/admin/locks?subscription=" + subscription
	for _, limit := range []string{"", "&limit=1", "&limit=4"} {
		all, n := pages[described.Lock](s, list+limit)
		var shown []string
		for _, l := range all {
			shown = append(shown, l.Scope+" "+l.Name+" "+l.Level+" "+l.Notes)
		}
		want := []string{
			inSubscription + " a c CanNotDelete mine", inSubscription + " B ReadOnly ", g + " a c CanNotDelete mine", g + " B ReadOnly ",
			m + " a c CanNotDelete mine", m + " B ReadOnly ",
		}
		if !slices.Equal(shown, want) || limit == "&limit=1" && n != 6 {
			t.Errorf("%d pages of %q", n, shown)
		}
	}
	for scope, want := range map[string]int{inSubscription: 2, strings.ToUpper(g[:1]) + g[1:]: 4, m: 6, m + "/disks/d": 6, g + "/providers/A.B/c/d": 4} {
		if at, _ := pages[described.Lock](s, list+"&scope="+url.QueryEscape(scope)); len(at) != want {
			t.Errorf("%s: %+v", scope, at)
		}
	}
	if log := s.log.String(); strings.Contains(log, "mine") {
		t.Errorf("the log shows the notes of a lock: %s", log)
	}
	s.request(400, "InvalidSubscriptionId", "GET", "/admin/locks", "")
	s.request(404, "SubscriptionNotFound", "GET", "/admin/locks?subscription="+foreign, "")
	s.request(400, "InvalidQueryParameter", "GET", list+"&after=x", "")
	s.request(400, "InvalidQueryParameter", "GET", list+"&scope=x", "")
	s.request(400, "InvalidQueryParameter", "GET", list+"&scope=/subscriptions/"+foreign, "")
	s.request(400, "InvalidQueryParameter", "GET", list+"&scope=", "")
}

// Operators see the names that callers had in their tokens beside their ids.
func TestAdminNames(t *testing.T) {
	s := newSite(t, setup{tokens: true})
	s.ok(201, "PUT", inSubscription+"/resourceGroups/g"+own, westus, "Authorization", bearer(secret))
	s.want(404, "ResourceGroupNotFound", "GET", inSubscription+"/resourceGroups/nothing"+own, "", "Authorization", bearer(secret))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	s.gateway.Run(ended)
	who := callers[secret]
	var errors described.Page[described.ErrorAnswer]
	must(t, json.Unmarshal([]byte(s.request(200, "", "GET", "/admin/errors", "").text), &errors))
	if len(errors.Value) != 1 || errors.Value[0].Caller != who.ObjectID || errors.Value[0].Name != who.Name || who.Name == "" || strings.Contains(errors.Value[0].Message, who.Name) {
		t.Errorf("%+v", errors)
	}
	of, _ := pages[described.RoleAssignment](s, "/admin/roles?subscription="+subscription+"&principalId="+who.ObjectID)
	if len(of) != 1 || of[0].PrincipalName != who.Name {
		t.Errorf("%+v", of)
	}
	lock := groupPath("g") + "/providers/Microsoft.Authorization/locks/l"
	s.ok(201, "PUT", lock+"?api-version=2020-05-01", `{"properties":{"level":"CanNotDelete"}}`, "Authorization", bearer(secret))
	s.ok(200, "DELETE", lock+"?api-version=2020-05-01", "", "Authorization", bearer(secret))
	var removed described.ResourceDetail
	must(t, json.Unmarshal([]byte(s.request(200, "", "GET", "/admin/resource?id="+lock, "").text), &removed))
	if len(removed.Events) == 0 || !strings.HasSuffix(removed.Events[0].Action, "/locks/delete") || removed.Events[0].Caller != who.ObjectID || removed.Events[0].Name != who.Name {
		t.Errorf("the removal of a lock: %+v", removed.Events)
	}
	for _, query := range []string{"last=1", "resource=" + groupPath("g")} {
		if page := s.request(200, "", "GET", "/admin/changes?"+query, ""); !strings.Contains(page.text, `"name":"`+who.Name+`"`) {
			t.Errorf("%s: %s", query, page.text)
		}
	}
}

func TestAdminRoles(t *testing.T) {
	s := newSite(t, setup{tokens: true})
	g := inSubscription + "/resourceGroups/g"
	s.ok(201, "PUT", g+own, westus, "Authorization", bearer(secret))
	reader, custom := "acdd72a7-3385-48ef-bd42-f606fba81ae7", s.define()
	if _, _, err := s.store.Roles.PutDefinition(t.Context(), tenant, custom, func(now *assignments.Definition) (*assignments.Definition, error) {
		next := *now
		next.Name = "Custom"
		return &next, nil
	}); err != nil {
		t.Fatal(err)
	}
	one, two := "00000000-0000-0000-0000-0000000000f1", "00000000-0000-0000-0000-0000000000f2"
	s.assign(one, reader, "/")
	s.assign(one, reader, inSubscription)
	s.assign(two, custom, inSubscription)
	s.assign(two, reader, g)
	list := "/admin/roles?subscription=" + subscription
	for _, limit := range []string{"", "&limit=1", "&limit=3"} {
		all, _ := pages[described.RoleAssignment](s, list+limit)
		var shown []string
		owners := 0
		for _, a := range all {
			if a.Owner {
				owners++
				continue
			}
			if !strings.Contains(a.ID, "/providers/Microsoft.Authorization/roleAssignments/") || a.PrincipalType != "ServicePrincipal" {
				t.Errorf("%+v", a)
			}
			shown = append(shown, a.Scope+" "+a.PrincipalID[34:]+" "+a.Role)
		}
		slices.Sort(shown)
		want := []string{"/ f1 Reader", inSubscription + " f1 Reader", inSubscription + " f2 Custom", g + " f2 Reader"}
		if !slices.Equal(shown, want) || owners != len(callers)-1 { // one is of another tenant
			t.Errorf("%d owners, %q, want %q", owners, shown, want)
		}
	}
	if of, _ := pages[described.RoleAssignment](s, list+"&limit=1&principalId="+strings.ToUpper(two)); len(of) != 2 || of[0].PrincipalID != two {
		t.Errorf("%+v", of)
	}
	if of, _ := pages[described.RoleAssignment](s, list+"&principalId="+callers[secret].ObjectID); len(of) != 1 || !of[0].Owner || of[0].Role != "Owner" || of[0].Scope != "/" {
		t.Errorf("%+v", of)
	}
	if none := s.request(200, "", "GET", list+"&principalId=00000000-0000-0000-0000-0000000000f3", ""); !strings.Contains(none.text, `"value":[]`) {
		t.Errorf("somebody without a role: %s", none.text)
	}
	s.request(400, "InvalidSubscriptionId", "GET", "/admin/roles", "")
	s.request(404, "SubscriptionNotFound", "GET", "/admin/roles?subscription="+foreign, "")
	s.request(400, "InvalidQueryParameter", "GET", list+"&after=x", "")
	s.request(400, "InvalidQueryParameter", "GET", list+"&limit=x", "")
	s.request(400, "InvalidQueryParameter", "GET", list+"&principalId=Ann", "")
}

// All of it is for those who have the admin token, and is audited.
func TestAdminReadsAskForTheToken(t *testing.T) {
	s := newSite(t, setup{server: ", adminToken: {sha256: " + sha("operator") + "}"})
	for _, path := range []string{"status", "regions", "providers", "resources", "resource", "locks", "roles", "openapi.json"} {
		s.request(401, "AuthenticationFailed", "GET", "/admin/"+path, "")
	}
	s.request(200, "", "GET", "/admin/regions", "", "Authorization", bearer("operator"))
	if !strings.Contains(s.log.String(), `"admin read"`) {
		t.Errorf("no audit line: %s", s.log)
	}
}
