package deletionplan

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"portico/inventory"
)

// costLimits are those of a deletion in service, with an endpoint for each of
// four regions.
var costLimits = Limits{PerEndpoint: 16, PerJob: 64, Budget: 15 * time.Minute, Pause: 100 * time.Millisecond, Longest: time.Minute}

const concurrency = 64

// forest makes n resources of ten types in four regions. Each needs up to three
// others: any that were made before it, or, where the types form an order, such
// of the type below its own.
func forest(n int, ordered bool) []*thing {
	random := rand.New(rand.NewPCG(uint64(n), 11))
	const types = 10
	things := make([]*thing, n)
	for i := range things {
		typ := i * types / n
		th := &thing{key: fmt.Sprintf("r%04d", i), Type: fmt.Sprintf("t%d", typ), endpoint: fmt.Sprint(i % 4)}
		from, to := 0, i
		if ordered {
			from, to = (typ-1)*n/types, typ*n/types
		}
		for range random.IntN(4) {
			if from >= 0 && to > from {
				th.needs = append(th.needs, from+random.IntN(to-from))
			}
		}
		things[i] = th
	}
	random.Shuffle(n, func(i, j int) { // the order of the rows tells nothing
		things[i], things[j] = things[j], things[i]
		for _, th := range things {
			for k, need := range th.needs {
				switch need {
				case i:
					th.needs[k] = j
				case j:
					th.needs[k] = i
				}
			}
		}
	})
	return things
}

// depth is the length of the longest chain of needs.
func depth(things []*thing) int {
	known := make([]int, len(things))
	var of func(int) int
	of = func(i int) int {
		if known[i] == 0 {
			known[i] = 1
			for _, need := range things[i].needs {
				known[i] = max(known[i], 1+of(need))
			}
		}
		return known[i]
	}
	longest := 0
	for i := range things {
		longest = max(longest, of(i))
	}
	return longest
}

// plainLoop counts the calls of a loop that tries whatever is left, again and
// again, as many at a time, until nothing is.
func plainLoop(things []*thing) int {
	gone, calls := make([]bool, len(things)), 0
	for left := len(things); left > 0; {
		for from := 0; from < len(things); {
			var batch, free []int
			for ; from < len(things) && len(batch) < concurrency; from++ {
				if !gone[from] {
					batch = append(batch, from)
				}
			}
			for _, i := range batch {
				calls++
				ok := true
				for _, need := range things[i].needs {
					ok = ok && gone[need]
				}
				if ok {
					free = append(free, i)
				}
			}
			for _, i := range free {
				gone[i] = true
				left--
			}
		}
	}
	return calls
}

// What a group of 2,000 costs is counted in DELETE calls, and its time in round
// trips.
func TestDeletionCost(t *testing.T) {
	const n = 2000
	remove := func(things []*thing, naming naming, order []inventory.TypeOrder) ending {
		t.Helper()
		came, err := newWorld(1, naming, things).run(costLimits, order, 0)
		if err != nil || came.end != EndEmpty {
			t.Fatalf("%+v %v", came.end, err)
		}
		came.plan.Conclude()
		return came
	}
	each := func(came ending) float64 { return float64(came.calls) / n }

	named := remove(forest(n, false), namesAll, nil)
	blind := remove(forest(n, false), namesNone, nil)
	plain := float64(plainLoop(forest(n, false))) / n
	t.Logf("any order, depth %d: %.2f calls each where refusals name all, %.2f where they name none; a plain loop: %.2f",
		depth(forest(n, false)), each(named), each(blind), plain)
	if each(named) > 2 || each(blind) > plain {
		t.Error("it costs too much")
	}

	first := remove(forest(n, true), namesAll, nil)
	learnt := remove(forest(n, true), namesAll, first.plan.Learnt)
	unseeing := remove(forest(n, true), namesNone, nil)
	again := remove(forest(n, true), namesNone, unseeing.plan.Learnt)
	third := remove(forest(n, true), namesNone, append(unseeing.plan.Learnt, again.plan.Learnt...))
	d := depth(forest(n, true))
	bound := time.Duration(1.3 * float64(d+n/concurrency) * float64(100*time.Millisecond))
	t.Logf("types in order, depth %d: %.2f calls each, %.2f once learnt, in %v of %v; blind: %.2f, then %.2f, then %.2f; a plain loop: %.2f",
		d, each(first), each(learnt), learnt.took, bound, each(unseeing), each(again), each(third), float64(plainLoop(forest(n, true)))/n)
	if each(first) > 2 || each(learnt) > 1.1 || each(again) > each(unseeing) || each(third) > each(again) || learnt.took > bound {
		t.Error("it costs too much")
	}
}

// A circle costs one further pass, in which nothing has gone.
func TestDeletionOfACircle(t *testing.T) {
	for _, n := range []naming{namesAll, namesOne, namesNone} {
		things := forest(200, false)
		for i := range 5 {
			things[i].needs = append(things[i].needs, (i+1)%5)
		}
		w := newWorld(1, n, things)
		stay := len(w.mustStay())
		came, err := w.run(costLimits, nil, 0)
		if err != nil || came.end != EndBlocked || len(came.plan.Resources) != stay {
			t.Fatalf("%+v %v, %d have to stay", came, err, stay)
		}
		t.Logf("%d of 200 stay: %d calls in %d passes", stay, came.calls, came.plan.pass)
		if n == namesAll && came.calls > 2*200+stay {
			t.Errorf("%d calls", came.calls)
		}
	}
}
