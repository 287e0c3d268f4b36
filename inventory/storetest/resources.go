package storetest

import (
	"encoding/json"
	"reflect"
	"testing"

	"portico/inventory"
	"portico/inventory/index"
	"portico/inventory/memory"
)

func testResources(t *testing.T, database Database) {
	t.Run("a row holds what passed through", func(t *testing.T) {
		b := newBench(t, database)
		b.group("rg")
		details := &inventory.Details{
			Tags: map[string]string{"A": "b"}, Kind: "k", ManagedBy: "m",
			SKU: json.RawMessage(`{"name":"s","n":1.50}`), Plan: json.RawMessage(`{"name":"p"}`),
			Identity: json.RawMessage(`{"type":"SystemAssigned"}`), Zones: json.RawMessage(`["1","2"]`),
		}
		ticket := b.begin(write(index.Put, "rg", "VM"))
		result, err := b.Settle(b.ctx, ticket, inventory.WriteResult{Outcome: index.Succeeded, Status: 201,
			ProvisioningState: "Succeeded", Details: details})
		b.ok(err)
		got := b.row("RG", "vm")
		want := inventory.Resource{
			Subscription: Sub, Key: got.Key, ID: id("rg", "VM"), Group: "rg", Type: vmType,
			TypeName: "Contoso.Compute/virtualMachines", Name: "VM", Region: "westus", Location: "westus",
			Phase: index.Live, Generation: result.Row.Generation, ProvisioningState: "Succeeded",
			APIVersion: "2024-01-01", Details: *details, Created: b.clock.Now(), Changed: b.clock.Now(),
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("got  %+v\nwant %+v", got, want)
		}
	})
	t.Run("casing is the latest write's", func(t *testing.T) {
		b := newBench(t, database)
		b.group("rg")
		b.live("rg", "vm")
		// A refused or unanswered PUT does not change the casing.
		b.settle(b.begin(write(index.Put, "RG", "Vm")), index.Refused)
		equal(b, b.row("rg", "vm").ID, id("rg", "vm"))
		b.settle(b.begin(write(index.Put, "RG", "vM")), index.Succeeded)
		equal(b, b.row("rg", "vm").ID, id("RG", "vM"))
		equal(b, b.row("rg", "vm").Name, "vM")
		b.settle(b.begin(write(index.Patch, "rg", "VM")), index.Succeeded)
		equal(b, b.row("rg", "vm").Name, "VM")
		// The casing in the provider's answer counts; another resource's ID is no spelling of
		// this one.
		for _, seen := range []struct{ id, then string }{{id("Rg", "vm"), id("Rg", "vm")}, {id("rg", "other"), id("Rg", "vm")}, {"", id("Rg", "vm")}} {
			row := b.row("rg", "vm")
			settled, _, err := b.Observe(b.ctx, Sub, row.Key, row.Generation, inventory.Observation{Found: true, ID: seen.id})
			b.ok(err)
			equal(b, settled, true)
			equal(b, b.row("rg", "vm").ID, seen.then)
		}
		// So do the location and the tags that a GET shows; one that shows no location moves nothing.
		for _, seen := range []string{"East US", ""} {
			row := b.row("rg", "vm")
			_, _, err := b.Observe(b.ctx, Sub, row.Key, row.Generation, inventory.Observation{
				Found: true, Location: seen, Details: &inventory.Details{Tags: map[string]string{"seen": "in " + seen}},
			})
			b.ok(err)
			row = b.row("rg", "vm")
			equal(b, row.Location, "eastus")
			equal(b, row.Details.Tags["seen"], "in "+seen)
		}
	})
	t.Run("names that look like patterns stay apart", func(t *testing.T) {
		b := newBench(t, database)
		for _, group := range []string{"rg", "rg-1", "r_", "r%"} {
			b.group(group)
			for _, vm := range []string{"v", "v_", "v%", "vm", "vm-1", "vm0", "vm.a"} {
				b.live(group, vm)
			}
		}
		b.settle(b.begin(disk(index.Put, "r_", "v_", "d1")), index.Succeeded)
		b.settle(b.begin(disk(index.Put, "rg", "vm", "d1")), index.Succeeded)
		for vm, want := range map[[2]string]int{
			{"r_", "v_"}: 1, {"rg", "vm"}: 1, {"rg", "v"}: 0, {"rg", "vm-1"}: 0, {"r%", "v%"}: 0, {"r%", "v_"}: 0,
		} {
			children := b.children(id(vm[0], vm[1]))
			equal(b, len(children), want)
		}
		for group, want := range map[string]int{"rg": 8, "rg-1": 7, "R_": 8, "r%": 7, "r": 0, "": 30} {
			got := pages(b, func(after string) ([]inventory.Resource, error) {
				return b.Resources(b.ctx, inventory.ResourceQuery{Subscription: Sub, Group: group, After: after, Limit: 3})
			}, func(r inventory.Resource) string { return r.Key })
			equal(b, len(got), want)
		}
	})
	t.Run("queries", func(t *testing.T) {
		b := newBench(t, database)
		b.group("a")
		b.group("b")
		b.live("a", "vm1")
		b.live("b", "vm2")
		b.begin(write(index.Put, "a", "pending"))
		b.settle(b.begin(disk(index.Put, "a", "vm1", "D")), index.Succeeded)
		b.live("b", "going")
		b.settle(b.begin(write(index.Delete, "b", "going")), index.Accepted)
		for q, want := range map[inventory.ResourceQuery]int{
			{}:                          5,
			{Visible: true}:             4,
			{Group: "A"}:                3,
			{Group: "a", Visible: true}: 2,
			{Type: vmType}:              4,
			{Type: "Contoso.Compute/virtualMachines", Group: "a"}: 2,
			{Type: diskType}:                          1,
			{Type: diskType, Group: "b"}:              0,
			{Type: vmType, Group: "a", Visible: true}: 1,
			{Limit: 2}: 2,
		} {
			q.Subscription = Sub
			got, err := b.Resources(b.ctx, q)
			b.ok(err)
			if len(got) != want {
				t.Errorf("%+v: got %d rows, want %d", q, len(got), want)
			}
		}
		d, err := b.Resource(b.ctx, Sub, id("a", "vm1")+"/disks/d")
		b.ok(err)
		equal(b, d.Name, "vm1/D")
		equal(b, d.Parent, b.row("a", "vm1").Key)
	})
	t.Run("regions that hold a type", func(t *testing.T) {
		b := newBench(t, database)
		b.group("a")
		b.group("b")
		for i, place := range [][2]string{{"a", "westus"}, {"a", "eastus"}, {"a", "westus"}, {"b", "northeurope"}} {
			w := write(index.Put, place[0], string(rune('p'+i)))
			w.Region, w.Location = place[1], place[1]
			ticket := b.begin(w)
			if i != 1 { // a Pending row counts
				b.settle(ticket, index.Succeeded)
			}
		}
		for group, want := range map[string][]string{
			"": {"eastus", "northeurope", "westus"}, "A": {"eastus", "westus"}, "b": {"northeurope"}, "c": nil,
		} {
			got, held, err := b.Coverage.MayHold(b.ctx, Sub, group, "Contoso.Compute/virtualMachines", nil)
			b.ok(err)
			if !reflect.DeepEqual(got, want) || held != (want != nil) {
				t.Errorf("group %q: got %q, held: %t, want %q", group, got, held, want)
			}
		}
		none, _, err := b.Coverage.MayHold(b.ctx, Sub, "", diskType, nil)
		b.ok(err)
		equal(b, len(none), 0)
	})
}

func testLocations(t *testing.T, database Database) {
	b := newBench(t, database)
	b.group("rg")
	key := []byte(b.live("rg", "vm").Key)
	locate := func() memory.Located {
		t.Helper()
		found, err := b.Locations.Locate(b.ctx, Sub, key, b.clock.Now())
		b.ok(err)
		return found
	}
	want := memory.Located{Region: "westus", Type: vmType, Generation: b.row("rg", "vm").Generation, Phase: index.Live, Found: true}
	equal(b, locate(), want)
	want.Cached = true
	equal(b, locate(), want)

	// A write through the store is visible immediately.
	b.settle(b.begin(write(index.Delete, "rg", "vm")), index.Accepted)
	equal(b, locate().Phase, index.Deleting)
	b.settle(b.begin(write(index.Delete, "rg", "vm")), index.Gone)
	equal(b, locate().Found, false)
	// Absence is not cached.
	w := write(index.Put, "rg", "vm")
	w.Region, w.Location = "eastus", "eastus"
	b.begin(w)
	equal(b, locate().Region, "eastus")
	equal(b, locate().Cached, true)

	b.clock.Pass(Options(b.clock).CacheTTL)
	equal(b, locate().Cached, false)

	fresh, err := b.Locations.Refresh(b.ctx, Sub, id("RG", "VM"))
	b.ok(err)
	equal(b, fresh.Cached, false)
	equal(b, fresh.Region, "eastus")
	fresh, err = b.Locations.Refresh(b.ctx, Sub, id("RG", "none"))
	b.ok(err)
	equal(b, fresh.Found, false)
}
