package gateway_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"portico/arm"
)

// preexisting returns a site whose providers held resources before it: a machine
// with a disk in eastus, in a casing of its own, and a machine in westus.
func preexisting(t *testing.T) (s *site, east, west string) {
	t.Helper()
	return preexistingWith(t, setup{uncovered: true})
}

func preexistingWith(t *testing.T, as setup) (s *site, east, west string) {
	t.Helper()
	s = newSite(t, as)
	s.group("G")
	east, west = machinePath("G", "Old-East"), machinePath("G", "Old-West")
	s.at("eastus").do("PUT", east+api, `{"location":"eastus","tags":{"age":"old"}}`, 201)
	s.at("eastus").do("PUT", east+"/disks/D"+api, `{}`, 201)
	s.at("westus").do("PUT", west+api, westus, 201)
	return s, east, west
}

// gets counts the GETs for a path that the providers got.
func (s *site) gets(path string) map[string]int {
	s.t.Helper()
	got := map[string]int{}
	for region, e := range s.providers {
		for _, r := range e.requests() {
			if r.Method == "GET" && strings.EqualFold(r.Path, path) {
				got[region]++
			}
		}
	}
	return got
}

func TestPreexistingResourceIsFound(t *testing.T) {
	s, east, west := preexisting(t)
	s.gets("")
	if got := s.ok(200, "GET", strings.ToLower(east)+api, ""); !strings.Contains(got.text, `"age":"old"`) {
		t.Errorf("%s", got.text)
	}
	if row, _ := s.row(east); !firm(row) || row.Region != "eastus" || row.ID != east || row.Name != "Old-East" || row.Details.Tags["age"] != "old" {
		t.Errorf("%+v", row)
	}
	if got := s.gets(east); got["westus"] != 1 || got["eastus"] != 2 { // one of them the client's
		t.Errorf("%v", got)
	}
	s.ok(200, "GET", east+api, "")
	if got := s.gets(east); got["westus"] != 0 || got["eastus"] != 1 {
		t.Errorf("what is known was looked for: %v", got)
	}
	if got := s.names(inSubscription + "/resources" + own); got != "Old-East" {
		t.Errorf("%s", got)
	}
	// What is nested is found where its parent is.
	s.ok(204, "HEAD", east+"/disks/D"+api, "")
	if row, _ := s.row(east + "/disks/D"); row.Region != "eastus" || row.Parent != arm.Fold(east) || row.Name != "Old-East/D" {
		t.Errorf("%+v", row)
	}
	if got := s.gets(east + "/disks/D"); len(got) != 1 || got["eastus"] != 1 {
		t.Errorf("%v", got)
	}
	// As a parent it is found, too.
	s.ok(201, "PUT", west+"/disks/new"+api, `{}`)
	s.ok(200, "POST", west+"/start"+api, "")
}

func TestWritesMeetPreexistingResources(t *testing.T) {
	s, east, west := preexisting(t)
	got := s.want(409, "InvalidResourceLocation", "PUT", east+api, westus)
	if !strings.Contains(got.text, "already exists in location 'eastus'") {
		t.Errorf("%s", got.text)
	}
	s.ok(200, "PATCH", west+api, `{"tags":{"a":"b"}}`)
	s.ok(200, "PUT", west+api, westus)
	s.ok(200, "DELETE", east+"/disks/D"+api, "")
	s.ok(200, "DELETE", east+api, "")
	if held := s.at("eastus").holds(); len(held) != 0 {
		t.Errorf("%v", held)
	}
	// What is nowhere is absent, and can be made.
	none := machinePath("G", "none")
	s.want(404, "ResourceNotFound", "GET", none+api, "")
	s.ok(404, "HEAD", none+api, "")
	s.want(404, "ResourceNotFound", "PATCH", none+api, `{}`)
	s.want(404, "ResourceNotFound", "POST", none+"/start"+api, "")
	s.ok(204, "DELETE", none+api, "")
	s.want(404, "ParentResourceNotFound", "PUT", none+"/disks/d"+api, `{}`)
	s.ok(201, "PUT", none+api, eastus)
}

func TestListsOfTheEstate(t *testing.T) {
	s, _, _ := preexisting(t)
	for _, scope := range []string{inSubscription, groupPath("G")} {
		names := strings.Fields(s.names(scope + "/providers/Contoso.Compute/virtualMachines" + api))
		slices.Sort(names)
		if strings.Join(names, " ") != "Old-East Old-West" {
			t.Errorf("%s: %v", scope, names)
		}
	}
	// Nor is a namespace that was never registered taken for empty.
	s.at("global").do("PUT", groupPath("G")+"/providers/Contoso.Insight/profiles/p"+api, `{"location":"global"}`, 201)
	if got := s.names(inSubscription + "/providers/Contoso.Insight/profiles" + api); got != "p" {
		t.Errorf("%s", got)
	}
	s.ok(200, "GET", groupPath("G")+"/providers/Contoso.Insight/profiles/p"+api, "")
	if row, _ := s.row(groupPath("G") + "/providers/Contoso.Insight/profiles/p"); row.Region != "global" || row.Location != "global" {
		t.Errorf("%+v", row)
	}
	// A region that does not say fails the list.
	s.at("westus").server.Close()
	s.want(503, "ServiceUnavailable", "GET", machines+api, "")
}

// A region that does not say is no region without: nothing is called absent,
// and nothing is made a second time.
func TestEstateWithARegionDown(t *testing.T) {
	s, east, west := preexisting(t)
	s.at("westus").server.Close()
	for _, c := range []struct{ method, body string }{{"GET", ""}, {"PUT", eastus}, {"PATCH", `{}`}, {"DELETE", ""}} {
		got := s.want(503, "ServiceUnavailable", c.method, west+api, c.body)
		if got.header.Get("Retry-After") != "5" || !strings.Contains(got.text, `"target":"westus"`) {
			t.Errorf("%s: %v %s", c.method, got.header, got.text)
		}
	}
	s.ok(503, "HEAD", west+api, "")
	s.want(503, "ServiceUnavailable", "PUT", west+"/disks/d"+api, `{}`)
	if held := s.at("eastus").holds(); len(held) != 2 {
		t.Errorf("eastus holds %v", held)
	}
	// What another region holds is there all the same.
	s.ok(200, "GET", east+api, "")
}

func TestEstateWithARegionThatSaysNeither(t *testing.T) {
	s, _, west := preexistingWith(t, setup{uncovered: true, hurried: true})
	s.at("westus").fault("GET", west, "status=403")
	if got := s.want(503, "ServiceUnavailable", "GET", west+api, ""); !strings.Contains(got.text, "status 403") {
		t.Errorf("%s", got.text)
	}
	s.at("westus").fault("GET", west, "stall")
	if got := s.want(504, "GatewayTimeout", "GET", west+api, ""); got.header.Get("Retry-After") == "" || !strings.Contains(got.text, "westus") {
		t.Errorf("%v %s", got.header, got.text)
	}
	s.ok(200, "GET", west+api, "")
}

// One ID in two regions: the first in the map's order gets the row.
func TestEstateWithAStray(t *testing.T) {
	s, east, _ := preexisting(t)
	s.at("westus").do("PUT", east+api, westus, 201)
	s.ok(200, "GET", east+api, "")
	if row, _ := s.row(east); row.Region != "westus" {
		t.Errorf("%+v", row)
	}
	strays, err := s.store.Strays.List(t.Context(), subscription, "g")
	if err != nil || len(strays) != 1 || strays[0].Region != "eastus" || strays[0].ID != east {
		t.Errorf("%+v %v", strays, err)
	}
}

// Others may wait for a search whose client has gone.
func TestSearchOutlivesItsClient(t *testing.T) {
	s, east, _ := preexisting(t)
	s.at("eastus").fault("GET", east, "delay=200ms")
	s.at("eastus").requests()
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		answer, err := s.server.Client().Do(request(t, s.server, "GET", east+api, "", "Host", "portico.example").WithContext(ctx))
		if err == nil {
			answer.Body.Close()
		}
		left <- err
	}()
	s.within("the search", func() bool { return len(s.at("eastus").peek()) > 0 })
	leave()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Errorf("the client did not go: %v", err)
	}
	s.within("its end", func() bool { _, there := s.row(east); return there })
}

// While a DELETE may still land, what is seen can be neither adopted nor called
// absent.
func TestSearchWhileADeleteIsOpen(t *testing.T) {
	s, _, west := preexisting(t)
	s.want(502, "BadGatewayConnection", "DELETE", west+api, "", "x-contoso-fault", "reset-after")
	s.want(404, "ResourceNotFound", "GET", west+api, "")
	s.at("westus").do("PUT", west+api, westus, 201)
	s.want(503, "ServiceUnavailable", "GET", west+api, "")
	s.expireOpenWrites()
	s.clock.advance(time.Millisecond)
	s.ok(200, "GET", west+api, "")
}

// What lies in an estate by a name that Portico would not let anybody give, since
// servers read it in several ways, is not reached by that name; it goes with its
// group.
func TestEstateOfUnclearNames(t *testing.T) {
	s := newSite(t, setup{uncovered: true})
	s.group("G")
	odd, semicolon := machinePath("G", "odd."), machinePath("G", "a;b")
	s.at("eastus").do("PUT", odd+api, eastus, 201)
	s.at("eastus").do("PUT", machinePath("G", "a%3Bb")+api, eastus, 201)
	for _, method := range []string{"GET", "PUT", "DELETE"} {
		s.want(400, "InvalidResourceName", method, odd+api, eastus)
	}
	s.ok(200, "GET", semicolon+api, "")
	s.work() // not before: a sweep that began early would hold what was made since for absent
	s.removed(groupPath("G"))
	if left := s.at("eastus").holds(); len(left) > 0 {
		t.Errorf("%v are left", left)
	}
}
