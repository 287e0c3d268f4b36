package storetest

import (
	"testing"

	"portico/inventory"
	"portico/inventory/index"
)

// testDurability checks which records wait for the disk. A settle need not: if it is
// lost, its intent is still open. A record without an intent behind it must.
func testDurability(t *testing.T, database Database) {
	b := newBench(t, database)
	b.group("rg")
	b.live("rg", "vm")
	b.live("rg", "gone")
	open := b.begin(write(index.Put, "rg", "vm"))
	key := id("rg", "vm")
	see := func(name string, o inventory.Observation) {
		settled, _, err := b.Observe(b.ctx, Sub, id("rg", name), b.row("rg", name).Generation, o)
		b.ok(err)
		equal(b, settled, true)
	}
	for _, c := range []struct {
		what    string
		flushes uint64
		record  func()
	}{
		{"an intent", 1, func() { b.begin(write(index.Put, "rg", "other")) }},
		{"a settle", 0, func() { equal(b, b.settle(open, index.Succeeded).Settled, true) }},
		{"an ambiguous end", 0, func() { b.settle(b.begin(write(index.Put, "rg", "vm")), index.Ambiguous) }},
		{"that a resource is there", 0, func() { see("vm", inventory.Observation{Found: true}) }},
		{"that a resource is gone", 1, func() { see("gone", inventory.Observation{}) }},
		{"a PATCH and its settle", 1, func() { b.settle(b.begin(write(index.Patch, "rg", "vm")), index.Succeeded) }},
		{"a request to verify", 1, func() { b.ok(b.RequestVerify(b.ctx, Sub, key)) }},
		{"an adoption", 1, func() { b.adopts(b.discovery("rg", "found"), inventory.Adopted) }},
		{"the end of a group", 1, func() {
			b.group("empty")
			b.ok(b.DeleteGroup(b.ctx, Sub, "empty", inventory.DeleteGroupConditions{}))
		}},
	} {
		before := b.Stats().Flushes
		c.record()
		more := b.Stats().Flushes - before
		switch c.what {
		case "an ambiguous end", "the end of a group":
			more-- // of the earlier writes
		}
		if more != c.flushes {
			t.Errorf("%s: %d flushes, want %d", c.what, more, c.flushes)
		}
	}
}

// testText checks that text which some engine cannot store does not prevent the
// recording of an answer.
func testText(t *testing.T, database Database) {
	b := newBench(t, database)
	b.group("rg")
	result, err := b.Settle(b.ctx, b.begin(write(index.Put, "rg", "vm")), inventory.WriteResult{
		Outcome: index.Succeeded, ProvisioningState: "Succ\x00eeded",
		Details: &inventory.Details{Tags: map[string]string{"a\x00b": "c\xffd"}},
	})
	b.ok(err)
	equal(b, result.Settled, true)
	for query, want := range map[inventory.ResourceQuery]int{
		{Subscription: Sub, Tag: "a\x00b"}:                1,
		{Subscription: Sub, Tag: "a\x00b", After: "\xff"}: 0,
	} {
		rows, err := b.Resources(b.ctx, query)
		b.ok(err)
		equal(b, len(rows), want)
	}
	equal(b, b.row("rg", "vm").ProvisioningState, "Succ\uFFFDeeded")
}
