package chaos

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"

	"portico/test/harness"
)

// A resource that a deleted group left at a provider is found; one that was written
// later is not reported.
func TestLeftoversOfAGroupAreFound(t *testing.T) {
	r := &run{site: newSite(t, false, 0), clock: since(), count: newCounts(), resources: allResources(), hints: map[string]string{}, consumer: &consumer{}}
	c := &client{run: r, random: rand.New(rand.NewPCG(1, 1))}
	name := groups[fleeting]
	members := of(name, r.resources)
	here := slices.IndexFunc(r.site.regions, func(p *harness.Contoso) bool { return p.Region == "eastus" })
	plant := func(value int64) { // past the gateway
		r.site.regions[here].Do(t, harness.Request{
			Method: http.MethodPut, Path: members[0].path(members[0].name) + version,
			Body: fmt.Sprintf(`{"location":"eastus","properties":{"value":%d}}`, value),
		}).Want(t, 200, 201)
	}
	surprises := func(want int, when string) {
		t.Helper()
		if c.count.surprised != want {
			t.Fatalf("%s: %d surprises, want %d: %q", when, c.count.surprised, want, c.count.surprises)
		}
	}
	written := c.put(t.Context(), members[0], 0, "eastus")
	if written.Verdict != created && written.Verdict != became {
		t.Fatal(written)
	}
	started := c.clock()
	c.deleteGroup(t.Context(), name, c.find(t.Context(), name, members), members)
	if r.threatened() <= 0 {
		t.Error("the group was not under deletion")
	}
	surprises(0, "after the group's end")
	plant(written.Value + 1)
	c.checkLeftovers(t.Context(), members, started)
	surprises(0, "with what was written later")
	plant(written.Value)
	c.checkLeftovers(t.Context(), members, started)
	surprises(1, "with what was written before")
}
