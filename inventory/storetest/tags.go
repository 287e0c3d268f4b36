package storetest

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"portico/inventory"
	"portico/inventory/index"
	"portico/inventory/jobrow"
	"portico/inventory/tagindex"
)

var errRefused = errors.New("refused")

// anyTag lets every definition of a tag change.
func anyTag(tagindex.Name) error { return nil }

func testTags(t *testing.T, database Database) {
	set := func(tags map[string]string) func(map[string]string) (map[string]string, error) {
		return func(map[string]string) (map[string]string, error) { return tags, nil }
	}
	t.Run("of a subscription", func(t *testing.T) {
		b := newBench(t, database)
		want := map[string]string{"Env": "prod", "'": `"`}
		got, err := b.EditSubscriptionTags(b.ctx, strings.ToUpper(Sub), index.Put, set(want), nil)
		b.ok(err)
		equal(b, maps.Equal(got, want), true)
		_, err = b.EditSubscriptionTags(b.ctx, Sub, index.Put, func(map[string]string) (map[string]string, error) { return nil, errRefused }, nil)
		b.is(err, errRefused)
		_, _, err = b.PutSubscription(b.ctx, inventory.Subscription{ID: Sub, TenantID: "t", DisplayName: "other"})
		b.ok(err)
		stored, err := b.Subscription(b.ctx, Sub)
		b.ok(err)
		equal(b, maps.Equal(stored.Tags, want), true)
		all, err := b.SubscriptionsOf(b.ctx, "t", "", 0)
		b.ok(err)
		equal(b, maps.Equal(all[0].Tags, want), true)
		_, err = b.EditSubscriptionTags(b.ctx, "none", index.Put, set(nil), nil)
		b.is(err, inventory.ErrSubscriptionNotFound)

		_, err = b.lock("", subscriptionID, "l", inventory.LockCanNotDelete)
		b.ok(err)
		_, err = b.EditSubscriptionTags(b.ctx, Sub, index.Delete, set(nil), nil)
		refuses[*inventory.LockedError](b, err)
		_, err = b.EditSubscriptionTags(b.ctx, Sub, index.Put, set(nil), nil)
		b.ok(err)
		_, err = b.lock("", subscriptionID, "l", inventory.LockReadOnly)
		b.ok(err)
		_, err = b.EditSubscriptionTags(b.ctx, Sub, index.Put, set(nil), nil)
		refuses[*inventory.LockedError](b, err)
		b.ok(b.Locks.Delete(b.ctx, Sub, "", subscriptionID, "l", func(inventory.Lock) error { return nil }))

		_, _, err = b.PutSubscription(b.ctx, inventory.Subscription{ID: Sub, TenantID: "t", State: inventory.Disabled})
		b.ok(err)
		_, err = b.EditSubscriptionTags(b.ctx, Sub, index.Put, set(nil), nil)
		refuses[*inventory.SubscriptionStateError](b, err)
		_, err = b.EditSubscriptionTags(b.ctx, Sub, index.Delete, set(nil), nil)
		b.ok(err)
	})
	t.Run("of a subscription, at once", func(t *testing.T) {
		b := newBench(t, database)
		countUp(b, b, 20)
	})
	t.Run("names", func(t *testing.T) {
		b := newBench(t, database)
		define := func(name, value string) bool {
			b.Helper()
			_, created, err := b.Tags.Define(b.ctx, Sub, name, value, anyTag, nil)
			b.ok(err)
			return created
		}
		_, _, err := b.Tags.Define(b.ctx, Sub, "Env", "prod", anyTag, nil)
		b.is(err, inventory.ErrNotFound)
		equal(b, define("Env", ""), true)
		equal(b, define("ENV", ""), false)
		equal(b, define("env", "prod"), true)
		equal(b, define("env", "Prod"), true)
		equal(b, define("env", "prod"), false)
		defined, err := b.Tags.Name(b.ctx, Sub, "eNV")
		b.ok(err)
		equal(b, fmt.Sprint(defined), "{env Env [Prod prod]}")

		b.group("rg")
		ticket := b.begin(write(index.Put, "rg", "vm"))
		_, err = b.Settle(b.ctx, ticket,
			inventory.WriteResult{Outcome: index.Succeeded, Details: &inventory.Details{Tags: map[string]string{"Alpha": "1", "zulu": "2"}}})
		b.ok(err)
		var names []string
		for after := ""; ; {
			after, err = b.Tags.Next(b.ctx, Sub, after)
			b.ok(err)
			if after == "" {
				break
			}
			names = append(names, after)
		}
		equal(b, fmt.Sprint(names), "[alpha env zulu]")

		remove := func(name, value string) bool {
			b.Helper()
			removed, err := b.Tags.Remove(b.ctx, Sub, name, value, anyTag)
			b.ok(err)
			return removed
		}
		_, err = b.Tags.Remove(b.ctx, Sub, "env", "", anyTag)
		b.is(err, tagindex.ErrHasValues)
		equal(b, remove("env", "PROD"), false)
		equal(b, remove("env", "prod"), true)
		equal(b, remove("Env", "Prod"), true)
		equal(b, remove("Env", ""), true)
		equal(b, remove("Env", ""), false)
	})
	t.Run("names, by what was there", func(t *testing.T) {
		b := newBench(t, database)
		// is judges the name as it is when the transaction writes.
		is := func(want string) func(tagindex.Name) error {
			return func(n tagindex.Name) error {
				if fmt.Sprint(n) == want {
					return nil
				}
				return fmt.Errorf("%w: %v", errRefused, n)
			}
		}
		_, created, err := b.Tags.Define(b.ctx, Sub, "Env", "", is("{env Env []}"), nil)
		b.is(err, errRefused)
		equal(b, created, false)
		_, err = b.Tags.Name(b.ctx, Sub, "env")
		b.is(err, inventory.ErrNotFound)
		for _, define := range []struct{ value, before, after string }{
			{"", "{  []}", "{env Env []}"},
			{"prod", "{env Env []}", "{env Env [prod]}"},
			{"prod", "{env Env [prod]}", "{env Env [prod]}"},
			{"", "{env Env [prod]}", "{env Env [prod]}"},
		} {
			defined, _, err := b.Tags.Define(b.ctx, Sub, "Env", define.value, is(define.before), nil)
			b.ok(err)
			equal(b, fmt.Sprint(defined), define.after)
		}
		_, err = b.Tags.Remove(b.ctx, Sub, "env", "prod", is("{env Env []}"))
		b.is(err, errRefused)
		_, err = b.Tags.Remove(b.ctx, Sub, "env", "", is("{env Env []}"))
		b.is(err, errRefused) // before it is said that values are defined
		_, err = b.Tags.Remove(b.ctx, Sub, "env", "prod", is("{env Env [prod]}"))
		b.ok(err)
		_, err = b.Tags.Remove(b.ctx, Sub, "env", "prod", is("whatever"))
		b.ok(err) // what is absent is not judged

		// Of many who saw the same, one wins.
		var wait sync.WaitGroup
		var won atomic.Int64
		for i := range 8 {
			wait.Go(func() {
				switch _, _, err := b.Tags.Define(b.ctx, Sub, "env", fmt.Sprint("v", i), is("{env Env []}"), nil); {
				case err == nil:
					won.Add(1)
				case !errors.Is(err, errRefused):
					t.Error(err)
				}
			})
		}
		wait.Wait()
		equal(b, won.Load(), int64(1))
	})
	t.Run("advisory leases", func(t *testing.T) {
		b := newBench(t, database)
		take := func(key string) (jobrow.AdvisoryLease, bool) {
			b.Helper()
			lease, taken, err := b.Jobs.AcquireAdvisoryLease(b.ctx, Sub, key, time.Minute)
			b.ok(err)
			return lease, taken
		}
		first, taken := take("/K")
		equal(b, taken, true)
		_, taken = take("/k")
		equal(b, taken, false)
		_, taken = take("/other")
		equal(b, taken, true)
		b.clock.Pass(time.Minute)
		second, taken := take("/k")
		equal(b, taken, true)
		b.ok(b.Jobs.ReleaseAdvisoryLease(b.ctx, first)) // was no longer its own
		_, taken = take("/k")
		equal(b, taken, false)
		b.ok(b.Jobs.ReleaseAdvisoryLease(b.ctx, second))
		_, taken = take("/k")
		equal(b, taken, true)
	})
	t.Run("advisory leases of holders that died", func(t *testing.T) {
		b := newBench(t, database)
		forgets := func(limit, want int) {
			b.Helper()
			n, err := b.Jobs.ForgetAdvisoryLeases(b.ctx, limit)
			b.ok(err)
			equal(b, n, want)
		}
		for i := range 5 {
			_, taken, err := b.Jobs.AcquireAdvisoryLease(b.ctx, Sub, fmt.Sprint("/", i), time.Duration(1+i/4)*time.Minute)
			b.ok(err)
			equal(b, taken, true)
		}
		b.clock.Pass(time.Minute - time.Microsecond)
		forgets(10, 0)
		b.clock.Pass(time.Microsecond)
		forgets(3, 3)
		forgets(10, 1)
		forgets(10, 0)
		_, taken, err := b.Jobs.AcquireAdvisoryLease(b.ctx, Sub, "/4", time.Minute)
		b.ok(err)
		equal(b, taken, false)
	})
}

// testTagsAtOnce edits one subscription's tags through two stores.
func testTagsAtOnce(t *testing.T, database Database) {
	pair := newPair(t, database)
	countUp(pair[0], pair[1], 40)
}

// countUp adds one tag after the other, through two stores at once; none is lost.
func countUp(a, b *bench, n int) {
	a.Helper()
	var wait sync.WaitGroup
	for i := range n {
		through := []*bench{a, b}[i%2]
		wait.Go(func() {
			_, err := through.EditSubscriptionTags(through.ctx, Sub, index.Put, func(tags map[string]string) (map[string]string, error) {
				if tags == nil {
					tags = map[string]string{}
				}
				tags[fmt.Sprint(i)] = ""
				return tags, nil
			}, nil)
			if err != nil {
				through.Errorf("%d: %v", i, err)
			}
		})
	}
	wait.Wait()
	stored, err := b.Subscription(b.ctx, Sub)
	b.ok(err)
	equal(b, len(stored.Tags), n)
}
