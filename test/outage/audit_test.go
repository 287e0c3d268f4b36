package outage

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"portico/test/harness"
)

// audit compares what callers were told with the index, lists and the providers, once
// no one calls any more.
func (c *callers) audit(t *testing.T) {
	t.Helper()
	for g := range c.gateways {
		if !c.gateways[g].Running() {
			t.Errorf("gateway %d has ended", g)
		}
		harness.Await(t, bound, "the index to be sure of everything", func() bool {
			a := c.gateways[g].Admin(t, harness.Request{Path: "/admin/doubts"}).Want(t, 200)
			return len(a.Values(t)) == 0
		})
	}
	resources, roles, tags := c.copies()
	held := map[string]bool{}
	for _, p := range c.providers {
		for _, id := range p.Resources(t) {
			held[id] = true
		}
	}
	for g := range c.gateways {
		listed := c.all(t, g, "/subscriptions/"+estate+"/resources"+groupVersion)
		merged := c.all(t, g, createGroup+"/providers/Contoso.Compute/virtualMachines"+version)
		reported := 0
		for id, f := range resources {
			folded := strings.ToLower(id)
			if f == open {
				// Whatever became of it, all agree.
				f = gone
				if held[folded] {
					f = there
				}
			} else {
				reported++
			}
			found := c.as(owner, g, t, http.MethodGet, id+version, "").Status == http.StatusOK
			inLists := [2]bool{listed[folded], merged[folded]}
			if want := f == there; found != want || held[folded] != want || inLists != [2]bool{want, want} {
				t.Errorf("%s, which was told to be there: %v. At gateway %d it is found: %v, in lists from the index and the regions: %v; held by a provider: %v",
					id, want, g, found, inLists, held[folded])
			}
		}
		c.auditRoles(t, g, roles)
		for id, n := range tags {
			var got struct{ Tags struct{ N json.Number } }
			harness.OK(t, json.Unmarshal(c.as(owner, g, t, http.MethodGet, id+version, "").Want(t, 200).Body, &got))
			// Only the last write can be one without an acknowledgement.
			if s := got.Tags.N.String(); s != fmt.Sprint(n) && s != fmt.Sprint(n+1) {
				t.Errorf("%s has the number %s, and %d was acknowledged", id, s, n)
			}
		}
		t.Logf("gateway %d: of %d resources callers were told what became of them, of %d not", g, reported, len(resources)-reported)
	}
	if len(resources) == 0 || len(roles) == 0 || len(tags) == 0 {
		t.Errorf("nothing was written: %d, %d, %d", len(resources), len(roles), len(tags))
	}
}

func (c *callers) auditRoles(t *testing.T, g int, roles map[string]outcome) {
	t.Helper()
	listed := c.all(t, g, group(assignments)+"/providers/Microsoft.Authorization/roleAssignments"+roleVersion)
	for id, f := range roles {
		found := c.as(owner, g, t, http.MethodGet, id+roleVersion, "").Status == http.StatusOK
		if f == open {
			f = gone
			if found {
				f = there
			}
		}
		if want := f == there; found != want || listed[strings.ToLower(id)] != want {
			t.Errorf("%s, which was told to be there: %v. At gateway %d it is found: %v, in the list: %v", id, want, g, found, listed[strings.ToLower(id)])
		}
	}
}

// all are the ids of a whole list, folded.
func (c *callers) all(t *testing.T, g int, path string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for path != "" {
		ids, next, err := idsOf(c.as(owner, g, t, http.MethodGet, path, "").Want(t, 200))
		harness.OK(t, err)
		for _, id := range ids {
			found[strings.ToLower(id)] = true
		}
		// Links lead to the public URL, which is that of the first gateway.
		for _, p := range c.gateways {
			next = strings.TrimPrefix(next, p.URL)
		}
		path = next
	}
	return found
}
