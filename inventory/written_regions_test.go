package inventory

import (
	"testing"

	"portico/inventory/index"
	"portico/test/harness"
)

// Where an incarnation of a group sent writes to is known with the first
// intent, also where nothing came of it, and goes with the group.
func TestWrittenRegionsAreKeptPerIncarnation(t *testing.T) {
	s := openTest(t, testOptions(t))
	counted := func(want int) {
		t.Helper()
		g, err := s.Group(t.Context(), "s", "rg")
		harness.OK(t, err)
		var ours, all int
		from := s.engine.Read(t.Context())
		if err := from.One(`SELECT COUNT(*) FROM written_regions WHERE subscription = ? AND resource_group = ? AND incarnation = ?`,
			"s", "rg", g.Incarnation[:])(&ours); err != nil {
			t.Fatal(err)
		}
		harness.OK(t, from.One(`SELECT COUNT(*) FROM written_regions WHERE subscription = ?`, "s")(&all))
		if ours != want || all != want {
			t.Errorf("%d places, %d of them this incarnation's; want %d", all, ours, want)
		}
	}
	makeGroup(t, s, "rg")
	counted(0)
	for _, region := range []string{"westus", "eastus", "westus"} {
		w := vmWrite("rg", "in-"+region)
		w.Region = region
		ticket, err := s.Begin(t.Context(), w)
		harness.OK(t, err)
		if _, err := s.Settle(t.Context(), ticket, WriteResult{Outcome: index.NotSent}); err != nil {
			t.Fatal(err)
		}
	}
	counted(2)
	harness.OK(t, s.DeleteGroup(t.Context(), "s", "rg", DeleteGroupConditions{}))
	makeGroup(t, s, "rg")
	counted(0)
}
