package storetest

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"portico/arm"
	"portico/inventory"
	"portico/inventory/index"
	"portico/inventory/jobrow"
)

// unverified lists the unverified rows by short names, page by page.
func (b *bench) unverified(sub string, limit int) (names []string, all map[string]inventory.Unverified) {
	b.Helper()
	all = map[string]inventory.Unverified{}
	for q, pages := (inventory.UnverifiedQuery{Subscription: sub, Limit: limit}), 0; ; pages++ {
		page, err := b.Unverified(b.ctx, q)
		b.ok(err)
		if len(page.Value) > limit || pages > 50 {
			b.Fatalf("%d on a page of %d, the %dth", len(page.Value), limit, pages)
		}
		for _, u := range page.Value {
			name := u.Key[strings.LastIndexByte(u.Key, '/')+1:]
			names, all[name] = append(names, name), u
		}
		if q.After = page.Next; q.After == "" {
			slices.Sort(names)
			return names, all
		}
	}
}

// testUnverified lists resources with open writes, flagged ones and followed ones, each
// once.
func testUnverified(t *testing.T, database Database) {
	b := newBench(t, database)
	b.group("rg")
	b.ok(b.SeedSubscriptions(b.ctx, []inventory.Subscription{{ID: otherSub, TenantID: "t"}}))
	_, _, err := b.EditGroup(b.ctx, otherSub, "there", func(*inventory.Group) (*inventory.Group, error) {
		return &inventory.Group{Name: "there", Location: "westus"}, nil
	})
	b.ok(err)
	for _, name := range []string{"sure", "broken", "twice", "followed", "both", "flagged"} {
		b.live("rg", name)
	}
	started := b.clock.Now()
	b.settle(b.begin(write(index.Put, "rg", "broken")), index.Ambiguous)
	b.settle(b.begin(write(index.Delete, "rg", "nothing")), index.Ambiguous)
	b.clock.Pass(time.Second)
	b.settle(b.begin(write(index.Put, "rg", "twice")), index.Ambiguous)
	b.begin(write(index.Delete, "rg", "twice"))
	b.settle(b.begin(write(index.Put, "rg", "followed")), index.Accepted)
	b.settle(b.begin(write(index.Put, "rg", "both")), index.Accepted)
	b.settle(b.begin(write(index.Delete, "rg", "both")), index.Accepted)
	b.ok(b.RequestVerify(b.ctx, Sub, id("rg", "both")))
	b.ok(b.RequestVerify(b.ctx, Sub, id("rg", "flagged")))
	there := write(index.Put, "there", "elsewhere")
	there.Subscription, there.ID = otherSub, strings.Replace(there.ID, Sub, otherSub, 1)
	there.Key = there.ID
	b.settle(b.begin(there), index.Ambiguous)

	here := []string{"both", "broken", "flagged", "followed", "nothing", "twice"}
	everywhere := append([]string{"both", "broken", "elsewhere"}, here[2:]...)
	for _, limit := range []int{1, 2, 3, 4, 100} {
		for sub, want := range map[string][]string{"": everywhere, Sub: here, otherSub: {"elsewhere"}, "none": nil} {
			if got, _ := b.unverified(sub, limit); !slices.Equal(got, want) {
				t.Errorf("of %q, %d on a page: %v, want %v", sub, limit, got, want)
			}
		}
	}
	_, all := b.unverified(strings.ToUpper(Sub), 100)
	broken := all["broken"]
	if len(broken.Writes) != 1 || broken.Row == nil || !broken.Row.Verify || len(broken.Jobs) != 1 || broken.Jobs[0].Kind != inventory.VerifyJob {
		t.Errorf("%+v", broken)
	}
	equal(b, broken.Writes[0], inventory.OpenWrite{
		Key:  broken.Key,
		Kind: index.Put, Region: "westus", Started: started, NotAfter: started.Add(callLife), CallEnded: true, Ends: started.Add(intentLife),
	})
	if u := all["nothing"]; u.Row != nil || len(u.Writes) != 1 || u.Writes[0].Kind != index.Delete || len(u.Jobs) != 0 {
		t.Errorf("%+v", u)
	}
	if u := all["twice"]; len(u.Writes) != 2 || u.Writes[0].CallEnded == u.Writes[1].CallEnded {
		t.Errorf("%+v", u)
	}
	if u := all["both"]; len(u.Writes) != 0 || len(u.Jobs) != 3 {
		t.Errorf("%+v", u)
	}
	for _, wrong := range []string{"x", "/", "/subscriptions", "/subscriptions/", "/x/" + Sub + "/y", "-.12"} {
		_, err := b.Unverified(b.ctx, inventory.UnverifiedQuery{After: wrong, Limit: 1})
		b.is(err, inventory.ErrInvalidCursor)
	}

	b.clock.Pass(intentLife)
	_, err = b.Expire(b.ctx, 100)
	b.ok(err)
	_, all = b.unverified("", 100)
	if _, still := all["nothing"]; still || len(all["broken"].Writes) != 0 || !all["broken"].Row.Verify {
		t.Errorf("%+v", all)
	}
	observed, _, err := b.Observe(b.ctx, Sub, id("rg", "broken"), all["broken"].Row.Generation, inventory.Observation{Found: true})
	b.ok(err)
	equal(b, observed, true)
	if names, _ := b.unverified("", 1); slices.Contains(names, "broken") || !slices.Contains(names, "flagged") {
		t.Errorf("%v", names)
	}
	testUnverifiedAmongJobs(b)
}

// testUnverifiedAmongJobs creates more jobs of other kinds than one page scans.
func testUnverifiedAmongJobs(b *bench) {
	want, _ := b.unverified("", 100)
	var adding sync.WaitGroup
	for worker := range 16 {
		adding.Go(func() {
			for i := range 80 {
				j := jobrow.Job{Subscription: arm.Fold(Sub), Kind: "survey", Subject: fmt.Sprint(worker, " ", i), Payload: "{}"}
				if _, err := b.Jobs.Add(b.ctx, j); err != nil {
					b.Error(err)
				}
			}
		})
	}
	adding.Wait()
	for _, limit := range []int{1, 100} {
		if got, _ := b.unverified("", limit); !slices.Equal(got, want) {
			b.Errorf("%d on a page: %v, want %v", limit, got, want)
		}
	}
	page, err := b.Unverified(b.ctx, inventory.UnverifiedQuery{Subscription: Sub, After: (&jobrow.Job{Subscription: Sub}).Name(), Limit: 100})
	b.ok(err)
	equal(b, page.Next != "", true) // it did not scan all of them
}
