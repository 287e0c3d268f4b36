package storetest

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"portico/arm"
	"portico/inventory"
	"portico/inventory/index"
	"portico/inventory/jobrow"
)

const computeNamespace = "contoso.compute"

// endpoints are those that may need notifications: two of a provider that registers
// automatically, and two of one that does not.
var endpoints = []inventory.NotificationTarget{
	{Namespace: "auto", Region: "westus", Address: "http://a1"},
	{Namespace: "auto", Region: "eastus", Address: "http://a2"},
	{Namespace: computeNamespace, Region: "westus", Address: "http://c1", Required: true},
	{Namespace: computeNamespace, Region: "eastus", Address: "http://c2", Required: true},
}

// compute is a change of the registration that requires one.
var compute = inventory.RegistrationChange{Subscription: Sub, Namespace: computeNamespace, Targets: endpoints[2:]}

// notices claims and ends the due notices, and returns their targets.
func (b *bench) notices() string {
	b.Helper()
	jobs, subjects := b.claim("notifier", 100, inventory.NoticeJob)
	sub, err := b.Subscription(b.ctx, Sub)
	b.ok(err)
	for _, j := range jobs {
		n, err := inventory.ReadNotice(j)
		b.ok(err)
		equal(b, j.Region, n.Region)
		b.ok(b.Notices.End(b.ctx, j, sub.Version, ""))
	}
	return strings.ReplaceAll(strings.ReplaceAll(subjects, " http://", "@"), "us@", "@")
}

func (b *bench) put(s inventory.Subscription) inventory.Subscription {
	b.Helper()
	s.ID, s.TenantID = Sub, "t"
	stored, _, err := b.PutSubscription(b.ctx, s, endpoints...)
	b.ok(err)
	return stored
}

func testNotices(t *testing.T, database Database) {
	const auto, all = "auto east@a2 auto west@a1", "auto east@a2 auto west@a1 contoso.compute east@c2 contoso.compute west@c1"
	b := newBench(t, database)
	b.put(inventory.Subscription{OfferID: "free"})
	equal(b, b.notices(), auto)
	b.put(inventory.Subscription{OfferID: "free", DisplayName: "nobody's business"})
	equal(b, b.notices(), "")
	_, err := b.Register(b.ctx, compute)
	b.ok(err)
	equal(b, b.notices(), "contoso.compute east@c2 contoso.compute west@c1")
	_, err = b.Register(b.ctx, compute)
	b.ok(err)
	equal(b, b.notices(), "")
	b.put(inventory.Subscription{State: inventory.Warned})
	equal(b, b.notices(), all)
	b.put(inventory.Subscription{})
	equal(b, b.notices(), all)
	_, err = b.Unregister(b.ctx, compute)
	b.ok(err)
	equal(b, b.notices(), "contoso.compute east@c2 contoso.compute west@c1")
	_, err = b.SettleRegistration(b.ctx, Sub, computeNamespace, nil)
	b.ok(err)
	b.put(inventory.Subscription{Features: []string{"auto/beta", "Auto/BETA", "auto/alpha"}})
	equal(b, b.notices(), auto)
	got, err := b.Subscription(b.ctx, Sub)
	b.ok(err)
	equal(b, strings.Join(got.Features, " "), "auto/alpha auto/beta")
	for i, on := range []bool{true, false, false, true} {
		got, err = b.SetFeature(b.ctx, Sub, "AUTO/beta", on, endpoints[:2])
		b.ok(err)
		equal(b, got.HasFeature("auto/Beta"), on)
		equal(b, b.notices(), map[int]string{1: auto, 3: auto}[i])
	}
	// A new endpoint is notified automatically, once, unless its provider requires
	// registration.
	joined := append([]inventory.NotificationTarget{
		{Namespace: "auto", Region: "northeurope", Address: "http://a3"},
		{Namespace: computeNamespace, Region: "northeurope", Address: "http://c3", Required: true},
	}, endpoints...)
	for _, want := range []string{"auto northeurope@a3", ""} {
		b.ok(b.Notices.NotifyNewTargets(b.ctx, Sub, joined))
		equal(b, b.notices(), want)
	}
	// Another replica's map may have endpoints that this one lacks.
	b.put(inventory.Subscription{State: inventory.Disabled})
	equal(b, b.notices(), "auto east@a2 auto northeurope@a3 auto west@a1")
}

func testNoticesMeanwhile(t *testing.T, database Database) {
	b := newBench(t, database)
	first := b.put(inventory.Subscription{OfferID: "free"})
	jobs, _ := b.claim("notifier", 1, inventory.NoticeJob)
	second := b.put(inventory.Subscription{OfferID: "paid"})
	b.is(b.Notices.End(b.ctx, jobs[0], first.Version, ""), inventory.ErrChanged)
	b.ok(b.Notices.End(b.ctx, jobs[0], second.Version, ""))
	b.is(b.Notices.End(b.ctx, jobs[0], second.Version, ""), jobrow.ErrLeaseLost)
	n, err := b.Notices.CountOpen(b.ctx, Sub, "")
	b.ok(err)
	equal(b, n, 1)
	// A change makes a waiting notice due earlier.
	jobs, _ = b.claim("notifier", 1, inventory.NoticeJob)
	b.ok(b.Jobs.Defer(b.ctx, jobs[0], b.clock.Now().Add(time.Hour), ""))
	equal(b, b.notices(), "")
	b.put(inventory.Subscription{OfferID: "free"})
	n, err = b.Notices.CountOpen(b.ctx, Sub, "AUTO")
	b.ok(err)
	equal(b, n, 2)
	equal(b, b.notices(), "auto east@a2 auto west@a1")
	// An endpoint that has left is not notified again.
	b.put(inventory.Subscription{OfferID: "paid"})
	jobs, _ = b.claim("notifier", 1, inventory.NoticeJob)
	gone, err := inventory.ReadNotice(jobs[0])
	b.ok(err)
	b.ok(b.Notices.Drop(b.ctx, jobs[0], gone))
	equal(b, strings.Count(b.notices(), "@"), 1)
	_, _, err = b.PutSubscription(b.ctx, inventory.Subscription{ID: Sub, TenantID: "t", OfferID: "none"})
	b.ok(err)
	equal(b, strings.Count(b.notices(), "@"), 1)
}

func testRegistrationGuards(t *testing.T, database Database) {
	b := newBench(t, database)
	b.group("rg")
	w := write(index.Put, "rg", "vm")
	w.Namespace = "Contoso.Compute"
	begin := func(admitted bool, want inventory.RegistrationState) {
		t.Helper()
		ticket, err := b.Begin(b.ctx, w)
		if admitted {
			b.ok(err)
			b.settle(ticket, index.NotSent)
			return
		}
		equal(b, as[*inventory.RegistrationStateError](b, err).State, want)
	}
	settle := func(want inventory.RegistrationState) {
		t.Helper()
		r, err := b.SettleRegistration(b.ctx, Sub, computeNamespace, nil)
		b.ok(err)
		equal(b, r.State, want)
	}
	begin(false, inventory.NotRegistered)
	settle(inventory.NotRegistered)
	// What was never registered is unregistered at once. The endpoints, which know
	// nothing of it, are not notified.
	before, err := b.Subscription(b.ctx, Sub)
	b.ok(err)
	for range 2 {
		r, err := b.Unregister(b.ctx, compute)
		b.ok(err)
		equal(b, r.State, inventory.Unregistered)
		r, err = b.Registration(b.ctx, Sub, computeNamespace)
		b.ok(err)
		equal(b, r.State, inventory.Unregistered)
	}
	open, err := b.Notices.CountOpen(b.ctx, Sub, arm.Fold(computeNamespace))
	b.ok(err)
	equal(b, open, 0)
	after, err := b.Subscription(b.ctx, Sub)
	b.ok(err)
	equal(b, after.Version, before.Version)
	begin(false, inventory.Unregistered)
	settle(inventory.Unregistered)
	_, err = b.Register(b.ctx, compute)
	b.ok(err)
	begin(true, 0)
	settle(inventory.Registered)
	ticket, err := b.Begin(b.ctx, w)
	b.ok(err)
	_, err = b.Unregister(b.ctx, compute)
	b.is(err, inventory.ErrNamespaceInUse)
	b.settle(ticket, index.Succeeded)
	_, err = b.Unregister(b.ctx, compute)
	b.is(err, inventory.ErrNamespaceInUse)
	b.settle(b.begin(write(index.Delete, "rg", "vm")), index.Gone)
	_, err = b.Unregister(b.ctx, compute)
	b.ok(err)
	begin(false, inventory.Unregistering)
	settle(inventory.Unregistered)
	begin(false, inventory.Unregistered)
	// Registering again registers for a region that joined.
	_, err = b.Register(b.ctx, compute)
	b.ok(err)
	settle(inventory.Registered)
	wider := compute
	wider.Targets = append([]inventory.NotificationTarget{{Namespace: computeNamespace, Region: "northeurope", Address: "http://c3", Required: true}},
		compute.Targets...)
	for _, want := range []inventory.RegistrationState{inventory.Registering, inventory.Registered} {
		r, err := b.Register(b.ctx, wider)
		b.ok(err)
		equal(b, r.State, want)
		equal(b, r.Covers("northeurope"), true)
		equal(b, r.Covers("mars"), false)
		settle(inventory.Registered)
	}
	changes := []func() error{
		func() error { _, err := b.Register(b.ctx, compute); return err },
		func() error { _, err := b.Unregister(b.ctx, compute); return err },
		func() error { _, err := b.SetFeature(b.ctx, Sub, "a/b", true, nil); return err },
	}
	b.enter(inventory.Warned)
	for _, change := range changes {
		refuses[*inventory.SubscriptionStateError](b, change())
	}
	b.enter(inventory.Deleted)
	for _, change := range changes {
		b.is(change(), inventory.ErrSubscriptionNotFound)
	}
}

func testErasing(t *testing.T, database Database) {
	b := newBench(t, database)
	for _, name := range []string{"rg", "other"} {
		b.group(name)
		b.live(name, "vm")
	}
	_, err := b.Register(b.ctx, compute)
	b.ok(err)
	_, _, err = b.Locks.Edit(b.ctx, Sub, "rg", id("rg", "vm"), "l", func(*inventory.Lock) (*inventory.Lock, error) {
		return &inventory.Lock{Name: "l", Level: inventory.LockCanNotDelete}, nil
	})
	b.ok(err)
	b.notices()
	open := b.begin(write(index.Put, "rg", "late"))
	b.put(inventory.Subscription{State: inventory.Deleted})

	recreated := inventory.Subscription{ID: Sub, TenantID: "t2", Covered: true}
	_, _, err = b.PutSubscription(b.ctx, recreated, endpoints...)
	b.is(err, inventory.ErrErasing)
	step := func() inventory.Erasure {
		t.Helper()
		jobs, _ := b.claim("eraser", 1, inventory.EraseJob)
		if len(jobs) != 1 {
			t.Fatalf("%d jobs erase", len(jobs))
		}
		e, err := b.EraseSubscription(b.ctx, jobs[0], "")
		b.ok(err)
		if !e.Done {
			b.ok(b.Jobs.Defer(b.ctx, jobs[0], b.clock.Now(), ""))
		}
		return e
	}
	equal(b, step(), inventory.Erasure{Notices: 4})
	// A caller that has found the last one and is about to wait must not miss it.
	held, _ := b.claim("eraser", 1, inventory.EraseJob)
	equal(b, strings.Count(b.notices(), "@"), 4)
	b.is(b.Jobs.Defer(b.ctx, held[0], b.clock.Now().Add(time.Hour), ""), jobrow.ErrLeaseLost)
	equal(b, step(), inventory.Erasure{Intents: 1})
	b.settle(open, index.NotSent)
	// A write open at their confirmation could have landed since: all are notified again.
	equal(b, step(), inventory.Erasure{Notices: 4})
	equal(b, strings.Count(b.notices(), "@"), 4)
	equal(b, step(), inventory.Erasure{More: true})
	equal(b, step(), inventory.Erasure{More: true})
	_, _, err = b.PutSubscription(b.ctx, recreated, endpoints...)
	b.is(err, inventory.ErrErasing)
	equal(b, step(), inventory.Erasure{Done: true})

	stored, created, err := b.PutSubscription(b.ctx, recreated, endpoints...)
	b.ok(err)
	equal(b, fmt.Sprintf("%v %s %s %v", created, stored.State, stored.TenantID, stored.Covered), "true Enabled t2 true")
	equal(b, b.notices(), "auto east@a2 auto west@a1")
	_, err = b.Group(b.ctx, Sub, "rg")
	b.is(err, inventory.ErrNotFound)
	_, err = b.Resource(b.ctx, Sub, id("rg", "vm"))
	b.is(err, inventory.ErrNotFound)
	r, err := b.Registration(b.ctx, Sub, computeNamespace)
	b.ok(err)
	equal(b, r.State, inventory.NotRegistered)
	b.group("rg")
	b.live("rg", "vm")
	unmoved(b)
}

// testAbsentEndpoints: an endpoint that the region map lacked at a subscription's
// deletion is notified once the map has it again, however late and at whatever address;
// only then can the subscription be recreated.
func testAbsentEndpoints(t *testing.T, database Database) {
	b := newBench(t, database)
	b.put(inventory.Subscription{OfferID: "free"})
	b.group("rg")
	b.live("rg", "vm") // in westus, of a provider that was never notified
	b.notices()
	deleted := inventory.Subscription{ID: Sub, TenantID: "t", State: inventory.Deleted}
	_, _, err := b.PutSubscription(b.ctx, deleted, endpoints[0])
	b.ok(err)
	erase := func() {
		t.Helper()
		jobs, _ := b.claim("eraser", 1, inventory.EraseJob)
		for {
			e, err := b.EraseSubscription(b.ctx, jobs[0], "")
			b.ok(err)
			if e.Done || e.Notices > 0 {
				break
			}
		}
		_ = b.Jobs.Defer(b.ctx, jobs[0], b.clock.Now(), "") // it may have ended
	}
	jobs, subjects := b.claim("notifier", 100, inventory.NoticeJob)
	equal(b, subjects, "auto eastus http://a2 auto westus http://a1")
	sub, err := b.Subscription(b.ctx, Sub)
	b.ok(err)
	for _, j := range jobs {
		n, err := inventory.ReadNotice(j)
		b.ok(err)
		if n.Region == "eastus" {
			b.ok(b.Notices.Drop(b.ctx, j, n))
			continue
		}
		b.ok(b.Notices.End(b.ctx, j, sub.Version, ""))
	}
	erase()
	equal(b, b.notices(), "auto west@a1")
	erase()
	sub, err = b.Subscription(b.ctx, Sub)
	b.ok(err)
	equal(b, sub.Erased, true)
	regions, err := b.Notices.UnnotifiedRegions(b.ctx, Sub)
	b.ok(err)
	equal(b, strings.Join(regions, " "), "eastus westus")

	recreated := inventory.Subscription{ID: Sub, TenantID: "t2"}
	refused := func(regions string) {
		t.Helper()
		_, _, err := b.PutSubscription(b.ctx, recreated, endpoints...)
		b.is(err, inventory.ErrErasing)
		if regions != "" {
			equal(b, strings.Join(as[*inventory.UnnotifiedRegionsError](b, err).Regions, " "), regions)
		}
	}
	notify := func(want int, back ...inventory.NotificationTarget) {
		t.Helper()
		notified, err := b.Notices.NotifyReturned(b.ctx, back, 10)
		b.ok(err)
		equal(b, notified, want)
	}
	refused("eastus westus")
	notify(0)
	notify(0, endpoints[0])
	notify(1, endpoints[2], inventory.NotificationTarget{Namespace: "auto", Region: "mars", Address: "http://a9"})
	refused("")
	equal(b, b.notices(), computeNamespace+" west@c1")
	refused("eastus")
	moved := inventory.NotificationTarget{Namespace: "auto", Region: "eastus", Address: "http://elsewhere"}
	notify(1, moved)
	notify(0, moved)
	equal(b, b.notices(), "auto east@elsewhere")
	_, created, err := b.PutSubscription(b.ctx, recreated, endpoints...)
	b.ok(err)
	equal(b, created, true)

	// An existing subscription's endpoints get the newest version, and later ones.
	b.notices()
	b.put(inventory.Subscription{State: inventory.Warned})
	jobs, _ = b.claim("notifier", 1, inventory.NoticeJob)
	n, err := inventory.ReadNotice(jobs[0])
	b.ok(err)
	b.ok(b.Notices.Drop(b.ctx, jobs[0], n))
	b.notices()
	notify(1, endpoints[:2]...)
	equal(b, strings.Count(b.notices(), n.Address[len("http://"):]), 1)
	b.put(inventory.Subscription{})
	equal(b, b.notices(), "auto east@a2 auto west@a1")
}

// testUnregisterAgainstCreate is the race of a registration's end: the intent reads
// Registered, the end finds no resource, and a resource exists in a namespace that
// accepts no writes.
func testUnregisterAgainstCreate(t *testing.T, database Database) {
	pair := newPair(t, database)
	var won [2]int
	for i := range 100 {
		name := fmt.Sprint("rg", i%3)
		if i < 3 {
			pair[0].group(name)
		}
		vm := fmt.Sprint("vm", i)
		_, err := pair[0].Register(pair[0].ctx, compute)
		pair[0].ok(err)
		begins, ends := pair[i%2], pair[1-i%2]
		w := write(index.Put, name, vm)
		w.Namespace = computeNamespace
		lead := time.Duration(rand.IntN(2000)-1000) * time.Microsecond
		var ticket inventory.Ticket
		var started, ended error
		var wait sync.WaitGroup
		wait.Go(func() {
			time.Sleep(max(lead, 0))
			if i%4 == 3 { // in a group that is only being created
				w.Group, w.Key, w.ID = "new"+name, id("new"+name, vm), id("new"+name, vm)
				begins.group(w.Group)
			}
			ticket, started = begins.Begin(begins.ctx, w)
		})
		wait.Go(func() {
			time.Sleep(max(-lead, 0))
			_, ended = ends.Unregister(ends.ctx, compute)
		})
		wait.Wait()
		if started == nil {
			won[0]++
			begins.is(ended, inventory.ErrNamespaceInUse)
			begins.settle(ticket, index.NotSent)
			continue
		}
		won[1]++
		refuses[*inventory.RegistrationStateError](begins, started)
		ends.ok(ended)
	}
	if won[0] == 0 || won[1] == 0 {
		t.Errorf("one side always won: %v", won)
	}
}

// testChangeAgainstNotice: in any overlap, an endpoint that does not know the newest
// version has an open job.
func testChangeAgainstNotice(t *testing.T, database Database) {
	pair := newPair(t, database)
	learnt := map[string]int64{} // the last version of each endpoint
	for i := range 60 {
		changes, notifier := pair[i%2], pair[1-i%2]
		var wait sync.WaitGroup
		wait.Go(func() { changes.put(inventory.Subscription{OfferID: fmt.Sprint(i)}) })
		wait.Go(func() {
			jobs, _ := notifier.claim("notifier", 100, inventory.NoticeJob)
			for _, j := range jobs {
				a, err := notifier.Notices.Snapshot(notifier.ctx, Sub, "auto")
				notifier.ok(err)
				learnt[j.Subject] = a.Subscription.Version
				err = notifier.Notices.End(notifier.ctx, j, a.Subscription.Version, "")
				if errors.Is(err, inventory.ErrChanged) {
					err = notifier.Jobs.Defer(notifier.ctx, j, notifier.clock.Now(), "")
				}
				notifier.ok(err)
			}
		})
		wait.Wait()
		sub, err := notifier.Subscription(notifier.ctx, Sub)
		notifier.ok(err)
		behind := 0
		for _, a := range endpoints[:2] {
			if learnt[a.Namespace+" "+a.Region+" "+a.Address] != sub.Version {
				behind++
			}
		}
		open, err := changes.Notices.CountOpen(changes.ctx, Sub, "")
		changes.ok(err)
		if open < behind {
			t.Fatalf("%d endpoints lag behind, %d are to be notified", behind, open)
		}
	}
}
