package storetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"portico/inventory"
	"portico/inventory/index"
)

// A drain lasts until it is ended or its time is over, whichever replica recorded it.
func testDrains(t *testing.T, database Database) {
	clock := NewClock()
	open := database(t)
	var replicas [2]*bench
	for i := range replicas {
		store, err := open(t.Context(), Options(clock))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = store.Close() })
		replicas[i] = &bench{T: t, Store: store, ctx: t.Context(), clock: clock}
	}
	a, b := replicas[0], replicas[1]
	a.ok(Seed(a.ctx, a.Store))
	before, began, hour := int64(len(a.eventsAfter(0))), clock.Now(), time.Hour
	const address = "https://10.0.0.5:8443"
	put := func(r *bench, place, reason string, until time.Time) inventory.Drain {
		t.Helper()
		r.ok(r.Drains.Put(r.ctx, inventory.Drain{Place: place, Reason: reason, By: "ops", Until: until}))
		d, _ := r.Drains.At(place)
		return d
	}
	drained := func(want ...string) {
		t.Helper()
		for _, r := range replicas {
			r.ok(r.Drains.Refresh(r.ctx))
			got := []string{}
			for _, place := range []string{"eastus", "westus", mars, address} {
				if d, is := r.Drains.At(place); is {
					got = append(got, place+" "+d.Reason)
				}
			}
			if !slices.Equal(got, want) {
				t.Fatalf("drained are %q, want %q", got, want)
			}
		}
	}
	ends := func(r *bench, place string) error { return r.Drains.End(r.ctx, place) }
	a.is(ends(a, "eastus"), inventory.ErrNotFound)
	d := put(a, "eastus", "rack move", began.Add(hour))
	equal(a, d, inventory.Drain{Place: "eastus", Reason: "rack move", By: "ops", Since: began, Until: began.Add(hour)})
	drained("eastus rack move")
	equal(a, fmt.Sprint(b.Drains.Without([]string{"westus", "eastus"})), "[westus]")

	// Another order changes the reason and the end, and not the beginning.
	clock.Pass(hour / 2)
	equal(b, put(b, "eastus", "switch", began.Add(2*hour)).Since, began)
	drained("eastus switch")

	// Its time ends it, also without an order and a store; a later one begins anew.
	clock.Pass(hour * 3 / 2)
	drained()
	b.is(ends(b, "eastus"), inventory.ErrNotFound)
	equal(a, put(a, "eastus", "again", clock.Now().Add(hour)).Since, clock.Now())
	put(b, address, "disk", clock.Now().Add(hour))
	put(b, mars, "gone", clock.Now().Add(hour))
	drained("eastus again", mars+" gone", address+" disk")
	b.ok(ends(b, "eastus"))
	_, err := a.RetireRegion(a.ctx, mars)
	a.ok(err)
	drained(address + " disk")

	var actions []string
	for _, e := range a.eventsAfter(before) {
		actions = append(actions, e.CloudEvent().Source+" "+e.Action+" "+e.Resource[len("/providers/Portico.Operations/drains"):])
	}
	const written, deleted = "/ Portico.Operations/drains/write /", "/ Portico.Operations/drains/delete /"
	equal(a, fmt.Sprint(actions), fmt.Sprint([]string{
		written + "eastus", written + "eastus", written + "eastus", written + "https:%2F%2F10.0.0.5:8443", written + mars, deleted + "eastus", deleted + mars,
	}))

	// Jobs that wait for a drained region are neither old nor put off.
	a.group("rg")
	a.settle(a.begin(write(index.Put, "rg", "vm")), index.Ambiguous)
	clock.Pass(hour)
	old := func(want int) {
		t.Helper()
		counts, err := a.Jobs.CountKind(a.ctx, inventory.VerifyJob, hour, hour)
		a.ok(err)
		equal(a, counts.Old, want)
		equal(a, counts.All, 1)
	}
	old(1)
	put(a, "westus", "power", clock.Now().Add(hour))
	old(0)
	a.ok(ends(b, "westus"))
	old(1)
}
