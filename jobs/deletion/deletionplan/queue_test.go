package deletionplan

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"portico/inventory"
)

var testLimits = Limits{PerEndpoint: 4, PerJob: 8, Budget: 15 * time.Minute, Pause: 100 * time.Millisecond, Longest: time.Minute}

// drawThings draws resources with dependencies of any form, circles too, and
// with faults of any kind.
func drawThings(t *rapid.T) []*thing {
	n := rapid.IntRange(1, 14).Draw(t, "n")
	things := make([]*thing, n)
	for i := range things {
		th := &thing{
			key:      fmt.Sprintf("r%02d", i),
			Type:     rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "type"),
			endpoint: rapid.SampledFrom([]string{"east", "west"}).Draw(t, "endpoint"),
			never:    rapid.IntRange(0, 9).Draw(t, "never") == 0,
			refuses:  rapid.Bool().Draw(t, "refuses"),
			back:     rapid.IntRange(0, 9).Draw(t, "back") == 0,
		}
		switch rapid.IntRange(0, 5).Draw(t, "fault") {
		case 0:
			th.async = time.Duration(rapid.IntRange(1, 3000).Draw(t, "async")) * time.Millisecond
		case 1:
			th.transient = rapid.IntRange(1, 3).Draw(t, "transient")
		case 2:
			th.unreachable = rapid.IntRange(1, 5).Draw(t, "silent")
		}
		switch rapid.IntRange(0, 7).Draw(t, "own") {
		case 0, 1:
			th.writes = time.Duration(rapid.IntRange(1, 5000).Draw(t, "writes")) * time.Millisecond
			th.vanishes, th.back = rapid.Bool().Draw(t, "vanishes"), false
		case 2:
			th.deletes = time.Duration(rapid.IntRange(1, 5000).Draw(t, "deletes")) * time.Millisecond
		}
		if th.writes+th.deletes > 0 && !th.vanishes {
			th.begins, th.back = time.Duration(rapid.SampledFrom([]int{0, 50, 120, 500}).Draw(t, "begins"))*time.Millisecond, false
		}
		if i > 0 && rapid.IntRange(0, 3).Draw(t, "nested") == 0 {
			th.parent = things[rapid.IntRange(0, i-1).Draw(t, "parent")].key
			th.back = false
		}
		things[i] = th
	}
	for i, th := range things {
		for range rapid.IntRange(0, 2).Draw(t, "edges") {
			if need := rapid.IntRange(0, n-1).Draw(t, "need"); need != i {
				th.needs = append(th.needs, need)
			}
		}
		if rapid.IntRange(0, 5).Draw(t, "awaits") == 0 {
			th.awaits = append(th.awaits, rapid.IntRange(0, n-1).Draw(t, "awaited"))
		}
	}
	for _, th := range things { // what comes back comes alone
		for _, other := range things {
			th.back = th.back && other.parent != th.key
		}
	}
	return things
}

// Whatever the dependencies and faults, and whenever its runner is killed, a
// deletion ends, and it ends right: with nothing left, or with exactly what
// cannot be deleted.
func TestDeletionEndsRight(t *testing.T) {
	for range 10 { // that many times the package's usual number of draws
		rapid.Check(t, endsRight)
	}
}

func endsRight(t *rapid.T) {
	things := drawThings(t)
	w := newWorld(rapid.Uint64().Draw(t, "seed"), naming(rapid.IntRange(0, 2).Draw(t, "naming")), things)
	want := w.mustStay()
	var order []inventory.TypeOrder
	for range rapid.IntRange(0, 3).Draw(t, "hints") {
		order = append(order, inventory.TypeOrder{
			Before: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "before"), After: rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "after"),
		})
	}
	kill := rapid.SampledFrom([]int{0, 3, 10, 40}).Draw(t, "kill")
	came, err := w.run(testLimits, order, kill)
	if err != nil {
		t.Fatal(err)
	}
	var there []string
	for _, th := range things {
		if th.there && (!th.came || came.end == EndEmpty) {
			there = append(there, th.key)
		}
		if th.there && !th.came && w.rows[th.key] == nil {
			t.Fatalf("%s was forgotten", th.key)
		}
	}
	if !slices.Equal(there, want) {
		t.Fatalf("left %v, want %v", there, want)
	}
	if (came.end == EndEmpty) != (len(want) == 0) {
		t.Fatalf("it ended as %d with %v left", came.end, there)
	}
}

// An accepted delete that fails is no success: the resource is tried again in
// the next pass, and named when there is none.
func TestDeletionParksWhatFailed(t *testing.T) {
	things := []*thing{
		{key: "failing", Type: "a", endpoint: "e", async: time.Second, fails: 1},
		{key: "slow", Type: "a", endpoint: "e", async: 3 * time.Second},
	}
	w := newWorld(1, namesNone, things)
	came, err := w.run(testLimits, nil, 0)
	if err != nil || came.end != EndEmpty || came.plan.pass != 2 || came.calls != 3 {
		t.Errorf("%+v %v", came, err)
	}
	w = newWorld(1, namesNone, []*thing{{key: "failing", Type: "a", endpoint: "e", async: time.Second, fails: 1}})
	came, err = w.run(testLimits, nil, 0)
	if err != nil || came.end != EndBlocked || came.calls != 1 {
		t.Errorf("%+v %v", came, err)
	}
}

// While a resource waits for its region, lack of progress ends nothing; what
// fails for too long by its provider's own word is parked.
func TestDeletionWaitsForRegionsAlone(t *testing.T) {
	w := newWorld(1, namesNone, []*thing{
		{key: "a", Type: "a", endpoint: "dead", unreachable: 60},
		{key: "b", Type: "b", endpoint: "e", never: true},
	})
	came, err := w.run(testLimits, nil, 0)
	if err != nil || came.end != EndBlocked || len(came.plan.Resources) != 1 || came.took < 30*time.Minute || came.calls != 60+1+1+1 {
		t.Errorf("%+v %v", came, err)
	}
	w = newWorld(1, namesNone, []*thing{{key: "a", Type: "a", endpoint: "e", transient: 1 << 20}})
	came, err = w.run(testLimits, nil, 0)
	if err != nil || came.end != EndBlocked || came.took > 16*time.Minute || came.took < 13*time.Minute {
		t.Errorf("%+v %v", came, err)
	}
}

// A deletion waits for a region until that answers: also while a call tries it again, and
// for whoever takes the deletion over then.
func TestDeletionWaitsForARegionThatIsTriedAgain(t *testing.T) {
	for outcome, want := range map[Outcome]int{OutcomeUnreachable: 1, OutcomeTransient: 0, OutcomeAccepted: 0, OutcomeRefused: 0} {
		d := New(testLimits, nil)
		d.Add(&Resource{Key: "a", Type: "a", Endpoint: "e", Region: "eastus"})
		now := time.Unix(0, 0)
		d.Next(now)
		if waits := d.Summary().WaitingFor; len(waits) != 0 {
			t.Errorf("before any answer: %q", waits)
		}
		d.OnResult("a", Result{Outcome: OutcomeUnreachable, Why: "Its provider gave no answer."}, now)
		now = now.Add(time.Hour)
		if len(d.Next(now)) != 1 {
			t.Fatal("it is not tried again")
		}
		other := New(testLimits, nil)
		restored := &Resource{Key: "a", Type: "a", Endpoint: "e", Region: "eastus"}
		restored.Restore(d.Resources["a"].Record())
		other.Add(restored)
		for whose, plan := range map[string]*Queue{"its own": d, "that of who takes over": other} {
			if p := plan.Summary(); !slices.Equal(p.WaitingFor, []string{"eastus"}) {
				t.Errorf("%s, while a call tries it: %+v", whose, p)
			}
		}
		if waits := d.Waits(now.Add(time.Hour)); len(waits) != 1 || !strings.Contains(waits[0].Reason, "until the region answers") {
			t.Errorf("while a call tries it: %+v", waits)
		}
		d.OnResult("a", Result{Outcome: outcome}, now)
		if waits := d.Summary().WaitingFor; len(waits) != want {
			t.Errorf("%s: %q", outcome, waits)
		}
	}
}

// A resource that is refused while a write of its own runs is tried again once that has ended,
// also by who takes the deletion over, and while another's deletion goes on. Meanwhile it is
// named, with what it waits for.
func TestDeletionWaitsForOwnWrites(t *testing.T) {
	w := newWorld(1, namesNone, []*thing{{key: "a", Type: "a", endpoint: "e", writes: time.Hour}})
	if came, err := w.run(testLimits, nil, 0); err != nil || came.end != EndEmpty || came.calls != 2 || came.took < time.Hour || came.took > time.Hour+time.Minute {
		t.Errorf("%+v %v", came, err)
	}
	now := time.Unix(0, 0)
	for name, known := range map[string]bool{"known before the call": true, "only since": false} {
		d := New(testLimits, nil)
		d.Add(&Resource{Key: "slow", Type: "a", Endpoint: "e"})
		m := &Resource{Key: "busy", Type: "b", Endpoint: "e"}
		result := Result{Outcome: OutcomeRefused}
		if known {
			m.Busy = "PUT"
		} else {
			result.Busy = "PUT"
		}
		d.Add(m)
		d.Next(now)
		d.OnResult("slow", Result{Outcome: OutcomeAccepted}, now)
		d.OnResult("busy", result, now)
		if waits := d.Waits(now.Add(time.Hour)); len(waits) != 2 || !strings.Contains(waits[1].Reason, "a PUT of it may be under way") {
			t.Errorf("%s: %+v", name, waits)
		}
		later := New(testLimits, nil)
		restored := &Resource{Key: "busy", Type: "b", Endpoint: "e"}
		restored.Restore(m.Record())
		later.Add(restored)
		for whose, plan := range map[string]*Queue{"its own": d, "that of who takes over": later} {
			plan.Observe("busy", RowState{Busy: "PUT"})
			if len(plan.Next(now)) > 0 || plan.End() != EndNone || plan.Busy() != 1 {
				t.Errorf("%s, %s: it does not wait: %v", name, whose, plan.End())
			}
			plan.Observe("busy", RowState{})
			if next := plan.Next(now); len(next) != 1 || next[0].Key != "busy" {
				t.Errorf("%s, %s: it is not tried again: %v", name, whose, next)
			}
			plan.OnResult("busy", Result{Outcome: OutcomeRefused}, now)
			plan.Drop("slow")
		}
		if later.End() != EndBlocked {
			t.Errorf("%s: what is refused after its write is waited for: %v", name, later.End())
		}
	}
}

// A pause that an answer asks for is kept, if the budget allows for it.
func TestDeletionKeepsPauses(t *testing.T) {
	d := New(testLimits, nil)
	d.Add(&Resource{Key: "a", Type: "a", Endpoint: "e"})
	now := time.Unix(0, 0)
	d.Next(now)
	d.OnResult("a", Result{Outcome: OutcomeTransient, After: 5 * time.Minute}, now)
	if len(d.Next(now.Add(4*time.Minute))) != 0 || len(d.Next(now.Add(5*time.Minute))) != 1 {
		t.Error("the pause was not kept")
	}
	d.OnResult("a", Result{Outcome: OutcomeTransient, After: time.Hour}, now.Add(5*time.Minute))
	if d.End() != EndBlocked {
		t.Errorf("%+v", d.Resources["a"])
	}
	d = New(testLimits, nil) // of a refusal that names nothing as well
	d.Add(&Resource{Key: "a", Type: "a", Endpoint: "e"})
	d.Next(now)
	d.OnResult("a", Result{Outcome: OutcomeRefused, After: time.Minute}, now)
	if d.End() != EndNone || len(d.Next(now.Add(59*time.Second))) != 0 || len(d.Next(now.Add(time.Minute))) != 1 {
		t.Errorf("%+v", d.Resources["a"])
	}
}

// What went is remembered beside what came while no one worked on the deletion:
// each further step has what was refused tried anew.
func TestDeletionGoesOnDespiteNewResources(t *testing.T) {
	for name, c := range map[string]struct {
		total, deleted int      // recorded
		came           int      // of the resources
		members        []string // beside the refused one
		now            bool     // it is tried at once: something has gone since it was refused
	}{
		"one came back":              {total: 2, deleted: 1, came: 1, members: []string{"x"}},
		"one came back in secret":    {total: 2, deleted: 1, members: []string{"x"}},
		"one went, another came":     {total: 3, deleted: 1, came: 1, members: []string{"x"}, now: true},
		"nothing came, one went":     {total: 3, deleted: 1, now: true},
		"nothing came, nothing went": {total: 3, deleted: 1, members: []string{"x"}},
	} {
		d := New(testLimits, nil)
		d.Add(&Resource{Key: "refused", Type: "a", Endpoint: "e", State: Parked, Tried: c.deleted})
		for _, key := range c.members {
			d.Add(&Resource{Key: key, Type: "b", Endpoint: "e"})
		}
		d.Resume(c.total, c.deleted, c.came, 1)
		if got := d.Summary(); got.Total-got.Deleted != len(d.Resources) || got.Deleted < c.deleted {
			t.Errorf("%s: %+v", name, got)
		}
		if d.canPass() != c.now {
			t.Errorf("%s: a further pass: %t", name, !c.now)
		}
		now := time.Unix(0, 0)
		for _, key := range c.members {
			d.Next(now)
			d.OnResult(key, Result{Outcome: OutcomeGone}, now)
		}
		if len(c.members) > 0 && (d.End() != EndNone || !d.canPass()) {
			t.Errorf("%s: given up after a step", name)
		}
	}
}

// What a resource waits for is said without a break, also while it is tried once more because
// another one has gone.
func TestWaitForAnOwnWriteIsNamedThroughout(t *testing.T) {
	now := time.Unix(0, 0)
	p := New(testLimits, nil)
	p.Add(&Resource{Key: "other", Type: "a", Endpoint: "e"})
	p.Add(&Resource{Key: "busy", Type: "b", Endpoint: "e"})
	p.Next(now)
	p.OnResult("busy", Result{Outcome: OutcomeRefused, Busy: "PUT"}, now)
	named := func(when string) {
		t.Helper()
		if waits := p.Waits(now.Add(time.Hour)); len(waits) != 1 || !strings.Contains(waits[0].Reason, "a PUT of it may be under way") {
			t.Errorf("%s: %+v", when, waits)
		}
	}
	named("refused")
	p.OnResult("other", Result{Outcome: OutcomeGone}, now)
	if next := p.Next(now); len(next) > 0 || p.Resources["busy"].State != Waiting {
		t.Fatalf("it is not to be tried once more after a pause: %v", next)
	}
	named("before it is tried once more")
	if at, waits := p.Wake(); waits {
		now = at
	}
	if next := p.Next(now); len(next) != 1 {
		t.Fatalf("it is not tried once more: %v", next)
	}
	named("while it is tried once more")
	p.OnResult("busy", Result{Outcome: OutcomeRefused}, now)
	named("refused again")
}
