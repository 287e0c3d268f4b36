package gateway_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"portico/inventory"
	"portico/inventory/index"
)

// Where a group ever sent a write to is looked at before it goes.
func TestGroupHoldsWhatNoOneKnows(t *testing.T) {
	s := newSite(t, setup{})
	g := s.group("g")
	// A provider that refuses a create, and yet carries it out.
	m := machinePath("g", "M")
	s.want(400, "ContosoFault", "PUT", m+api, eastus, "x-contoso-fault", "status=400")
	if _, there := s.row(m); there {
		t.Fatal("a refused create left a row")
	}
	s.at("eastus").do("PUT", m+api, eastus, 201)
	s.rule("eastus", "DELETE", "machines/m", "status=403", 1)
	s.work()
	s.blocked(g, m)
	if row, _ := s.row(m); row.Region != "eastus" || row.ID != m || !firm(row) {
		t.Errorf("%+v", row)
	}
	for region, e := range s.providers {
		for _, r := range e.requests() {
			if region != "eastus" && strings.HasPrefix(r.Path, g) {
				t.Errorf("%s was asked for what was never sent there: %v", region, r)
			}
		}
	}
	s.ok(200, "DELETE", m+api, "")
	s.ok(200, "DELETE", g+own, "")
	// What another incarnation sent is not this one's.
	s.group("g")
	s.at("eastus").requests()
	s.ok(200, "DELETE", g+own, "")
	if requests := s.at("eastus").requests(); len(requests) != 0 {
		t.Errorf("%v", requests)
	}
}

// What a provider hides from the caller of a group's deletion goes with the group.
func TestGroupHoldsWhatItsCallerIsNotShown(t *testing.T) {
	s := newSite(t, setup{})
	g := s.group("g")
	m := machinePath("g", "m")
	s.want(400, "ContosoFault", "PUT", m+api, eastus, "x-contoso-fault", "status=400")
	s.at("eastus").do("PUT", m+api, eastus, 201)
	s.rule("eastus", "GET", "virtualMachines", "hidden-from-clients", -1)
	s.work()
	s.removed(g)
	if left := s.at("eastus").holds(); len(left) != 0 {
		t.Errorf("the group has gone, and its provider holds %v", left)
	}
}

// What lands late, under a fence of an earlier group of the name, holds the group back until
// the fence's job has deleted it.
func TestGroupWaitsForWhatLandsUnderAFence(t *testing.T) {
	s := newSite(t, setup{})
	s.work()
	g := s.group("g")
	m := machinePath("g", "m")
	s.want(502, "BadGatewayConnection", "PUT", m+api, eastus, "x-contoso-fault", "reset-before")
	if got := s.end(s.ok(202, "DELETE", g+own, "")); got.status != 200 {
		t.Fatalf("%d %s", got.status, got.text)
	}
	s.rule("eastus", "DELETE", "machines/m", "status=409", -1)
	s.at("eastus").do("PUT", m+api, eastus, 201)

	s.group("g")
	s.machine("g", "other", "eastus")
	accepted := s.ok(202, "DELETE", g+own, "")
	s.waitsFor(accepted, "eastus")
	s.at("eastus").do("DELETE", "/contoso/faults", "", 204)
	if got := s.end(accepted); got.status != 200 {
		t.Errorf("%d %s", got.status, got.text)
	}
	if left := s.at("eastus").holds(); len(left) != 0 {
		t.Errorf("the group has gone, and its provider holds %v", left)
	}
}

// A 404 that does not speak of a resource, which a list has shown, holds the group back.
func TestGroupWaitsForWhatAListShows(t *testing.T) {
	for _, fault := range []string{"not-found=page", "not-found=SubscriptionNotFound"} {
		s := newSite(t, setup{})
		g := s.group("g")
		m := machinePath("g", "m")
		s.want(400, "ContosoFault", "PUT", m+api, eastus, "x-contoso-fault", "status=400")
		s.at("eastus").do("PUT", m+api, eastus, 201)
		s.rule("eastus", "GET", "machines/m", fault, -1)
		accepted := s.ok(202, "DELETE", g+own, "")
		s.work()
		s.waitsFor(accepted, "eastus")
		s.at("eastus").do("DELETE", "/contoso/faults", "", 204)
		if got := s.end(accepted); got.status != 200 {
			t.Errorf("%s: %d %s", fault, got.status, got.text)
		}
		if left := s.at("eastus").holds(); len(left) != 0 {
			t.Errorf("%s: the group has gone, and its provider holds %v", fault, left)
		}
	}
}

func TestEmptinessCheckOfAnEstate(t *testing.T) {
	s, east, west := preexisting(t)
	g := groupPath("G")
	h := s.group("h")
	s.at("westus").requests()
	s.ok(200, "DELETE", h+own, "") // its lists are empty, and those of G not its own
	if requests := s.at("westus").requests(); len(requests) == 0 {
		t.Error("nobody was asked")
	}
	s.work()
	s.removed(g)
	for region, id := range map[string]string{"eastus": east, "westus": west} {
		if left := s.at(region).holds(); len(left) != 0 {
			t.Errorf("%s: %v", id, left)
		}
	}
}

func TestEmptinessCheckPagesThrough(t *testing.T) {
	s := newSite(t, setup{uncovered: true})
	g := s.group("g")
	for i := range 120 { // one look adopts 100
		s.at("westus").do("PUT", machinePath("g", fmt.Sprintf("m%03d", i))+api, westus, 201)
	}
	s.work()
	s.removed(g)
	if left := s.at("westus").holds(); len(left) != 0 {
		t.Errorf("%v", left)
	}
}

// A place that does not say holds the group back, and is named.
func TestEmptinessCheckThatIsInconclusive(t *testing.T) {
	for _, fault := range []string{"status=500", "bad-json", "stall"} {
		s := newSite(t, setup{sections: "upstream: {callTimeout: 700ms}"})
		g := s.group("g")
		m := s.machine("g", "m", "eastus")
		s.ok(200, "DELETE", m+api, "")
		s.rule("eastus", "GET", "virtualMachines", fault, -1)
		accepted := s.ok(202, "DELETE", g+own, "")
		s.work()
		s.waitsFor(accepted, "eastus")
		s.ok(204, "HEAD", g+own, "")
		s.at("eastus").do("DELETE", "/contoso/faults", "", 204)
		if got := s.end(accepted); got.status != 200 {
			t.Errorf("%s: %d %s", fault, got.status, got.text)
		}
	}
}

// waitsFor waits until a deletion says that it waits for a region.
func (s *site) waitsFor(accepted seen, region string) {
	s.t.Helper()
	s.within("the status", func() bool {
		now := decode[operationStatus](s.t, s.ok(200, "GET", s.statusOf(accepted), ""))
		return slices.Equal(now.WaitingFor, []string{region})
	})
	s.ok(202, "GET", s.local(accepted.header.Get("Location")), "")
}

func TestEmptinessCheckOfWhatLeftTheMap(t *testing.T) {
	s := newSite(t, setup{})
	s.work()
	for _, place := range []inventory.Write{
		{Type: "Contoso.Compute/virtualMachines", Region: "northpole"},
		{Type: "Contoso.Compute/forgotten", Region: "westus"},
		{Type: "Contoso.Forgotten/things", Region: "westus"},
	} {
		g := s.group("g")
		place.Subscription, place.Group, place.ID = subscription, "g", g+"/providers/x/y/z"
		place.Key = place.ID
		ticket, err := s.store.Begin(t.Context(), place)
		must(t, err)
		if _, err := s.store.Settle(t.Context(), ticket, inventory.WriteResult{Outcome: index.NotSent}); err != nil {
			t.Fatal(err)
		}
		accepted := s.ok(202, "DELETE", g+own, "")
		s.waitsFor(accepted, place.Region)
		s.clock.advance(2 * hour)
		if got := s.end(accepted); got.status != 409 || got.code != "ResourceGroupDeletionTimeout" {
			t.Errorf("%d %s", got.status, got.text)
		}
		must(t, s.store.DeleteGroup(t.Context(), subscription, "g", inventory.DeleteGroupConditions{}))
	}
}

// A stray is deleted where it is, without touching what its ID names elsewhere.
func TestGroupWithAStray(t *testing.T) {
	s := newSite(t, setup{})
	g := s.group("g")
	m := s.machine("g", "m", "westus")
	s.at("eastus").do("PUT", m+api, eastus, 201)
	s.machine("g", "n", "eastus") // so that the group touched eastus
	s.ok(200, "DELETE", machinePath("g", "n")+api, "")
	q, err := s.store.Adopt(t.Context(), inventory.Discovery{ListedSince: s.store.Now(), Resource: inventory.Resource{
		Subscription: subscription, Group: "g", ID: m, Type: "Contoso.Compute/virtualMachines", Region: "eastus",
	}})
	if err != nil || q != inventory.Strayed {
		t.Fatal(q, err)
	}
	s.rule("eastus", "DELETE", "machines/m", "status=403", 1)
	s.rule("westus", "DELETE", "machines/m", "status=403", 1)
	s.work()
	s.blocked(g, m, m)
	if row, _ := s.row(m); row.Region != "westus" || !firm(row) {
		t.Errorf("%+v", row)
	}
	s.removed(g)
	for _, region := range []string{"eastus", "westus"} {
		if left := s.at(region).holds(); len(left) != 0 {
			t.Errorf("%v", left)
		}
	}
}

// A look that met what was being changed does not count: what was deleted and
// made again while it was seen is neither adopted by it nor passed over.
func TestEmptinessCheckIsRepeated(t *testing.T) {
	const types = "/providers/Contoso.Lists/items"
	item := groupPath("g") + types + "/i"
	var s *site
	remake := func() {
		w := inventory.Write{
			Kind: index.Delete, Subscription: subscription, Group: "g", Key: item, ID: item, Type: "Contoso.Lists/items", Region: "westus",
		}
		ticket, err := s.store.Begin(t.Context(), w)
		if err == nil {
			_, err = s.store.Settle(t.Context(), ticket, inventory.WriteResult{Outcome: index.Gone})
		}
		if err != nil {
			t.Error(err)
		}
	}
	var calls atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !strings.HasSuffix(r.URL.Path, "/i"):
			fmt.Fprint(w, `{"value":[{"id":"`+item+`"}]}`)
			return
		case r.Method == http.MethodDelete:
			w.WriteHeader(http.StatusConflict)
			return
		case calls.Add(1) == 1:
			remake()
		}
		fmt.Fprint(w, `{"id":"`+item+`","location":"westus"}`)
	}))
	defer server.Close()
	s = newSite(t, setup{types: `
regions: [{name: westus, displayName: West US}]
providers:
  - namespace: Contoso.Lists
    registration: automatic
    endpoints: {westus: ["` + server.URL + `"], global: ["` + server.URL + `"]}
    resourceTypes: [{name: items, kind: tracked, apiVersions: ["2024-01-01"]}]
`})
	g := s.group("g")
	remake() // the group has sent a write there
	s.work()
	s.blocked(g, item)
	if calls.Load() < 2 {
		t.Error("it was asked for once")
	}
}

// Instances without rows are gone through for what lies below them.
func TestEmptinessCheckBelowWhatHasNoRows(t *testing.T) {
	const folders = "/providers/Contoso.Lists/folders"
	item := groupPath("g") + folders + "/c/items/i"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/subscriptions/"+subscription { // it is told of that
			return
		}
		for path, body := range map[string]string{
			folders:              `{"value":[{"id":"` + groupPath("g") + folders + `/c"},{"id":"` + groupPath("other") + folders + `/x"}]}`,
			folders + "/c/items": `{"value":[{"id":"` + item + `"}]}`,
			"/items/i":           `{"id":"` + item + `","location":"westus"}`,
			"/items/i/parts":     `{"value":[]}`, // as a sweep asks
		} {
			if strings.HasSuffix(r.URL.Path, path) && r.Method == http.MethodDelete {
				w.WriteHeader(http.StatusConflict)
				return
			}
			if strings.HasSuffix(r.URL.Path, path) {
				fmt.Fprint(w, body)
				return
			}
		}
		t.Errorf("%s", r.URL)
		w.WriteHeader(http.StatusNotFound)
	}))
	defer server.Close()
	s := newSite(t, setup{uncovered: true, types: `
regions: [{name: westus, displayName: West US}]
providers:
  - namespace: Contoso.Lists
    registration: automatic
    endpoints: {westus: ["` + server.URL + `"], global: ["` + server.URL + `"]}
    resourceTypes:
      - {name: folders, kind: proxyOnly, apiVersions: ["2024-01-01"]}
      - {name: folders/items, kind: tracked, apiVersions: ["2024-01-01"]}
      - {name: folders/items/parts, kind: tracked, apiVersions: ["2024-01-01"]}
`})
	s.work()
	s.blocked(s.group("g"), item)
}
