package storetest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"portico/arm"
	"portico/inventory"
	"portico/inventory/index"
	"portico/inventory/transaction"
)

const (
	subscriptionID = "/subscriptions/" + Sub
	groupID        = subscriptionID + "/resourceGroups/RG"
)

// lock puts a lock on a scope.
func (b *bench) lock(group, scope, name string, level inventory.LockLevel) (inventory.Lock, error) {
	l, _, err := b.Locks.Edit(b.ctx, Sub, group, scope, name, func(*inventory.Lock) (*inventory.Lock, error) {
		l := inventory.Lock{ScopeID: scope, Name: name, Level: level, ETag: "e"}
		if strings.HasPrefix(scope, id(group, "")) {
			l.Host = arm.Fold(scope)
		}
		return &l, nil
	})
	return l, err
}

// refused is the result of a write to a resource of the group rg.
func (b *bench) refused(kind index.WriteKind, name string) error {
	_, err := b.Begin(b.ctx, write(kind, "rg", name))
	return err
}

func (b *bench) has(group string) bool {
	_, err := b.Resource(b.ctx, Sub, id(group, "vm"))
	return err == nil
}

func testLockBounds(t *testing.T, database Database) {
	t.Run("so many on one scope", func(t *testing.T) {
		b := newBench(t, database)
		b.group("rg")
		_, err := b.lock("rg", id("rg", "vm"), "l", inventory.LockReadOnly)
		b.is(err, inventory.ErrNotFound) // it would outlive its scope
		b.live("rg", "vm")
		for _, c := range []struct{ group, scope string }{{"", subscriptionID}, {"rg", groupID}, {"rg", id("rg", "vm")}} {
			for i := range inventory.LocksPerScope {
				_, err := b.lock(c.group, c.scope, fmt.Sprint("l", i), inventory.LockCanNotDelete)
				b.ok(err)
			}
			_, err := b.lock(c.group, c.scope, "one more", inventory.LockCanNotDelete)
			quota := as[*transaction.QuotaError](b, err)
			equal(b, *quota, transaction.QuotaError{Kind: transaction.QuotaLocks, Limit: 20, Current: 20})
			_, err = b.lock(c.group, c.scope, "L7", inventory.LockReadOnly) // it exists
			b.ok(err)
			b.ok(b.Locks.Delete(b.ctx, Sub, c.group, c.scope, "l7", func(inventory.Lock) error { return nil }))
			_, err = b.lock(c.group, c.scope, "one more", inventory.LockCanNotDelete)
			b.ok(err)
		}
	})
	t.Run("listed", func(t *testing.T) {
		b := newBench(t, database)
		b.group("rg")
		b.live("rg", "vm")
		for _, c := range []struct{ group, scope string }{{"", subscriptionID}, {"rg", groupID}, {"rg", id("rg", "vm")}} {
			for _, name := range []string{"B", "a b"} {
				_, err := b.lock(c.group, c.scope, name, inventory.LockReadOnly)
				b.ok(err)
			}
		}
		var walked []string
		for after := (inventory.Lock{}); ; {
			page, err := b.Locks.OfSubscription(b.ctx, strings.ToUpper(Sub), after, 2)
			b.ok(err)
			for _, l := range page {
				walked = append(walked, l.ScopeID+" "+l.Name)
				after = l
			}
			if len(page) < 2 {
				break
			}
		}
		equal(b, strings.Join(walked, ", "), strings.Join([]string{
			subscriptionID + " a b", subscriptionID + " B", groupID + " a b", groupID + " B", id("rg", "vm") + " a b", id("rg", "vm") + " B",
		}, ", "))
		for at, want := range map[string]int{
			subscriptionID: 2, strings.ToUpper(groupID): 4, id("rg", "vm"): 6, id("rg", "vm2"): 4, id("rg", "vm") + "/disks/d": 6, id("other", "vm"): 2,
		} {
			held, err := b.Locks.Over(b.ctx, Sub, at)
			b.ok(err)
			equal(b, len(held), want)
		}
	})
	t.Run("on what lies in no group", func(t *testing.T) {
		b := newBench(t, database)
		host := subscriptionID + "/providers/Contoso.Insight/diagnosticSettings/d"
		_, err := b.lock("", host, "l", inventory.LockReadOnly)
		b.ok(err)
		refuses[*inventory.LockedError](b, b.checkLocks("", host, index.Put))
		b.ok(b.checkLocks("", host+"2", index.Delete))
	})
	t.Run("no group is made below one that forbids writes", func(t *testing.T) {
		b := newBench(t, database)
		_, err := b.lock("", subscriptionID, "l", inventory.LockReadOnly)
		b.ok(err)
		_, _, err = b.EditGroup(b.ctx, Sub, "rg", func(*inventory.Group) (*inventory.Group, error) { return &inventory.Group{}, nil })
		refuses[*inventory.LockedError](b, err)
		_, err = b.lock("", subscriptionID, "l", inventory.LockCanNotDelete)
		b.ok(err)
		b.group("rg")
	})
}

// soon is short: a test that must wait in vain waits no longer.
func soon(b *bench) context.Context {
	ctx, cancel := context.WithTimeout(b.ctx, 60*time.Millisecond)
	b.Cleanup(cancel)
	return ctx
}

// waits asserts whether WaitForConflictingWrites waits until all conflicting writes
// have ended.
func (b *bench) waits(ctx context.Context, group string, l inventory.Lock, want bool) {
	b.Helper()
	ended, err := b.Locks.WaitForConflictingWrites(ctx, group, l)
	b.ok(err)
	equal(b, ended, want)
}

// A lock waits for the calls in progress that it forbids, and not for calls that ended
// without a definite answer.
func testLocksWait(t *testing.T, database Database) {
	for _, c := range []struct{ group, scope string }{{"", subscriptionID}, {"rg", groupID}, {"rg", id("rg", "vm")}} {
		b := newBench(t, database)
		b.group("rg")
		b.group("other")
		b.live("rg", "vm")
		for _, elsewhere := range []string{"vmx", "v"} {
			b.live("rg", elsewhere)
		}
		put, remove := b.begin(write(index.Put, "rg", "vm")), b.begin(write(index.Delete, "rg", "vm"))
		near := b.begin(write(index.Delete, "rg", "vmx"))
		l, err := b.lock(c.group, c.scope, "l", inventory.LockCanNotDelete)
		b.ok(err)
		b.waits(soon(b), c.group, l, false)
		b.settle(remove, index.Refused)
		if c.scope != id("rg", "vm") {
			b.waits(soon(b), c.group, l, false)
		}
		b.settle(near, index.Ambiguous)  // it may still be applied
		b.waits(b.ctx, c.group, l, true) // a PUT that it does not forbid
		l, err = b.lock(c.group, c.scope, "l", inventory.LockReadOnly)
		b.ok(err)
		b.waits(soon(b), c.group, l, false)
		b.settle(put, index.Ambiguous)
		b.waits(b.ctx, c.group, l, true)
		refuses[*inventory.LockedError](b, b.refused(index.Put, "vm"))
		_, err = b.lock(c.group, c.scope, "l", inventory.LockCanNotDelete)
		b.ok(err)
		b.begin(write(index.Put, "rg", "vm")) // whose sender disappears
		l, err = b.lock(c.group, c.scope, "l", inventory.LockReadOnly)
		b.ok(err)
		b.waits(soon(b), c.group, l, false)
		b.clock.Pass(callLife)
		b.waits(b.ctx, c.group, l, true)
	}
}

// A DELETE through one replica and a lock through another: either the DELETE is
// refused, or the lock waits for its end.
func testLocksAtOnce(t *testing.T, database Database) {
	pair := newPair(t, database)
	a, b := pair[0], pair[1]
	for i := range 60 {
		group := fmt.Sprint("rg", i)
		a.group(group)
		a.live(group, "vm")
		scope := []struct{ group, id string }{{"", subscriptionID}, {group, subscriptionID + "/resourceGroups/" + group}, {group, id(group, "vm")}}[i%3]
		var wait sync.WaitGroup
		var mu sync.Mutex
		acknowledged := false
		wait.Go(func() {
			ticket, err := a.Begin(a.ctx, write(index.Delete, group, "vm"))
			if locked := new(inventory.LockedError); errors.As(err, &locked) {
				return
			}
			if err != nil {
				a.Errorf("begin: %v", err)
				return
			}
			time.Sleep(time.Duration(i%4) * time.Millisecond)
			mu.Lock()
			if acknowledged {
				a.Errorf("round %d: a DELETE is on its way below a lock", i)
			}
			mu.Unlock()
			if _, err := a.Settle(a.ctx, ticket, inventory.WriteResult{Outcome: index.Gone}); err != nil {
				a.Errorf("settle: %v", err)
			}
		})
		wait.Go(func() {
			l, err := b.lock(scope.group, scope.id, "l", inventory.LockCanNotDelete)
			if err == nil {
				_, err = b.Locks.WaitForConflictingWrites(b.ctx, scope.group, l)
			}
			if err != nil && (scope.id != id(group, "vm") || !errors.Is(err, inventory.ErrNotFound)) {
				b.Errorf("lock: %v", err)
			}
			mu.Lock()
			acknowledged = true
			mu.Unlock()
		})
		wait.Wait()
		if locks, err := b.Locks.List(b.ctx, Sub, id(group, "vm"), true); err != nil || len(locks) > 0 && !b.has(group) {
			b.Errorf("round %d: %v is left of a resource that has gone, %v", i, locks, err)
		}
		if err := b.Locks.Delete(b.ctx, Sub, scope.group, scope.id, "l", func(inventory.Lock) error { return nil }); err != nil &&
			!errors.Is(err, inventory.ErrNotFound) {
			b.Fatal(err) // its scope may have been deleted with it
		}
	}
}

// checkLocks judges a write that has no intent.
func (b *bench) checkLocks(group, id string, kind index.WriteKind) error {
	t, err := b.Target(b.ctx, inventory.TargetQuery{Subscription: Sub, Locks: true, LockGroup: group})
	b.ok(err)
	return inventory.CheckLocks(t.Locks, kind, id)
}
