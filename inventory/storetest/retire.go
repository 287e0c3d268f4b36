package storetest

import (
	"fmt"
	"testing"
	"time"

	"portico/inventory"
	"portico/inventory/index"
	"portico/inventory/jobrow"
	"portico/inventory/polls"
)

// mars is the region that has left.
const mars = "mars"

// onMars is a write in that region.
func onMars(w inventory.Write) inventory.Write {
	w.Region, w.Location = mars, mars
	return w
}

// testRetirement: all records of a region are deleted, and no others; a second time
// there is nothing to do.
func testRetirement(t *testing.T, database Database) {
	b := newBench(t, database)
	b.group("rg")
	for i := range 230 { // several pieces
		b.settle(b.begin(onMars(write(index.Put, "rg", fmt.Sprint("vm", i)))), index.Succeeded)
	}
	for i := range 3 {
		b.settle(b.begin(onMars(disk(index.Put, "rg", "vm0", fmt.Sprint("d", i)))), index.Succeeded)
	}
	b.live("rg", "stays")
	vm0 := id("rg", "vm0")
	_, _, err := b.Locks.Edit(b.ctx, Sub, "rg", vm0, "l", func(*inventory.Lock) (*inventory.Lock, error) {
		return &inventory.Lock{Name: "l", Level: inventory.LockReadOnly}, nil
	})
	b.ok(err)
	followed, err := b.Settle(b.ctx, b.begin(onMars(write(index.Put, "rg", "slow"))), inventory.WriteResult{
		Outcome: index.Accepted, Poll: &inventory.Poll{Path: "/poll"},
	})
	b.ok(err)
	b.ok(b.Operations.Record(b.ctx, polls.Operation{
		Subscription: Sub, Token: "mars", Resource: id("rg", "slow"), Region: mars, Follow: followed.Follow, Until: b.clock.Now().Add(time.Hour),
	}))
	b.ok(b.Operations.Record(b.ctx, polls.Operation{Subscription: Sub, Token: "west", Region: "westus", Until: b.clock.Now().Add(time.Hour)}))
	for _, region := range []string{mars, "westus"} {
		b.ok(b.Coverage.Cover(b.ctx, Sub, vmType, region, b.clock.Now()))
	}
	stray := b.discovery("rg", "stays")
	stray.Region = mars
	b.adopts(stray, inventory.Strayed)
	// A write without a row, and one whose row is in another region.
	b.settle(b.begin(onMars(write(index.Delete, "rg", "unknown"))), index.Ambiguous)
	b.settle(b.begin(onMars(write(index.Delete, "rg", "elsewhere"))), index.Ambiguous)
	b.live("rg", "elsewhere")
	before := b.row("rg", "elsewhere")
	b.begin(onMars(write(index.Put, "rg", "vm7")))
	west := b.begin(write(index.Put, "rg", "other"))

	// A write in progress may belong to a replica whose map has the region.
	_, err = b.RetireRegion(b.ctx, mars)
	if until := as[*inventory.CallsUnderWayError](b, err).Until; !until.After(b.clock.Now()) {
		b.Fatalf("calls are under way until %v", until)
	}
	want := inventory.Retirement{Rows: 234, Intents: 3, WrittenRegions: 2, Coverage: 1, Strays: 1, Operations: 1}
	retirement := func(r inventory.Retirement, err error) inventory.Retirement {
		t.Helper()
		b.ok(err)
		return r
	}
	check := func(got, want inventory.Retirement) {
		t.Helper()
		equal(b, fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want))
	}
	check(retirement(b.Retirement(b.ctx, mars)), want)
	b.clock.Pass(71 * time.Second)
	b.ok(b.Locks.Delete(b.ctx, Sub, "rg", vm0, "l", func(inventory.Lock) error { return nil }))
	job, err := b.deletion("rg", "token")
	b.ok(err)
	held := b.claimDeletion()
	b.ok(b.Jobs.Defer(b.ctx, held, b.clock.Now().Add(time.Hour), ""))
	want.Groups, want.Waiting = 1, []inventory.GroupName{{Subscription: Sub, Name: "rg"}}
	check(retirement(b.Retirement(b.ctx, mars)), want)
	check(retirement(b.RetireRegion(b.ctx, mars)), want)

	rows, err := b.Resources(b.ctx, inventory.ResourceQuery{Subscription: Sub})
	b.ok(err)
	for _, row := range rows {
		if row.Region == mars {
			b.Errorf("%s is left", row.Key)
		}
	}
	equal(b, len(rows), 3)
	if after := b.row("rg", "elsewhere"); after.Generation == before.Generation {
		b.Error("what was said of a row while a write could hit it still counts")
	}
	b.settle(west, index.Succeeded)
	off, err := b.Recount(b.ctx, Sub, false)
	b.ok(err)
	equal(b, len(off), 0)
	strays, err := b.Strays.List(b.ctx, Sub, "")
	b.ok(err)
	equal(b, len(strays), 0)
	_, err = b.Operations.Operation(b.ctx, Sub, "mars")
	b.is(err, inventory.ErrNotFound)
	_, err = b.Operations.Operation(b.ctx, Sub, "west")
	b.ok(err)
	g, err := b.Group(b.ctx, Sub, "rg")
	b.ok(err)
	touched, err := b.WrittenRegions(b.ctx, g)
	b.ok(err)
	equal(b, fmt.Sprint(touched), "[{"+vmType+" westus}]")
	uncovered, err := b.Coverage.Uncovered(b.ctx, otherSub, vmType, []string{mars})
	b.ok(err)
	equal(b, len(uncovered), 1)
	if again, err := b.Jobs.Get(b.ctx, Sub, job.ID); err != nil || again.Due.After(b.clock.Now()) {
		b.Errorf("the delete of the group is due at %v, %v", again.Due, err)
	}
	jobs, subjects := b.claim("worker", 100, inventory.FollowJob, inventory.VerifyJob)
	for _, j := range jobs {
		if row, err := b.Resource(b.ctx, Sub, j.Subject); err != nil || row.Region == mars {
			b.Errorf("%s is left of %s", j.Kind, subjects)
		}
	}
	check(retirement(b.RetireRegion(b.ctx, mars)), inventory.Retirement{})
	check(retirement(b.Retirement(b.ctx, mars)), inventory.Retirement{})
}

// testRetirementOfNotices: no endpoint in a retired region is notified, and what waited
// for that continues.
func testRetirementOfNotices(t *testing.T, database Database) {
	b := newBench(t, database)
	b.put(inventory.Subscription{OfferID: "free"})
	b.notices()
	b.put(inventory.Subscription{State: inventory.Deleted})
	notices, _ := b.claim("teller", 100, inventory.NoticeJob)
	sub, err := b.Subscription(b.ctx, Sub)
	b.ok(err)
	left := 0
	for _, j := range notices {
		n, err := inventory.ReadNotice(j)
		b.ok(err)
		switch {
		case n.Region != "eastus":
			b.ok(b.Notices.End(b.ctx, j, sub.Version, ""))
		case n.Namespace == "auto":
			b.ok(b.Notices.Drop(b.ctx, j, n))
		default:
			left++
		}
	}
	equal(b, left, 1)
	erase, _ := b.claim("eraser", 1, inventory.EraseJob)
	b.ok(b.Jobs.Defer(b.ctx, erase[0], b.clock.Now().Add(time.Hour), ""))
	for _, want := range []inventory.Retirement{{Notices: 2}, {}} {
		found, err := b.Retirement(b.ctx, "eastus")
		b.ok(err)
		forgotten, err := b.RetireRegion(b.ctx, "eastus")
		b.ok(err)
		equal(b, fmt.Sprintf("%+v %+v", found, forgotten), fmt.Sprintf("%+v %+v", want, want))
	}
	for range 3 {
		erase, _ = b.claim("eraser", 1, inventory.EraseJob)
		if len(erase) != 1 {
			b.Fatal("the erasing does not go on")
		}
		e, err := b.EraseSubscription(b.ctx, erase[0], "")
		b.ok(err)
		if e.Done {
			break
		}
		b.ok(b.Jobs.Defer(b.ctx, erase[0], b.clock.Now(), ""))
		equal(b, b.notices(), "auto west@a1 contoso.compute west@c1")
	}
	_, created, err := b.PutSubscription(b.ctx, inventory.Subscription{ID: Sub, TenantID: "t2"}, endpoints[0])
	b.ok(err)
	equal(b, created, true)
}

// testRetirementDuringMove: calls of a move in progress stay until they end.
func testRetirementDuringMove(t *testing.T, database Database) {
	m := newMover(t, database, otherSub)
	m.live("rg", "vm")
	m.live("rg", "beside")
	j := m.started("vm")
	m.ok(m.Moves.BeginCall(m.ctx, &j, m.call("vm"), `{}`))
	r, err := m.RetireRegion(m.ctx, "westus")
	m.ok(err)
	equal(m.bench, fmt.Sprint(r.Rows, r.Intents, r.Moving), "1 0 2")
	m.settles(&j, inventory.MoveResult{Stayed: members("vm")})
	m.ok(m.Moves.End(m.ctx, j, m.from, m.to, jobrow.Failed, ``, nil))
	r, err = m.RetireRegion(m.ctx, "westus")
	m.ok(err)
	equal(m.bench, fmt.Sprint(r.Rows, r.Moving), "1 0")
}
