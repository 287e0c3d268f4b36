package storetest

import (
	"fmt"
	"testing"
	"time"

	"portico/inventory/observed"
)

// Names are those of one tenant, those seen last where they are too many, and forgotten
// some time after their callers were seen last.
func testNames(t *testing.T, database Database) {
	b := newBench(t, database)
	const tenant, other = "00000000-0000-0000-0000-0000000000aa", "00000000-0000-0000-0000-0000000000bb"
	name := func(tenant, id string) string {
		b.Helper()
		found, err := b.Names.Of(b.ctx, tenant, []string{"x", id, "y"})
		b.ok(err)
		if len(found) > 1 {
			b.Fatalf("%v", found)
		}
		return found[id]
	}
	b.ok(b.Names.Put(b.ctx, tenant, map[string]string{"A": "Ada"}))
	b.ok(b.Names.Put(b.ctx, other, map[string]string{"a": "Another"}))
	equal(b, name(tenant, "a"), "Ada")
	equal(b, name(other, "a"), "Another")
	equal(b, name(tenant, "b"), "")
	b.clock.Pass(time.Hour)
	b.ok(b.Names.Put(b.ctx, tenant, map[string]string{"b": "Bo", "a": "Ada Lovelace"}))
	equal(b, name(tenant, "a"), "Ada Lovelace")
	b.clock.Pass(observed.NamesKept - time.Hour)
	forget := func(want int) {
		b.Helper()
		n, err := b.Names.Forget(b.ctx, 100)
		b.ok(err)
		equal(b, n, want)
	}
	forget(1)
	equal(b, name(other, "a"), "")
	equal(b, name(tenant, "b"), "Bo")
	many := map[string]string{}
	for i := range observed.MostNames - 1 {
		many[fmt.Sprint(i)] = "many"
	}
	b.ok(b.Names.Put(b.ctx, tenant, many))
	equal(b, name(tenant, "a"), "") // one of two that were seen before
	equal(b, name(tenant, "b"), "Bo")
	equal(b, name(tenant, "17"), "many")
	b.clock.Pass(time.Hour)
	forget(1)
}
