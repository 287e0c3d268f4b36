package probe

import (
	"strings"
	"testing"

	"portico/inventory"
	"portico/regions"
)

// What changes while a look is taken is looked at again.
func TestLookCountsForWhatItSaw(t *testing.T) {
	group := inventory.Group{Incarnation: [16]byte{1}}
	west, east := inventory.WrittenRegion{Type: "t", Region: "westus"}, inventory.WrittenRegion{Type: "t", Region: "eastus"}
	looked := EmptinessCheck{incarnation: group.Incarnation, writtenRegions: []inventory.WrittenRegion{west}, conclusive: true}
	for _, c := range []struct {
		check   EmptinessCheck
		group   inventory.Group
		touched []inventory.WrittenRegion
		goes    bool
	}{
		{looked, group, []inventory.WrittenRegion{west}, true},
		{looked, group, nil, true},
		{looked, group, []inventory.WrittenRegion{west, east}, false},
		{looked, inventory.Group{}, []inventory.WrittenRegion{west}, false},
		{EmptinessCheck{}, inventory.Group{}, nil, false},
		{EmptinessCheck{Subscription: inventory.Subscription{Covered: true}}, group, nil, true},
		{EmptinessCheck{Subscription: inventory.Subscription{Covered: true}}, group, []inventory.WrittenRegion{west}, false},
	} {
		if err := c.check.Allow(c.group, c.touched); (err == nil) != c.goes {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// The types above the first tracked one have no rows, and what lies below that is
// found by it.
func TestTypesDownToTheTrackedOne(t *testing.T) {
	w := newWorld(t)
	var names []string
	for _, t := range downToTracked(w.prober.Map.Type("contoso.compute/folders/items/parts")) {
		names = append(names, t.Name)
	}
	if strings.Join(names, " ") != "folders folders/items" {
		t.Errorf("%v", names)
	}
	if types := downToTracked(&regions.ResourceType{Kind: regions.ProxyOnly}); len(types) != 1 {
		t.Errorf("%v", types)
	}
}
