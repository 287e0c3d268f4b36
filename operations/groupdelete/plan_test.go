package groupdelete

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

var testLimits = planLimits{perEndpoint: 4, perJob: 8, budget: 15 * time.Minute, pause: 100 * time.Millisecond, longest: time.Minute}

// drawThings draws resources with dependencies of any form, circles too, and
// with faults of any kind.
func drawThings(t *rapid.T) []*thing {
	n := rapid.IntRange(1, 14).Draw(t, "n")
	things := make([]*thing, n)
	for i := range things {
		th := &thing{
			key:      fmt.Sprintf("r%02d", i),
			typ:      rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "type"),
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
	var order []typeOrder
	for range rapid.IntRange(0, 3).Draw(t, "hints") {
		order = append(order, typeOrder{
			rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "before"), rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "after"),
		})
	}
	kill := rapid.SampledFrom([]int{0, 3, 10, 40}).Draw(t, "kill")
	came, err := w.run(testLimits, order, kill)
	if err != nil {
		t.Fatal(err)
	}
	var there []string
	for _, th := range things {
		if th.there && (!th.came || came.end == endEmpty) {
			there = append(there, th.key)
		}
		if th.there && !th.came && w.rows[th.key] == nil {
			t.Fatalf("%s was forgotten", th.key)
		}
	}
	if !slices.Equal(there, want) {
		t.Fatalf("left %v, want %v", there, want)
	}
	if (came.end == endEmpty) != (len(want) == 0) {
		t.Fatalf("it ended as %d with %v left", came.end, there)
	}
}

// An accepted delete that fails is no success: the resource is tried again in
// the next pass, and named when there is none.
func TestDeletionParksWhatFailed(t *testing.T) {
	things := []*thing{
		{key: "failing", typ: "a", endpoint: "e", async: time.Second, fails: 1},
		{key: "slow", typ: "a", endpoint: "e", async: 3 * time.Second},
	}
	w := newWorld(1, namesNone, things)
	came, err := w.run(testLimits, nil, 0)
	if err != nil || came.end != endEmpty || came.plan.pass != 2 || came.calls != 3 {
		t.Errorf("%+v %v", came, err)
	}
	w = newWorld(1, namesNone, []*thing{{key: "failing", typ: "a", endpoint: "e", async: time.Second, fails: 1}})
	came, err = w.run(testLimits, nil, 0)
	if err != nil || came.end != endBlocked || came.calls != 1 {
		t.Errorf("%+v %v", came, err)
	}
}

// While a resource waits for its region, lack of progress ends nothing; what
// fails for too long by its provider's own word is parked.
func TestDeletionWaitsForRegionsAlone(t *testing.T) {
	w := newWorld(1, namesNone, []*thing{
		{key: "a", typ: "a", endpoint: "dead", unreachable: 60},
		{key: "b", typ: "b", endpoint: "e", never: true},
	})
	came, err := w.run(testLimits, nil, 0)
	if err != nil || came.end != endBlocked || len(came.plan.members) != 1 || came.took < 30*time.Minute || came.calls != 60+1+1+1 {
		t.Errorf("%+v %v", came, err)
	}
	w = newWorld(1, namesNone, []*thing{{key: "a", typ: "a", endpoint: "e", transient: 1 << 20}})
	came, err = w.run(testLimits, nil, 0)
	if err != nil || came.end != endBlocked || came.took > 16*time.Minute || came.took < 13*time.Minute {
		t.Errorf("%+v %v", came, err)
	}
}

// A pause that an answer asks for is kept, if the budget allows for it.
func TestDeletionKeepsPauses(t *testing.T) {
	d := newPlan(testLimits, nil)
	d.add(&member{key: "a", typ: "a", endpoint: "e"})
	now := time.Unix(0, 0)
	d.next(now)
	d.onResult("a", callResult{outcome: outcomeTransient, after: 5 * time.Minute}, now)
	if len(d.next(now.Add(4*time.Minute))) != 0 || len(d.next(now.Add(5*time.Minute))) != 1 {
		t.Error("the pause was not kept")
	}
	d.onResult("a", callResult{outcome: outcomeTransient, after: time.Hour}, now.Add(5*time.Minute))
	if d.end() != endBlocked {
		t.Errorf("%+v", d.members["a"])
	}
}

// What went is remembered beside what came while nobody worked on the deletion:
// each further step has what was refused tried anew.
func TestDeletionGoesOnBesideWhatCame(t *testing.T) {
	for name, c := range map[string]struct {
		total, deleted int      // recorded
		came           int      // of the members
		members        []string // beside the refused one
		now            bool     // it is tried at once: something has gone since it was refused
	}{
		"one came back":              {total: 2, deleted: 1, came: 1, members: []string{"x"}},
		"one came back in secret":    {total: 2, deleted: 1, members: []string{"x"}},
		"one went, another came":     {total: 3, deleted: 1, came: 1, members: []string{"x"}, now: true},
		"nothing came, one went":     {total: 3, deleted: 1, now: true},
		"nothing came, nothing went": {total: 3, deleted: 1, members: []string{"x"}},
	} {
		d := newPlan(testLimits, nil)
		d.add(&member{key: "refused", typ: "a", endpoint: "e", state: memberParked, tried: c.deleted})
		for _, key := range c.members {
			d.add(&member{key: key, typ: "b", endpoint: "e"})
		}
		d.resume(c.total, c.deleted, c.came, 1)
		if got := d.progress(); got.Total-got.Deleted != len(d.members) || got.Deleted < c.deleted {
			t.Errorf("%s: %+v", name, got)
		}
		if d.canPass() != c.now {
			t.Errorf("%s: a further pass: %t", name, !c.now)
		}
		now := time.Unix(0, 0)
		for _, key := range c.members {
			d.next(now)
			d.onResult(key, callResult{outcome: outcomeGone}, now)
		}
		if len(c.members) > 0 && (d.end() != endNone || !d.canPass()) {
			t.Errorf("%s: given up after a step", name)
		}
	}
}
