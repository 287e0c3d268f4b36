package storetest

import (
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"portico/inventory"
	"portico/inventory/index"
	"portico/inventory/jobrow"
)

// computeThere is a change of a registration of the other subscription.
func computeThere() inventory.RegistrationChange {
	c := compute
	c.Subscription = otherSub
	return c
}

// stop ends a move that has moved nothing.
func (m *mover) stop() {
	m.Helper()
	m.ok(m.Moves.End(m.ctx, m.claimed(inventory.MoveJob), m.from, m.to, jobrow.Failed, ``, nil))
}

// delete sets a subscription to Deleted.
func (m *mover) delete(sub string) {
	m.Helper()
	_, _, err := m.PutSubscription(m.ctx, inventory.Subscription{ID: sub, TenantID: "t", State: inventory.Deleted})
	m.ok(err)
}

// erase takes one step in erasing the one Deleted subscription.
func (m *mover) erase() inventory.Erasure {
	m.Helper()
	j := m.claimed(inventory.EraseJob)
	e, err := m.EraseSubscription(m.ctx, j, "")
	m.ok(err)
	if !e.Done {
		m.ok(m.Jobs.Defer(m.ctx, j, m.clock.Now(), ""))
	}
	return e
}

// testMoveAlongside checks moves against other changes of their groups.
func testMoveAlongside(t *testing.T, database Database) {
	t.Run("registrations", func(t *testing.T) { testMoveAndRegistrations(t, database) })
	for _, sub := range []string{Sub, otherSub} {
		t.Run("erasing waits for a move, "+sub[len(sub)-2:], func(t *testing.T) { testMoveAndErasing(t, database, sub) })
	}
	t.Run("a move waits for a PATCH", func(t *testing.T) {
		m := newMover(t, database, otherSub)
		m.live("rg", "vm")
		ticket := m.begin(write(index.Patch, "rg", "vm"))
		m.started("vm")
		drained := func(want bool) {
			t.Helper()
			_, got, err := m.Moves.Drained(m.ctx, m.from, m.to)
			m.ok(err)
			equal(m.bench, got, want)
		}
		drained(false)
		_, err := m.Begin(m.ctx, write(index.Patch, "rg", "vm"))
		refuses[*index.GroupStateError](m.bench, err)
		m.settle(ticket, index.Ambiguous)
		drained(false)
		m.clock.Pass(intentLife)
		drained(true)
		j := m.claimed(inventory.MoveJob)
		m.ok(m.Moves.BeginCall(m.ctx, &j, m.call("vm"), `{}`))
	})
	t.Run("an advisory lease stays with the ID that it was taken for", func(t *testing.T) {
		m := newMover(t, database, otherSub)
		m.live("rg", "vm")
		take := func(sub, key string) (jobrow.AdvisoryLease, bool) {
			t.Helper()
			lease, taken, err := m.Jobs.AcquireAdvisoryLease(m.ctx, sub, key, time.Hour)
			m.ok(err)
			return lease, taken
		}
		lease, _ := take(Sub, id("rg", "vm"))
		j := m.started("vm")
		m.ok(m.Moves.BeginCall(m.ctx, &j, m.call("vm"), `{}`))
		m.settles(&j, inventory.MoveResult{Moved: members("vm")})
		m.ok(m.Moves.End(m.ctx, j, m.from, m.to, jobrow.Done, ``, nil))
		_, err := m.Begin(m.ctx, write(index.Patch, "rg", "vm")) // of whoever still has it
		m.is(err, inventory.ErrNotFound)
		_, taken := take(otherSub, m.key("vm"))
		equal(m.bench, taken, true)
		_, taken = take(Sub, id("rg", "vm"))
		equal(m.bench, taken, false)
		m.ok(m.Jobs.ReleaseAdvisoryLease(m.ctx, lease))
		_, taken = take(Sub, id("rg", "vm"))
		equal(m.bench, taken, true)
	})
	t.Run("locks forbid and go where what they stand on is", func(t *testing.T) { testMoveAndLocks(t, database) })
	t.Run("a lock on the subscription waits for a move", func(t *testing.T) {
		m := newMover(t, database, otherSub)
		m.live("rg", "vm")
		_, err := m.Moves.Begin(m.ctx, m.order("vm"))
		m.ok(err)
		l, err := m.lock("", subscriptionID, "l", inventory.LockCanNotDelete)
		m.ok(err)
		m.waits(m.ctx, "", l, true) // it forbids no move
		l, err = m.lock("", subscriptionID, "l", inventory.LockReadOnly)
		m.ok(err)
		m.waits(soon(m.bench), "", l, false)
		j := m.claimed(inventory.MoveJob)
		m.ok(m.Moves.BeginCall(m.ctx, &j, m.call("vm"), `{}`))
		m.waits(soon(m.bench), "", l, false)
		m.settles(&j, inventory.MoveResult{Stayed: members("vm")})
		m.waits(soon(m.bench), "", l, false)
		m.ok(m.Moves.End(m.ctx, j, m.from, m.to, jobrow.Failed, ``, nil))
		m.waits(m.ctx, "", l, true)
	})
}

func testMoveAndRegistrations(t *testing.T, database Database) {
	m := newMover(t, database, otherSub)
	m.live("rg", "vm")
	order := m.order("vm")
	order.Namespaces = []string{"Contoso.Compute"}
	begin := func() error { _, err := m.Moves.Begin(m.ctx, order); return err }
	refused := as[*inventory.MoveError](m.bench, begin())
	equal(m.bench, refused.Target, true)
	equal(m.bench, *as[*inventory.RegistrationStateError](m.bench, refused), inventory.RegistrationStateError{Namespace: computeNamespace})
	m.states(index.GroupActive)

	other := inventory.RegistrationChange{Subscription: otherSub, Namespace: "contoso.computes"}
	for _, c := range []inventory.RegistrationChange{computeThere(), other} {
		_, err := m.Register(m.ctx, c)
		m.ok(err)
	}
	m.ok(begin())
	_, err := m.Unregister(m.ctx, computeThere())
	m.is(err, inventory.ErrNamespaceInUse)
	_, err = m.Unregister(m.ctx, other) // a move that moves nothing
	m.ok(err)
	m.stop()
	_, err = m.Unregister(m.ctx, computeThere())
	m.ok(err)
	equal(m.bench, as[*inventory.RegistrationStateError](m.bench, begin()).State, inventory.Unregistering)
	// The subscription must register for a region that joined later.
	early := computeThere()
	early.Targets = endpoints[3:] // of eastus
	_, err = m.Register(m.ctx, early)
	m.ok(err)
	refused = as[*inventory.MoveError](m.bench, begin())
	equal(m.bench, refused.Key, vmType)
	equal(m.bench, *as[*inventory.RegistrationStateError](m.bench, refused),
		inventory.RegistrationStateError{Namespace: computeNamespace, State: inventory.Registering, Region: "westus"})
	// A move within a subscription brings nothing new into it.
	m.groupIn(Sub, "beside")
	order.Target = inventory.GroupName{Subscription: Sub, Name: "beside"}
	m.ok(begin())
}

// testUnregisterAgainstMove is testUnregisterAgainstCreate for moves.
func testUnregisterAgainstMove(t *testing.T, database Database) {
	pair := newPair(t, database)
	m := [2]*mover{}
	for i, b := range pair {
		m[i] = &mover{bench: b, from: inventory.GroupName{Subscription: Sub, Name: "rg"}, to: inventory.GroupName{Subscription: otherSub, Name: "target"}}
	}
	m[0].ok(m[0].SeedSubscriptions(m[0].ctx, []inventory.Subscription{{ID: otherSub, TenantID: "t"}}))
	m[0].group("rg")
	m[0].groupIn(otherSub, "target")
	m[0].live("rg", "vm")
	var won [2]int
	for i := range 60 {
		begins, ends := m[i%2], m[1-i%2]
		_, err := begins.Register(begins.ctx, computeThere())
		begins.ok(err)
		order := begins.order("vm")
		order.Namespaces = []string{computeNamespace}
		lead := time.Duration(rand.IntN(2000)-1000) * time.Microsecond
		var started, ended error
		var wait sync.WaitGroup
		wait.Go(func() {
			time.Sleep(max(lead, 0))
			_, started = begins.Moves.Begin(begins.ctx, order)
		})
		wait.Go(func() {
			time.Sleep(max(-lead, 0))
			_, ended = ends.Unregister(ends.ctx, computeThere())
		})
		wait.Wait()
		if started == nil {
			won[0]++
			begins.is(ended, inventory.ErrNamespaceInUse)
			begins.stop()
			continue
		}
		won[1]++
		refuses[*inventory.RegistrationStateError](begins.bench, started)
		ends.ok(ended)
	}
	if won[0] == 0 || won[1] == 0 {
		t.Errorf("one side always won: %v", won)
	}
}

func testMoveAndErasing(t *testing.T, database Database, deleted string) {
	kept := map[string]string{Sub: otherSub, otherSub: Sub}[deleted]
	for _, sent := range []bool{false, true} {
		m := newMover(t, database, otherSub)
		m.live("rg", "vm")
		j := m.started("vm")
		if sent {
			m.ok(m.Moves.BeginCall(m.ctx, &j, m.call("vm"), `{}`))
			m.delete(deleted)
			equal(m.bench, m.erase(), inventory.Erasure{Intents: 1})
			j = m.claimed(inventory.MoveJob)
			m.settles(&j, inventory.MoveResult{Moved: members("vm")})
		} else {
			m.delete(deleted)
			m.is(m.Moves.BeginCall(m.ctx, &j, m.call("vm"), `{}`), inventory.ErrSubscriptionNotFound)
		}
		equal(m.bench, m.erase(), inventory.Erasure{Moves: 1})
		j = m.claimed(inventory.MoveJob)
		m.ok(m.Moves.End(m.ctx, j, m.from, m.to, jobrow.Failed, ``, nil))
		equal(m.bench, m.erase(), inventory.Erasure{More: true})
		equal(m.bench, m.erase(), inventory.Erasure{Done: true})

		// The rest is in the other subscription, whose group accepts writes.
		rows := 0
		for _, sub := range []string{Sub, otherSub} {
			all, err := m.Resources(m.ctx, inventory.ResourceQuery{Subscription: sub})
			m.ok(err)
			if sub == deleted {
				equal(m.bench, len(all), 0)
			}
			rows += len(all)
		}
		stays := sent == (kept == otherSub)
		equal(m.bench, rows == 1, stays)
		name := map[string]string{Sub: "rg", otherSub: "target"}[kept]
		g, err := m.Group(m.ctx, kept, name)
		m.ok(err)
		equal(m.bench, g.State, index.GroupActive)
		_, err = m.Group(m.ctx, deleted, map[string]string{Sub: "rg", otherSub: "target"}[deleted])
		m.is(err, inventory.ErrNotFound)
		if _, err := m.Moves.Begin(m.ctx, m.order("vm")); !errors.As(err, new(*inventory.MoveError)) {
			m.Errorf("%v", err)
		}
	}
}

func testMoveAndLocks(t *testing.T, database Database) {
	m := newMover(t, database, otherSub)
	for _, name := range []string{"vm", "gone"} {
		m.live("rg", name)
		m.settle(m.begin(disk(index.Put, "rg", name, "d")), index.Succeeded)
		for _, scope := range []string{id("rg", name), id("rg", name) + "/disks/d", id("rg", name) + "/providers/Contoso.Insight/notes/n"} {
			_, _, err := m.Locks.Edit(m.ctx, Sub, "rg", scope, "l", func(*inventory.Lock) (*inventory.Lock, error) {
				return &inventory.Lock{ScopeID: scope, Name: "l", Level: inventory.LockCanNotDelete}, nil
			})
			m.ok(err)
		}
	}
	j := m.started("vm", "gone")
	m.ok(m.Moves.BeginCall(m.ctx, &j, m.call("vm", "gone"), `{}`))
	m.settles(&j, inventory.MoveResult{Moved: members("vm"), Gone: members("gone")})
	m.ok(m.Moves.End(m.ctx, j, m.from, m.to, jobrow.Failed, ``, nil))

	w := write(index.Delete, "target", "vm")
	w.Subscription, w.Key, w.ID = otherSub, m.key("vm"), m.key("vm")
	_, err := m.Begin(m.ctx, w)
	equal(m.bench, len(as[*inventory.LockedError](m.bench, err).Locks), 1)
	locks, err := m.Locks.List(m.ctx, otherSub, m.key("vm"), true)
	m.ok(err)
	equal(m.bench, len(locks), 3)
	m.ok(m.Locks.Delete(m.ctx, otherSub, "target", m.key("vm"), "l", func(inventory.Lock) error { return nil }))
	m.settle(m.begin(w), index.Gone)
	row, err := m.Resource(m.ctx, otherSub, m.key("vm")+"/disks/d")
	m.ok(err)
	m.ok(m.end(row.Key, otherSub))
	if locks, err = m.Locks.List(m.ctx, otherSub, "/subscriptions/"+otherSub, true); err != nil || len(locks) > 0 {
		t.Errorf("%+v %v", locks, err)
	}
	m.ok(m.DeleteGroup(m.ctx, otherSub, "target", inventory.DeleteGroupConditions{}))
	// Resources that were deleted or moved do not block the source.
	row = m.row("rg", "gone/disks/d")
	m.ok(m.end(row.Key, Sub))
	m.ok(m.DeleteGroup(m.ctx, Sub, "rg", inventory.DeleteGroupConditions{}))
}
