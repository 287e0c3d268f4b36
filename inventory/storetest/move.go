package storetest

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"portico/arm"
	"portico/inventory"
	"portico/inventory/index"
	"portico/inventory/jobrow"
	"portico/inventory/polls"
	"portico/inventory/transaction"
)

// otherSub is a second subscription, for moves out of the first.
const otherSub = "00000000-0000-0000-0000-0000000000a2"

// mover is a bench with two groups, and a move between them.
type mover struct {
	*bench
	from, to inventory.GroupName
}

func newMover(t *testing.T, database Database, to string, adjust ...func(*inventory.Options)) *mover {
	t.Helper()
	m := &mover{
		bench: newBench(t, database, adjust...),
		from:  inventory.GroupName{Subscription: Sub, Name: "Rg"}, to: inventory.GroupName{Subscription: to, Name: "Target"},
	}
	m.ok(m.SeedSubscriptions(m.ctx, []inventory.Subscription{{ID: otherSub, TenantID: "t"}}))
	m.group("RG")
	m.groupIn(to, "Target")
	return m
}

func (m *mover) groupIn(sub, name string) {
	m.Helper()
	_, _, err := m.EditGroup(m.ctx, sub, name, func(*inventory.Group) (*inventory.Group, error) {
		return &inventory.Group{Name: name, Location: "westus", ETag: "1"}, nil
	})
	m.ok(err)
}

func (m *mover) order(names ...string) inventory.MoveRequest {
	o := inventory.MoveRequest{
		Source: m.from, Target: m.to, Payload: func(source, target inventory.Group) string { return `{"a":"` + target.Name + `"}` },
		Operation: polls.Operation{Token: "t", Until: m.clock.Now().Add(time.Hour)},
	}
	for _, name := range names {
		o.Keys = append(o.Keys, id("Rg", name))
	}
	return o
}

// started begins a move and claims its job.
func (m *mover) started(names ...string) jobrow.Job {
	m.Helper()
	_, err := m.Moves.Begin(m.ctx, m.order(names...))
	m.ok(err)
	return m.claimed(inventory.MoveJob)
}

func (m *mover) claimed(kind string) jobrow.Job {
	m.Helper()
	m.clock.Pass(time.Minute)
	jobs, err := m.Jobs.Claim(m.ctx, "owner", time.Second, 10, kind)
	m.ok(err)
	if len(jobs) != 1 {
		m.Fatalf("%d jobs", len(jobs))
	}
	return jobs[0]
}

func members(names ...string) (all []inventory.MoveResource) {
	for _, name := range names {
		all = append(all, inventory.MoveResource{Key: arm.Fold(id("rg", name)), Region: "westus"})
	}
	return all
}

func (m *mover) call(names ...string) inventory.MoveCall {
	return inventory.MoveCall{Source: m.from, Target: m.to, Members: members(names...), APIVersion: "2024-01-01", Sender: "s"}
}

// key is the key of a machine at its new place.
func (m *mover) key(name string) string {
	return arm.Fold(strings.Replace(id("target", name), Sub, m.to.Subscription, 1))
}

func (m *mover) settles(j *jobrow.Job, r inventory.MoveResult) {
	m.Helper()
	r.MoveCall = m.call()
	r.LockETag = func(l inventory.Lock) string { return "of " + l.Scope }
	m.ok(m.Moves.Settle(m.ctx, j, r, `{"b":1}`))
}

func (m *mover) states(state index.GroupState) {
	m.Helper()
	for _, name := range []inventory.GroupName{m.from, m.to} {
		g, err := m.Group(m.ctx, name.Subscription, name.Name)
		m.ok(err)
		equal(m.bench, g.State, state)
	}
}

func testMove(t *testing.T, database Database) {
	t.Run("R2 both groups are marked with the job, and take no write", func(t *testing.T) {
		m := newMover(t, database, otherSub)
		m.live("rg", "vm")
		job, err := m.Moves.Begin(m.ctx, m.order("VM"))
		m.ok(err)
		m.states(index.GroupMoving)
		g, err := m.Group(m.ctx, otherSub, "target")
		m.ok(err)
		equal(m.bench, g.Generation, job.ID)
		equal(m.bench, job.Payload, `{"a":"Target"}`)
		o, err := m.Operations.Operation(m.ctx, Sub, "t")
		m.ok(err)
		equal(m.bench, o.Follow, job.ID)
		_, err = m.Begin(m.ctx, write(index.Put, "rg", "vm"))
		equal(m.bench, as[*index.GroupStateError](m.bench, err).State, index.GroupMoving)
		w := write(index.Put, "target", "new")
		w.Subscription = otherSub
		_, err = m.Begin(m.ctx, w)
		refuses[*index.GroupStateError](m.bench, err)
		_, err = m.deletion("rg", "d")
		refuses[*index.GroupStateError](m.bench, err)
		refuses[*index.GroupStateError](m.bench, m.DeleteGroup(m.ctx, otherSub, "target", inventory.DeleteGroupConditions{}))
		_, _, err = m.Locks.Edit(m.ctx, Sub, "rg", id("rg", "vm"), "L", func(*inventory.Lock) (*inventory.Lock, error) { return &inventory.Lock{}, nil })
		refuses[*index.GroupStateError](m.bench, err)
		// A change of the group itself does not take it from the job.
		for _, name := range []inventory.GroupName{m.from, m.to} {
			_, _, err = m.EditGroup(m.ctx, name.Subscription, name.Name,
				func(g *inventory.Group) (*inventory.Group, error) { g.ManagedBy = "x"; return g, nil })
			m.ok(err)
		}
		_, _, err = m.Moves.Groups(m.ctx, job, m.from, m.to)
		m.ok(err)
		refusal := as[*inventory.MoveError](m.bench, func() error { _, err := m.Moves.Begin(m.ctx, m.order("vm")); return err }())
		refuses[*index.GroupStateError](m.bench, refusal)
	})
	t.Run("what may not be moved is refused, and nothing is marked", func(t *testing.T) { testMoveRefusals(t, database) })
	for _, to := range []string{Sub, otherSub} {
		t.Run("R15 rows move with all that belongs to them, to "+to[len(to)-2:], func(t *testing.T) { testMoveOfRows(t, database, to) })
	}
	t.Run("R15 nothing that a GET says is believed while a move is on its way", func(t *testing.T) { testMoveUnderway(t, database) })
	t.Run("a stray moves in its own region", func(t *testing.T) { testMoveOfStrays(t, database) })
	t.Run("a job that is not held records nothing", func(t *testing.T) {
		m := newMover(t, database, Sub)
		m.live("rg", "vm")
		j := m.started("vm")
		m.ok(m.Moves.BeginCall(m.ctx, &j, m.call("vm"), `{}`))
		stale := j
		m.claimed(inventory.MoveJob)
		m.is(m.Moves.BeginCall(m.ctx, &stale, m.call("vm"), `{}`), jobrow.ErrLeaseLost)
		m.is(m.Moves.Settle(m.ctx, &stale, inventory.MoveResult{MoveCall: m.call(), Moved: members("vm")}, `{}`), jobrow.ErrLeaseLost)
		m.row("rg", "vm")
	})
	t.Run("a move waits for the writes before it", func(t *testing.T) {
		m := newMover(t, database, otherSub)
		m.live("rg", "vm")
		ticket := m.begin(write(index.Delete, "rg", "vm"))
		j := m.started("vm")
		_, drained, err := m.Moves.Drained(m.ctx, m.from, m.to)
		m.ok(err)
		equal(m.bench, drained, false)
		m.settle(ticket, index.Gone)
		_, drained, err = m.Moves.Drained(m.ctx, m.from, m.to)
		m.ok(err)
		equal(m.bench, drained, true)
		m.is(m.Moves.BeginCall(m.ctx, &j, m.call("vm"), `{}`), inventory.ErrChanged)
		m.ok(m.Moves.End(m.ctx, j, m.from, m.to, jobrow.Failed, `{"end":1}`, nil))
		m.states(index.GroupActive)
		ended, err := m.Jobs.Get(m.ctx, Sub, j.ID)
		m.ok(err)
		equal(m.bench, ended.State, jobrow.Failed)
		equal(m.bench, ended.Payload, `{"end":1}`)
	})
	t.Run("R2 a write is before a move, or refused by it", func(t *testing.T) { testMoveAgainstWrites(t, database) })
}

func testMoveRefusals(t *testing.T, database Database) {
	type refusal struct {
		name    string
		prepare func(*mover)
		want    func(*bench, *inventory.MoveError)
		target  bool
	}
	is := func(want error) func(*bench, *inventory.MoveError) {
		return func(b *bench, err *inventory.MoveError) { b.Helper(); b.is(err, want) }
	}
	lock := func(sub, group, scope string, level inventory.LockLevel) func(*mover) {
		return func(m *mover) {
			_, _, err := m.Locks.Edit(m.ctx, sub, group, scope, "L", func(*inventory.Lock) (*inventory.Lock, error) {
				return &inventory.Lock{ScopeID: scope, Name: "L", Level: level}, nil
			})
			m.ok(err)
		}
	}
	target := "/subscriptions/" + otherSub + "/resourceGroups/target"
	enter := func(state inventory.SubscriptionState) func(*mover) {
		return func(m *mover) {
			_, _, err := m.PutSubscription(m.ctx, inventory.Subscription{ID: otherSub, TenantID: "t", State: state})
			m.ok(err)
		}
	}
	for _, c := range []refusal{
		{"the target's subscription is gone", enter(inventory.Deleted), is(inventory.ErrSubscriptionNotFound), true},
		{"the target's subscription is disabled", enter(inventory.Disabled), refusesMove[*inventory.SubscriptionStateError], true},
		{"the target is missing", func(m *mover) { m.to.Name = "none" }, is(index.ErrGroupNotFound), true},
		{"the quota", func(m *mover) {
			w := write(index.Put, "target", "another")
			w.Subscription, w.Key, w.ID = otherSub, m.key("another"), m.key("another")
			m.settle(m.begin(w), index.Succeeded)
		}, refusesMove[*transaction.QuotaError], true},
		{"its id is taken", func(m *mover) {
			w := write(index.Put, "target", "vm")
			w.Subscription, w.Key, w.ID = otherSub, m.key("vm"), m.key("vm")
			m.begin(w)
		}, is(inventory.ErrTargetOccupied), true},
		{"a lock on the resource", lock(Sub, "rg", id("rg", "vm"), inventory.LockReadOnly), refusesMove[*inventory.LockedError], false},
		{"a lock below the resource", lock(Sub, "rg", id("rg", "vm")+"/disks/d", inventory.LockReadOnly), refusesMove[*inventory.LockedError], false},
		{"a lock on the source's subscription", lock(Sub, "", "/subscriptions/"+Sub, inventory.LockReadOnly), refusesMove[*inventory.LockedError], false},
		{"a lock on the target", lock(otherSub, "target", target, inventory.LockReadOnly), refusesMove[*inventory.LockedError], true},
		{"the target is being deleted", func(m *mover) {
			_, err := m.Deletions.Begin(m.ctx, otherSub, "target", inventory.DeletionRequest{
				Payload: func(inventory.Group) string { return "{}" }, Operation: polls.Operation{Token: "x", Until: m.clock.Now()},
			})
			m.ok(err)
		}, refusesMove[*index.GroupStateError], true},
		{"a resource is missing", func(m *mover) {
			m.settle(m.begin(write(index.Delete, "rg", "vm")), index.Gone)
		}, is(inventory.ErrNotFound), false},
		{"a resource is being deleted", func(m *mover) {
			m.settle(m.begin(write(index.Delete, "rg", "vm")), index.Accepted)
		}, is(inventory.ErrChanged), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMover(t, database, otherSub, func(o *inventory.Options) {
				if o.Limits.ResourcesPerTypeAndGroup = 10; c.name == "the quota" {
					o.Limits.ResourcesPerTypeAndGroup = 1
				}
			})
			m.live("rg", "vm")
			c.prepare(m)
			for _, validate := range []bool{true, false} {
				o := m.order("vm")
				o.Validate = validate
				_, err := m.Moves.Begin(m.ctx, o)
				refused := as[*inventory.MoveError](m.bench, err)
				c.want(m.bench, refused)
				equal(m.bench, refused.Target, c.target)
			}
			g, err := m.Group(m.ctx, Sub, "rg")
			m.ok(err)
			equal(m.bench, g.State, index.GroupActive)
		})
	}
	t.Run("a lock against deletes alone", func(t *testing.T) {
		m := newMover(t, database, otherSub)
		m.live("rg", "vm")
		lock(Sub, "", "/subscriptions/"+Sub, inventory.LockCanNotDelete)(m)
		m.started("vm")
	})
	t.Run("to validate marks nothing", func(t *testing.T) {
		m := newMover(t, database, otherSub)
		m.live("rg", "vm")
		o := m.order("vm")
		o.Validate = true
		_, err := m.Moves.Begin(m.ctx, o)
		m.ok(err)
		m.states(index.GroupActive)
		m.claimed(inventory.ValidateMoveJob)
	})
}

func refusesMove[E error](b *bench, err *inventory.MoveError) { b.Helper(); refuses[E](b, err) }

func testMoveOfRows(t *testing.T, database Database, to string) {
	m := newMover(t, database, to)
	m.live("rg", "vm")
	m.live("rg", "vm2")
	m.settle(m.begin(disk(index.Put, "rg", "vm", "d")), index.Succeeded)
	followed := m.begin(write(index.Put, "rg", "vm"))
	follow, err := m.Settle(m.ctx, followed, inventory.WriteResult{
		Outcome: index.Accepted, Poll: &inventory.Poll{Path: "/poll"}, Details: &inventory.Details{Tags: map[string]string{"Env": "x"}},
	})
	m.ok(err)
	tagged, err := m.Begin(m.ctx, write(index.Put, "rg", "vm"))
	m.ok(err)
	_, err = m.Settle(m.ctx, tagged, inventory.WriteResult{Outcome: index.Succeeded, Details: &inventory.Details{Tags: map[string]string{"Env": "x"}}})
	m.ok(err)
	child := id("RG", "VM") + "/disks/D"
	_, _, err = m.Locks.Edit(m.ctx, Sub, "rg", child, "L", func(*inventory.Lock) (*inventory.Lock, error) {
		return &inventory.Lock{ScopeID: child, Name: "L", Level: inventory.LockCanNotDelete, Notes: "n", ETag: "old"}, nil
	})
	m.ok(err)
	created := m.row("rg", "vm").Created
	old := m.row("rg", "vm")

	j := m.started("vm")
	m.ok(m.Moves.BeginCall(m.ctx, &j, m.call("vm"), `{"sent":1}`))
	equal(m.bench, j.Payload, `{"sent":1}`)
	m.is(asErr(m.Moves.End(m.ctx, j, m.from, m.to, jobrow.Done, ``, nil)), errNotEmpty)
	m.settles(&j, inventory.MoveResult{Moved: members("vm")})
	m.ok(m.Moves.End(m.ctx, j, m.from, m.to, jobrow.Done, ``, nil))

	m.absent("vm")
	m.row("rg", "vm2")
	row, err := m.Resource(m.ctx, to, m.key("vm"))
	m.ok(err)
	equal(m.bench, row.ID, strings.Replace(id("Target", "vm"), Sub, to, 1))
	equal(m.bench, row.Group, "target")
	equal(m.bench, row.Created, created)
	equal(m.bench, row.Verify, true)
	equal(m.bench, row.FollowPut, true)
	equal(m.bench, row.Generation == old.Generation, false)
	below, err := m.Resource(m.ctx, to, m.key("vm")+"/disks/d")
	m.ok(err)
	equal(m.bench, below.Parent, row.Key)
	equal(m.bench, below.Group, "target")
	equal(m.bench, below.Verify, true)
	// Tags, jobs, locks, quotas.
	byTag, err := m.Resources(m.ctx, inventory.ResourceQuery{Subscription: to, Tag: "env"})
	m.ok(err)
	equal(m.bench, len(byTag), 1)
	equal(m.bench, byTag[0].Key, row.Key)
	jobs, err := m.Jobs.List(m.ctx, jobrow.Query{Kind: inventory.FollowJob})
	m.ok(err)
	equal(m.bench, len(jobs), 1)
	equal(m.bench, jobs[0].Subject, row.Key)
	equal(m.bench, jobs[0].Subscription, to)
	equal(m.bench, jobs[0].Incarnation, follow.Follow)
	equal(m.bench, m.jobs() != "", true) // each in its row's region
	jobs, err = m.Jobs.List(m.ctx, jobrow.Query{Kind: inventory.VerifyJob})
	m.ok(err)
	equal(m.bench, len(jobs), 2)
	locks, err := m.Locks.List(m.ctx, to, row.Key, true)
	m.ok(err)
	equal(m.bench, len(locks), 1)
	equal(m.bench, locks[0].ScopeID, strings.Replace(id("Target", "VM"), Sub, to, 1)+"/disks/D")
	equal(m.bench, locks[0].Notes, "n")
	equal(m.bench, locks[0].ETag, "of "+row.Key+"/disks/d")
	locks, err = m.Locks.List(m.ctx, Sub, id("rg", "vm"), true)
	m.ok(err)
	equal(m.bench, len(locks), 0)
	for _, sub := range []string{Sub, otherSub} {
		off, err := m.Recount(m.ctx, sub, false)
		m.ok(err)
		equal(m.bench, len(off), 0)
	}
	// Old entries of a list do not reappear.
	seen := m.discovery("rg", "vm")
	seen.ListedSince = m.clock.Now().Add(-time.Minute)
	m.adopts(seen, inventory.TooYoung)
	// If the target has a resource now, the move checks before it proceeds.
	m.ok(m.Locks.Delete(m.ctx, to, "target", row.Key+"/disks/d", "L", func(inventory.Lock) error { return nil }))
	var touched []inventory.WrittenRegion
	m.ok(m.end(row.Key, to))
	m.ok(m.end(below.Key, to))
	m.ok(m.DeleteGroup(m.ctx, to, "target",
		inventory.DeleteGroupConditions{CheckWrittenRegions: func(_ inventory.Group, t []inventory.WrittenRegion) error { touched = t; return nil }}))
	equal(m.bench, fmt.Sprint(touched), fmt.Sprint([]inventory.WrittenRegion{{Type: vmType, Region: "westus"}, {Type: diskType, Region: "westus"}}))
	// A new resource can be created at the old place, and a new group too.
	m.live("rg", "vm")
}

var errNotEmpty = errors.New("it is not empty")

// asErr maps the one refusal to a value.
func asErr(err error) error {
	if errors.As(err, new(*inventory.GroupNotEmptyError)) {
		return errNotEmpty
	}
	return err
}

// end removes a resource, like a GET that finds nothing.
func (m *mover) end(key, sub string) error {
	row, err := m.Resource(m.ctx, sub, key)
	if errors.Is(err, inventory.ErrNotFound) {
		return nil
	}
	if row.FollowPut {
		jobs, err := m.Jobs.List(m.ctx, jobrow.Query{Kind: inventory.FollowJob})
		if err != nil {
			return err
		}
		if row, err = m.Follows.End(m.ctx, sub, key, index.Put, jobs[0].Incarnation, nil); err != nil {
			return err
		}
	}
	settled, _, err := m.Observe(m.ctx, sub, key, row.Generation, inventory.Observation{})
	if err == nil && !settled {
		err = errors.New("not settled")
	}
	return err
}

func testMoveUnderway(t *testing.T, database Database) {
	m := newMover(t, database, otherSub)
	m.live("rg", "vm")
	m.settle(m.begin(disk(index.Put, "rg", "vm", "d")), index.Succeeded)
	twin := m.row("rg", "vm")
	j := m.started("vm")
	m.ok(m.Moves.BeginCall(m.ctx, &j, m.call("vm"), `{}`))
	for _, key := range []string{id("rg", "vm"), id("rg", "vm") + "/disks/d"} {
		row, removalOpen, err := m.ResourceAndRemoval(m.ctx, Sub, key)
		m.ok(err)
		equal(m.bench, removalOpen, true)
		for _, found := range []bool{false, true} {
			settled, _, err := m.Observe(m.ctx, Sub, key, row.Generation, inventory.Observation{Found: found})
			m.ok(err)
			equal(m.bench, settled, false)
		}
	}
	stale := func() {
		t.Helper()
		settled, _, err := m.Observe(m.ctx, Sub, id("rg", "vm"), twin.Generation, inventory.Observation{})
		m.ok(err)
		equal(m.bench, settled, false)
	}
	stale()
	seen := m.discovery("target", "vm")
	seen.Subscription, seen.ID, seen.ListedSince = otherSub, strings.Replace(seen.ID, Sub, otherSub, 1), m.clock.Now()
	m.adopts(seen, inventory.TooYoung)
	below := seen
	below.ID, below.Type = seen.ID+"/disks/new", diskType
	m.adopts(below, inventory.TooYoung)
	m.clock.Pass(24 * time.Hour)
	_, err := m.Expire(m.ctx, 100)
	m.ok(err)
	m.is(asErr(m.Moves.End(m.ctx, m.claimed(inventory.MoveJob), m.from, m.to, jobrow.Done, ``, nil)), errNotEmpty)
	j = m.claimed(inventory.MoveJob)
	m.settles(&j, inventory.MoveResult{Stayed: members("vm")})
	stale()
	m.ok(m.Moves.End(m.ctx, j, m.from, m.to, jobrow.Failed, ``, nil))
	m.row("rg", "vm")
	seen.ListedSince = m.clock.Now()
	m.adopts(seen, inventory.Adopted)
	row := m.row("rg", "vm")
	settled, _, err := m.Observe(m.ctx, Sub, row.Key, row.Generation, inventory.Observation{})
	m.ok(err)
	equal(m.bench, settled, true)
}

func testMoveOfStrays(t *testing.T, database Database) {
	m := newMover(t, database, otherSub)
	m.live("rg", "vm")
	seen := m.discovery("rg", "vm")
	seen.Region = "eastus"
	m.adopts(seen, inventory.Strayed)
	j := m.started("vm")
	call := m.call("vm")
	m.ok(m.Moves.BeginCall(m.ctx, &j, call, `{}`))
	astray := []inventory.MoveResource{{Key: arm.Fold(id("rg", "vm")), Region: "eastus", Stray: true}}
	call.Members = astray
	m.ok(m.Moves.BeginCall(m.ctx, &j, call, `{}`))
	m.settles(&j, inventory.MoveResult{Moved: astray})
	m.settles(&j, inventory.MoveResult{Moved: members("vm")})
	m.ok(m.Moves.End(m.ctx, j, m.from, m.to, jobrow.Done, ``, nil))
	none, err := m.Strays.List(m.ctx, Sub, "")
	m.ok(err)
	equal(m.bench, len(none), 0)
	strays, err := m.Strays.List(m.ctx, otherSub, "target")
	m.ok(err)
	equal(m.bench, len(strays), 1)
	equal(m.bench, strays[0].Key, m.key("vm"))
	equal(m.bench, strays[0].Region, "eastus")
}

// In any overlap of a move and writes, each write is either before the move, which
// waits for it, or refused.
func testMoveAgainstWrites(t *testing.T, database Database) {
	m := newMover(t, database, otherSub)
	m.live("rg", "vm")
	var mu sync.Mutex
	admitted := map[string]inventory.Ticket{}
	var writers sync.WaitGroup
	for n := range 8 {
		writers.Go(func() {
			for i := range 12 {
				w := write(index.Put, "rg", fmt.Sprintf("new-%d-%d", n, i))
				if n%2 == 0 {
					w.Subscription, w.Group = otherSub, "target"
					w.ID = m.key(fmt.Sprintf("new-%d-%d", n, i))
					w.Key = w.ID
				}
				ticket, err := m.Begin(m.ctx, w)
				switch {
				case err == nil:
					mu.Lock()
					admitted[w.Key] = ticket
					mu.Unlock()
				case !errors.As(err, new(*index.GroupStateError)):
					t.Errorf("%v", err)
				}
			}
		})
	}
	_, err := m.Moves.Begin(m.ctx, m.order("vm"))
	m.ok(err)
	_, drained, err := m.Moves.Drained(m.ctx, m.from, m.to)
	m.ok(err)
	writers.Wait()
	equal(m.bench, drained, len(admitted) == 0)
	for _, ticket := range admitted {
		m.settle(ticket, index.NotSent)
	}
	_, drained, err = m.Moves.Drained(m.ctx, m.from, m.to)
	m.ok(err)
	equal(m.bench, drained, true)
	left, err := m.Resources(m.ctx, inventory.ResourceQuery{Subscription: otherSub})
	m.ok(err)
	equal(m.bench, len(left), 0)
}
