package chaos

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
)

// step makes an operation that lasts from begin to end, in milliseconds.
func step(v verb, is verdict, begin, end int, at content) operation {
	o := operation{Verb: v, Verdict: is, Call: time.Duration(begin) * time.Millisecond, Return: time.Duration(end) * time.Millisecond}
	if v == put {
		o.Region, o.Value = at.region, at.value
	} else {
		o.Seen = at
	}
	return o
}

func TestModel(t *testing.T) {
	var (
		west1 = content{"westus", 1}
		west2 = content{"westus", 2}
		east3 = content{"eastus", 3}
		none  = content{}
	)
	first := step(put, created, 0, 10, west1)
	for name, c := range map[string]struct {
		operations []operation
		want       porcupine.CheckResult
	}{
		"a life": {[]operation{
			first, step(get, seen, 11, 12, west1), step(put, replaced, 13, 14, west2), step(get, seen, 15, 16, west2),
			step(remove, removed, 17, 18, none), step(get, absent, 19, 20, none), step(put, created, 21, 22, east3), step(head, exists, 23, 24, none),
		}, porcupine.Ok},
		"a stale read": {[]operation{
			first, step(put, replaced, 13, 14, west2), step(get, seen, 15, 16, west1),
		}, porcupine.Illegal},
		"a stale read, overlapping the write": {[]operation{
			first, step(put, replaced, 13, 16, west2), step(get, seen, 14, 15, west1),
		}, porcupine.Ok},
		"a stale existence": {[]operation{
			first, step(remove, removed, 13, 14, none), step(head, exists, 15, 16, none),
		}, porcupine.Illegal},
		"a stale absence": {[]operation{first, step(head, absent, 15, 16, none)}, porcupine.Illegal},
		"a write that was acknowledged is lost": {[]operation{
			first, step(put, replaced, 13, 14, west2), step(remove, removed, 15, 16, none), step(put, created, 17, 18, east3),
			step(get, absent, 19, 20, none),
		}, porcupine.Illegal},
		"a delete that was acknowledged is lost": {[]operation{
			first, step(remove, removed, 13, 14, none), step(get, seen, 15, 16, west1),
		}, porcupine.Illegal},
		"it is still said to be elsewhere": {[]operation{
			first, step(remove, removed, 13, 14, none), step(put, elsewhere, 15, 16, east3),
		}, porcupine.Illegal},
		"it is elsewhere": {[]operation{first, step(put, elsewhere, 15, 16, east3)}, porcupine.Ok},
		"in two regions":  {[]operation{first, step(put, created, 15, 16, east3)}, porcupine.Illegal},
		"accepted in a second region": {[]operation{
			first, step(put, became, 15, 30, east3), step(get, seen, 31, 32, east3),
		}, porcupine.Illegal},
		"an accepted create is not there before it is done": {[]operation{
			step(put, became, 0, 50, west1), step(get, absent, 10, 11, none), step(get, seen, 20, 21, west1), step(get, seen, 51, 52, west1),
		}, porcupine.Ok},
		"an accepted create is not there when it is done": {[]operation{
			step(put, became, 0, 50, west1), step(get, absent, 51, 52, none),
		}, porcupine.Illegal},
		"an accepted delete": {[]operation{
			first, step(remove, vanished, 11, 50, none), step(get, seen, 12, 13, west1), step(head, absent, 51, 52, none),
		}, porcupine.Ok},
		"an accepted delete comes back": {[]operation{
			first, step(remove, vanished, 11, 50, none), step(get, absent, 12, 13, none), step(head, exists, 51, 52, none),
		}, porcupine.Illegal},
		"an open write takes effect late": {[]operation{
			first, step(remove, open, 11, 100, none), step(get, seen, 20, 21, west1), step(get, absent, 50, 51, none),
		}, porcupine.Ok},
		"an open write never takes effect": {[]operation{
			first, step(remove, open, 11, 100, none), step(get, seen, 120, 121, west1),
		}, porcupine.Ok},
		"an open write takes effect after its time": {[]operation{
			first, step(remove, open, 11, 100, none), step(get, seen, 120, 121, west1), step(get, absent, 122, 123, none),
		}, porcupine.Illegal},
		"an open write takes effect twice": {[]operation{
			first, step(put, open, 11, 100, west2), step(get, seen, 20, 21, west2), step(remove, removed, 22, 23, none),
			step(get, seen, 24, 25, west2),
		}, porcupine.Illegal},
		"what says nothing": {[]operation{
			first, step(put, nothing, 11, 12, east3), step(get, open, 13, 14, none), step(patch, open, 13, 14, none), step(get, seen, 15, 16, west1),
		}, porcupine.Ok},
		"deleted with its group": {[]operation{
			first, step(remove, threatened, 11, 11, none), step(get, seen, 12, 13, west1), step(get, absent, 14, 15, none),
			step(remove, vanished, 11, 50, none), step(remove, safe, 50, 50, none),
			step(get, absent, 51, 52, none), step(put, created, 53, 54, east3), step(get, seen, 55, 56, east3),
		}, porcupine.Ok},
		"a stale read after its group's delete": {[]operation{
			first, step(remove, threatened, 11, 11, none), step(remove, vanished, 11, 50, none), step(remove, safe, 50, 50, none),
			step(get, seen, 51, 52, west1),
		}, porcupine.Illegal},
		"a stale existence after its group's delete": {[]operation{
			first, step(remove, threatened, 11, 11, none), step(remove, vanished, 11, 50, none), step(remove, safe, 50, 50, none),
			step(head, exists, 51, 52, none),
		}, porcupine.Illegal},
		"left behind by its group's delete, and found by a write": {[]operation{
			first, step(remove, threatened, 11, 11, none), step(remove, vanished, 11, 50, none), step(remove, safe, 50, 50, none),
			step(put, replaced, 51, 52, west2),
		}, porcupine.Illegal},
		"lost after its group's delete": {[]operation{
			first, step(remove, threatened, 11, 11, none), step(remove, vanished, 11, 50, none), step(remove, safe, 50, 50, none),
			step(put, created, 51, 52, west2), step(get, absent, 53, 54, none),
		}, porcupine.Illegal},
		"removed again, as a late write brought it back": {[]operation{
			first, step(put, open, 9, 100, west2), step(remove, threatened, 11, 11, none), step(get, absent, 20, 21, none),
			step(get, seen, 22, 23, west2), step(get, absent, 24, 25, none),
			step(remove, vanished, 11, 50, none), step(remove, safe, 50, 50, none),
		}, porcupine.Ok},
		"back without a write, while its group is deleted": {[]operation{
			first, step(remove, threatened, 11, 11, none), step(get, absent, 20, 21, none), step(get, seen, 22, 23, west1),
			step(remove, safe, 50, 50, none),
		}, porcupine.Illegal},
		"its group's delete may never have begun": {[]operation{
			first, step(remove, threatened, 11, 11, none), step(remove, safe, 50, 50, none), step(get, seen, 51, 52, west1),
		}, porcupine.Ok},
		"gone after the delete of its group that may never have begun": {[]operation{
			first, step(remove, threatened, 11, 11, none), step(remove, safe, 50, 50, none),
			step(get, seen, 51, 52, west1), step(get, absent, 53, 54, none),
		}, porcupine.Illegal},
		"two deletes of its group, one of them longer": {[]operation{
			first, step(remove, threatened, 11, 11, none), step(remove, threatened, 12, 12, none), step(remove, safe, 20, 20, none),
			step(get, seen, 21, 22, west1), step(get, absent, 23, 24, none), step(remove, safe, 50, 50, none),
		}, porcupine.Ok},
		"a value that no one wrote": {[]operation{first, step(get, seen, 15, 16, west2)}, porcupine.Illegal},
	} {
		if got := linearizable(c.operations, 10*time.Second); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestStuck(t *testing.T) {
	operations := []operation{
		step(put, created, 0, 10, content{"westus", 1}),
		step(put, open, 11, 1000, content{"westus", 2}),
		step(get, seen, 20, 21, content{"westus", 2}),
		step(get, seen, 30, 31, content{"westus", 1}),
		step(get, seen, 40, 41, content{"westus", 1}),
	}
	if got, want := stuck(operations, 10*time.Second), 31*time.Millisecond; got != want {
		t.Errorf("it is stuck at %v, want %v", got, want)
	}
}

func TestSchedule(t *testing.T) {
	for seed := range uint64(200) {
		for _, kills := range []int{1, 6, 30} {
			for _, shared := range []bool{false, true} {
				killed, lost := 0, 0
				kinds := map[kind]int{}
				for _, f := range schedule(rand.New(rand.NewPCG(seed, 0)), kills, shared) {
					killed += f.kind.kills()
					kinds[f.kind]++
					if known := slices.Contains(pointsFor(f.kind), f.point); known != f.kind.atPoint() {
						t.Errorf("seed %d: %v", seed, f)
					}
					if f.kind == failOver {
						lost++
						if f.at < 0.5 {
							t.Errorf("seed %d: the primary is lost after %.0f%% of the writes", seed, 100*f.at)
						}
					}
				}
				if kinds[pauseAtPoint] == 0 || kinds[failAtPoint] == 0 || kills > 2 && kinds[killAtPoint] == 0 {
					t.Errorf("seed %d, %d kills: no point of some kind: %v", seed, kills, kinds)
				}
				if killed != kills || lost != map[bool]int{true: 1}[shared] {
					t.Errorf("seed %d, %d kills, a shared store: %v: %d gateways are killed, %d primaries lost", seed, kills, shared, killed, lost)
				}
			}
		}
	}
}
