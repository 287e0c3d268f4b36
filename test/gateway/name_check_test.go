package gateway_test

import (
	"slices"
	"strings"
	"testing"

	adminapi "portico/gateway/admin/api"
)

const checkName = inSubscription + "/providers/Contoso.Compute/checkNameAvailability" + api

// A name is free in a subscription where every region of its type says so: each knows
// its own resources alone.
func TestNameIsCheckedInAllRegions(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	s.machine("g", "taken", "eastus")
	regions := []string{"eastus", "westus"}
	ask := func(name, kind string, header ...string) seen {
		return s.do("POST", checkName, `{"name":"`+name+`","type":"`+kind+`"}`, header...)
	}
	// regionsOf returns the regions that were asked for an answer. A call that was given up for
	// an earlier one may arrive late.
	regionsOf := func(got seen) (names []string) {
		for name, p := range s.providers {
			for _, r := range p.requests() {
				if r.Method == "POST" && r.Headers.Get("X-Ms-Correlation-Request-Id") == got.header.Get("X-Ms-Correlation-Request-Id") {
					names = append(names, name)
				}
			}
		}
		slices.Sort(names)
		return names
	}
	for _, kind := range []string{"Contoso.Compute/virtualMachines", "contoso.compute/VIRTUALMACHINES"} {
		got := ask("free", kind)
		if got.status != 200 || got.text != `{"nameAvailable":true}` || strings.Count(got.header.Get("X-Ms-Original-Request-Ids"), ";") != len(regions)-1 {
			t.Errorf("%d %v %s", got.status, got.header, got.text)
		}
		if requests := regionsOf(got); !slices.Equal(requests, regions) {
			t.Errorf("asked %v", requests)
		}
		if got := ask("TAKEN", kind); got.status != 200 || !strings.Contains(got.text, `{"nameAvailable":false,"reason":"AlreadyExists","message":"`) {
			t.Errorf("%d %s", got.status, got.text)
		}
	}
	// That a name is taken is true whoever else fails. The fault stays until it is taken away:
	// a call that was given up for the other region's answer may come late, and use it up.
	for i, fault := range []string{"status=503", "reset-before", "status=403"} {
		s.rule("westus", "POST", "checkName", fault, -1)
		if got := ask("taken", "Contoso.Compute/virtualMachines"); got.status != 200 || !strings.Contains(got.text, "AlreadyExists") {
			t.Errorf("%s: %d %s", fault, got.status, got.text)
		}
		if got := ask("free", "Contoso.Compute/virtualMachines"); got.status != 503 || got.code != "ServiceUnavailable" || !strings.Contains(got.text, `"target":"westus"`) || !strings.Contains(got.text, "1 of 2 regions") {
			t.Errorf("%d %s: %d %s", i, fault, got.status, got.text)
		}
		s.at("westus").do("DELETE", "/contoso/faults", "", 204)
	}
	// Where all refuse alike, their reason counts.
	got := s.do("POST", checkName, `{"type":"Contoso.Compute/virtualMachines"}`)
	if got.status != 400 || got.code != "InvalidRequestContent" || !strings.Contains(got.text, "'name' is required") {
		t.Errorf("%d %s", got.status, got.text)
	}
	if requests := regionsOf(got); !slices.Equal(requests, regions) {
		t.Errorf("asked %v", requests)
	}
	// Of what the map does not have, the global endpoint tells.
	for _, body := range []string{`{"name":"a","type":"Contoso.Compute/nothing"}`, `{"name":"a"}`, `[]`, ``} {
		got := s.do("POST", checkName, body)
		if got.status != 400 {
			t.Errorf("%s: %d %s", body, got.status, got.text)
		}
		if requests := regionsOf(got); !slices.Equal(requests, []string{"global"}) {
			t.Errorf("%s: asked %v", body, requests)
		}
	}
	s.want(400, "InvalidRequestContent", "POST", checkName, `{"name"`)
	if got := s.do("POST", inSubscription+"/providers/Contoso.Compute/locations/westus/checkNameAvailability"+api, `{"name":"taken","type":"Contoso.Compute/virtualMachines"}`); got.status != 200 || got.text != `{"nameAvailable":true}` {
		t.Errorf("%d %s", got.status, got.text)
	}
	e := s.says(adminapi.Question{Method: "POST", Path: checkName, Content: `{"name":"a","type":"Contoso.Compute/virtualMachines"}`}, adminapi.Forwarded, "", "map", "")
	if !slices.Equal(e.Place.Regions, regions) || len(e.Calls) != len(regions) {
		t.Errorf("%+v %+v", e.Place, e.Calls)
	}
}
