package storetest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"portico/inventory"
	"portico/inventory/polls"
)

// testLearnedOperations: records without an owner are limited, and replace none that
// has one.
func testLearnedOperations(t *testing.T, database Database) {
	b := newBench(t, database, func(o *inventory.Options) { o.Limits.LearnedOperations = 3 })
	named := func(token, object string) polls.Operation {
		b.clock.Pass(time.Second)
		return polls.Operation{Subscription: Sub, Token: token, ObjectID: object, Region: "westus", Until: b.clock.Now().Add(time.Hour)}
	}
	b.ok(b.Operations.Record(b.ctx, named("own", "ann")))
	for i := range 6 {
		b.ok(b.Operations.Learn(b.ctx, named(fmt.Sprint("learned", i), "")))
	}
	for i := range 6 {
		_, err := b.Operations.Operation(b.ctx, Sub, fmt.Sprint("learned", i))
		equal(b, errors.Is(err, inventory.ErrNotFound), i < 3)
	}
	_, err := b.Operations.Operation(b.ctx, Sub, "own")
	b.ok(err)
	for _, c := range []struct {
		object      string
		limit, want int
	}{{"", 10, 3}, {"", 2, 2}, {"ann", 10, 1}, {"bob", 10, 0}} {
		n, err := b.Operations.Count(b.ctx, Sub, "", c.object, c.limit)
		b.ok(err)
		equal(b, n, c.want)
	}
	b.clock.Pass(2 * time.Hour)
	n, err := b.Operations.Count(b.ctx, Sub, "", "ann", 10)
	b.ok(err)
	equal(b, n, 0)
}
