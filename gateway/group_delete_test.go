package gateway

import (
	"encoding/json"
	"strings"
	"testing"

	"portico/inventory"
)

func TestEmptyGroupIsDeleted(t *testing.T) {
	s := newSite(t, setup{})
	g := s.group("g")
	got := s.ok(200, "DELETE", g+own, "")
	if got.text != "" || got.header.Get("Content-Length") != "0" {
		t.Errorf("%q %v", got.text, got.header)
	}
	for _, method := range []string{"GET", "DELETE", "PATCH"} {
		s.want(404, "ResourceGroupNotFound", method, g+own, "")
	}
	s.ok(404, "HEAD", g+own, "")
	s.group("g")
}

func TestGroupWithResourcesStays(t *testing.T) {
	s := newSite(t, setup{})
	g := s.group("g")
	b, a := s.machine("g", "B", "westus"), s.machine("g", "a", "eastus")
	s.ok(201, "PUT", b+"/runCommands/r"+api, `{}`) // holds nothing back
	s.at("westus").requests()
	s.want(412, "PreconditionFailed", "DELETE", g+own, "", "If-Match", `"stale"`)
	got := s.want(409, "ResourceGroupDeletionBlocked", "DELETE", g+own, "")
	var fault struct {
		Error struct {
			Message string
			Details []struct{ Code, Target, Message string }
		}
	}
	if err := json.Unmarshal([]byte(got.text), &fault); err != nil {
		t.Fatal(err)
	}
	details := fault.Error.Details
	if len(details) != 2 || details[0].Target != a || details[1].Target != b || details[0].Code != "Conflict" ||
		!strings.Contains(fault.Error.Message, "'Contoso.Compute/virtualMachines/B,Contoso.Compute/virtualMachines/a'") {
		t.Errorf("%s", got.text)
	}
	if asked := s.at("westus").requests(); len(asked) != 0 {
		t.Errorf("asked for what is plainly alive: %v", asked)
	}
	s.ok(200, "DELETE", a+api, "")
	s.ok(200, "DELETE", b+api, "")
	s.ok(200, "DELETE", g+own, "")
}

// What was deleted asynchronously is asked for when the group goes: a client
// that waited for the end in its own way is not told that it is there.
func TestGroupGoesAfterAnAsynchronousDelete(t *testing.T) {
	s := newSite(t, setup{})
	g := s.group("g")
	m := s.machine("g", "m", "eastus")
	s.ok(202, "DELETE", m+api, "", "x-contoso-async", "no-url", "x-contoso-duration", "1h")
	s.want(409, "ResourceGroupDeletionBlocked", "DELETE", g+own, "")
	s.at("eastus").clock.advance(2 * hour)
	s.want(412, "PreconditionFailed", "DELETE", g+own, "", "If-Match", `"stale"`)
	if _, there := s.row(m); !there {
		t.Error("a refused delete asked for resources")
	}
	s.ok(200, "DELETE", g+own, "")
	if _, there := s.row(m); there {
		t.Error("a row outlives its group")
	}
}

func TestGroupStaysWhileAProviderDoesNotSay(t *testing.T) {
	s := newSite(t, setup{})
	g := s.group("g")
	m := s.machine("g", "m", "eastus")
	s.ok(202, "DELETE", m+api, "", "x-contoso-async", "no-url", "x-contoso-duration", "0s")
	for range 2 {
		s.at("eastus").fault("GET", "virtualMachines/m", "status=500")
		s.log.Reset()
		s.want(409, "ResourceGroupDeletionBlocked", "DELETE", g+own, "")
		if !strings.Contains(s.log.String(), "a resource could not be asked for") {
			t.Error("the log does not say why")
		}
	}
	s.ok(200, "DELETE", g+own, "")
}

// A write that may still land holds the group back even where no resource is
// left.
func TestGroupStaysWhileAWriteMayLand(t *testing.T) {
	s := newSite(t, setup{})
	g := s.group("g")
	m := s.machine("g", "m", "westus")
	s.want(502, "BadGatewayConnection", "DELETE", m+api, "", "x-contoso-fault", "reset-after")
	got := s.want(409, "Conflict", "DELETE", g+own, "")
	if got.header.Get("Retry-After") != "10" {
		t.Errorf("Retry-After %q", got.header.Get("Retry-After"))
	}
	if _, there := s.row(m); there {
		t.Error("the resource was not asked for")
	}
	s.lapse()
	s.ok(200, "DELETE", g+own, "")
}

func TestGroupIsMadeAnew(t *testing.T) {
	s := newSite(t, setup{})
	g := s.group("g")
	first, err := s.store.Group(t.Context(), subscription, "g")
	if err != nil {
		t.Fatal(err)
	}
	s.ok(200, "DELETE", g+own, "")
	s.ok(201, "PUT", g+own, eastus)
	again, err := s.store.Group(t.Context(), subscription, "g")
	if err != nil {
		t.Fatal(err)
	}
	if again.Incarnation == first.Incarnation || again.Location != "eastus" || again.State != inventory.GroupActive {
		t.Errorf("%+v", again)
	}
}
