package storetest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"portico/inventory"
	"portico/inventory/index"
	"portico/inventory/transaction"
)

func testGroupDelete(t *testing.T, database Database) {
	t.Run("R2 a group goes only when nothing is left", func(t *testing.T) {
		b := newBench(t, database)
		b.group("rg")
		b.group("rg-1")
		b.live("rg-1", "other")
		b.live("rg", "VM")
		ticket := b.begin(write(index.Delete, "rg", "absent"))
		left := as[*inventory.GroupNotEmptyError](b, b.DeleteGroup(b.ctx, Sub, "rg", inventory.DeleteGroupConditions{}))
		equal(b, len(left.Resources), 1)
		equal(b, left.Resources[0], id("rg", "VM"))
		equal(b, left.Total, 1)
		equal(b, left.Intents, 1)
		b.settle(b.begin(write(index.Delete, "rg", "vm")), index.Gone)
		left = as[*inventory.GroupNotEmptyError](b, b.DeleteGroup(b.ctx, Sub, "rg", inventory.DeleteGroupConditions{}))
		equal(b, left.Total, 0)
		equal(b, left.Intents, 1)
		b.settle(ticket, index.Ambiguous) // its call is over, and it leaves a fence
		b.ok(b.DeleteGroup(b.ctx, Sub, "rg", inventory.DeleteGroupConditions{}))
		equal(b, len(b.fences("absent")), 1)
	})
	t.Run("an expired create still holds its group by its row", func(t *testing.T) {
		b := newBench(t, database)
		b.group("rg")
		b.begin(write(index.Put, "rg", "vm"))
		b.clock.Pass(intentLife)
		left := as[*inventory.GroupNotEmptyError](b, b.DeleteGroup(b.ctx, Sub, "rg", inventory.DeleteGroupConditions{}))
		equal(b, left.Total, 1)
		equal(b, left.Intents, 0)
	})
	t.Run("names at most a hundred", func(t *testing.T) {
		b := newBench(t, database)
		b.group("rg")
		for i := range 103 {
			b.begin(write(index.Put, "rg", fmt.Sprintf("vm%03d", i)))
		}
		left := as[*inventory.GroupNotEmptyError](b, b.DeleteGroup(b.ctx, Sub, "rg", inventory.DeleteGroupConditions{}))
		equal(b, len(left.Resources), 100)
		equal(b, left.Total, 103)
		equal(b, left.Intents, 103)
	})
	t.Run("the caller's check comes first", func(t *testing.T) {
		b := newBench(t, database)
		b.group("rg")
		b.live("rg", "vm")
		refusal := errors.New("precondition")
		equal(b, b.DeleteGroup(b.ctx, Sub, "rg", inventory.DeleteGroupConditions{Check: func(g inventory.Group) error {
			equal(b, g.ETag, "1")
			return refusal
		}}), refusal)
	})
	t.Run("R2 a write and a delete at once: one of them is refused", func(t *testing.T) {
		b := newBench(t, database)
		for i := range 40 {
			group := fmt.Sprintf("rg%d", i)
			b.group(group)
			var wait sync.WaitGroup
			var started, deleted error
			wait.Go(func() { _, started = b.Begin(b.ctx, write(index.Put, group, "vm")) })
			wait.Go(func() { deleted = b.DeleteGroup(b.ctx, Sub, group, inventory.DeleteGroupConditions{}) })
			wait.Wait()
			_, groupErr := b.Group(b.ctx, Sub, group)
			_, rowErr := b.Resource(b.ctx, Sub, id(group, "vm"))
			if started == nil {
				refuses[*inventory.GroupNotEmptyError](b, deleted)
				b.ok(groupErr)
				b.ok(rowErr)
				continue
			}
			b.is(started, index.ErrGroupNotFound)
			b.ok(deleted)
			b.is(groupErr, inventory.ErrNotFound)
			b.is(rowErr, inventory.ErrNotFound)
		}
	})
}

func testQuota(t *testing.T, database Database) {
	t.Run("names and values of tags, and locks, in a subscription", func(t *testing.T) {
		b := newBench(t, database, func(o *inventory.Options) {
			o.Limits = inventory.Limits{TagNamesPerSubscription: 3, LocksPerSubscription: 21}
		})
		define := func(name, value string) error {
			_, _, err := b.Tags.Define(b.ctx, Sub, name, value, anyTag, nil)
			return err
		}
		b.ok(define("a", ""))
		b.ok(define("a", "1"))
		b.ok(define("b", ""))
		equal(b, *as[*transaction.QuotaError](b, define("a", "2")), transaction.QuotaError{Kind: transaction.QuotaTagNames, Limit: 3, Current: 3})
		b.ok(define("A", "1"))                                   // it exists
		for _, of := range [][2]string{{"a", "1"}, {"a", "1"}} { // the second time it is gone
			_, err := b.Tags.Remove(b.ctx, Sub, of[0], of[1], anyTag)
			b.ok(err)
		}
		b.ok(define("a", "2"))
		refuses[*transaction.QuotaError](b, define("c", ""))

		for i := range 20 {
			_, err := b.lock("", subscriptionID, fmt.Sprint("l", i), inventory.LockCanNotDelete)
			b.ok(err)
		}
		b.group("rg")
		_, err := b.lock("rg", groupID, "last", inventory.LockCanNotDelete)
		b.ok(err)
		_, err = b.lock("rg", groupID, "one more", inventory.LockCanNotDelete)
		equal(b, *as[*transaction.QuotaError](b, err), transaction.QuotaError{Kind: transaction.QuotaAllLocks, Limit: 21, Current: 21})
	})
	limited := func(o *inventory.Options) {
		o.Limits = inventory.Limits{ResourcesPerTypeAndGroup: 5, GroupsPerSubscription: 3}
	}
	t.Run("resources of a type in a group", func(t *testing.T) {
		b := newBench(t, database, limited)
		b.group("rg")
		b.group("other")
		for i := range 5 {
			b.live("rg", fmt.Sprint("vm", i))
		}
		_, err := b.Begin(b.ctx, write(index.Put, "rg", "vm5"))
		equal(b, *as[*transaction.QuotaError](b, err), transaction.QuotaError{Kind: transaction.QuotaResources, Limit: 5, Current: 5})
		b.absent("vm5")
		b.live("rg", "vm1")    // an update needs no room
		b.live("other", "vm5") // nor does another group
		b.settle(b.begin(disk(index.Put, "rg", "vm1", "d")), index.Succeeded)
		// Each way in which a row is deleted makes room.
		b.settle(b.begin(write(index.Delete, "rg", "vm0")), index.Gone)
		b.settle(b.begin(write(index.Put, "rg", "vm5")), index.Refused)
		b.settle(b.begin(write(index.Put, "rg", "vm5")), index.NotSent)
		row := b.live("rg", "vm5")
		settled, _, err := b.Observe(b.ctx, Sub, row.Key, row.Generation, inventory.Observation{})
		b.ok(err)
		equal(b, settled, true)
		b.live("rg", "vm6")
		_, err = b.Begin(b.ctx, write(index.Put, "rg", "vm7"))
		refuses[*transaction.QuotaError](b, err)
	})
	t.Run("groups of a subscription", func(t *testing.T) {
		b := newBench(t, database, limited)
		create := func(name string) error {
			_, _, err := b.EditGroup(b.ctx, Sub, name, func(*inventory.Group) (*inventory.Group, error) {
				return &inventory.Group{Location: "westus"}, nil
			})
			return err
		}
		for i := range 3 {
			b.ok(create(fmt.Sprint("rg", i)))
		}
		equal(b, *as[*transaction.QuotaError](b, create("rg3")), transaction.QuotaError{Kind: transaction.QuotaGroups, Limit: 3, Current: 3})
		b.ok(create("RG1"))
		b.ok(b.DeleteGroup(b.ctx, Sub, "rg1", inventory.DeleteGroupConditions{}))
		b.ok(create("rg3"))
		refuses[*transaction.QuotaError](b, create("rg1"))
	})
	t.Run("exact under concurrency, and a refusal harms no neighbour", func(t *testing.T) {
		b := newBench(t, database, func(o *inventory.Options) {
			o.Limits = inventory.Limits{ResourcesPerTypeAndGroup: 50}
		})
		b.group("rg")
		b.group("free")
		var wait sync.WaitGroup
		var created, refused, broken atomic.Int64
		for i := range 120 {
			wait.Go(func() {
				group := "rg"
				if i%4 == 0 {
					group = "free"
				}
				_, err := b.Begin(b.ctx, write(index.Put, group, fmt.Sprint("vm", i)))
				var quota *transaction.QuotaError
				switch {
				case err == nil:
					created.Add(1)
				case errors.As(err, &quota) && group == "rg":
					refused.Add(1)
				default:
					broken.Add(1)
				}
			})
		}
		wait.Wait()
		equal(b, broken.Load(), 0)
		equal(b, created.Load(), 80)
		equal(b, refused.Load(), 40)
		rows, err := b.Resources(b.ctx, inventory.ResourceQuery{Subscription: Sub, Group: "rg"})
		b.ok(err)
		equal(b, len(rows), 50)
	})
}
