package index

import (
	"runtime/debug"
	"slices"
	"testing"
)

// walks are the worlds that are explored in full: two replicas, three writes at a
// time in any order, answered or not, taken late or not at all, a replica that
// dies and a settle that is lost, each at any point. Those that know more beside,
// operations that fail or are lost, clients that read, sweeps, a group that goes
// and is made anew, know less of the rest.
var walks = []struct {
	scenario
	small bool // it is explored under the race detector too
}{
	{scenario{name: "writes", writes: anyWrite, concurrent: 3, left: budget{writes: 3, crashes: 1, losses: 1, refusals: 1}}, false},
	{scenario{name: "writes/fewer", writes: anyWrite, concurrent: 2, left: budget{writes: 2, crashes: 1, losses: 1, refusals: 2}}, true},
	{scenario{name: "operations", writes: anyWrite, concurrent: 3, async: true, left: budget{writes: 3, crashes: 1}}, false},
	{scenario{name: "operations/lost settles", writes: anyWrite, concurrent: 3, async: true, left: budget{writes: 3, losses: 1}}, false},
	{scenario{name: "operations/lost polls", writes: anyWrite, concurrent: 3, async: true, left: budget{writes: 3, lostPolls: 2}}, false},
	{scenario{name: "operations/everything", writes: anyWrite, concurrent: 3, async: true, left: budget{writes: 2, crashes: 1, losses: 1, lostPolls: 2, refusals: 1}}, false},
	{scenario{name: "operations/fewer", writes: anyWrite, concurrent: 2, async: true, live: true, left: budget{writes: 2, lostPolls: 1}}, true},
	{scenario{name: "reads", writes: anyWrite, concurrent: 2, reads: true, left: budget{writes: 3}}, false},
	{scenario{name: "reads/faults", writes: anyWrite, concurrent: 2, reads: true, left: budget{writes: 2, crashes: 1, losses: 1}}, false},
	{scenario{name: "reads/operations", writes: anyWrite, concurrent: 2, reads: true, async: true, live: true, left: budget{writes: 2}}, false},
	{scenario{name: "reads/decided early", writes: anyWrite, concurrent: 2, reads: true, resolves: true, live: true, left: budget{writes: 2}}, false},
	{scenario{name: "reads/fewer", writes: anyWrite, concurrent: 1, reads: true, live: true, left: budget{writes: 2}}, true},
	{scenario{name: "lists", writes: anyWrite, concurrent: 1, reads: true, lists: true, left: budget{writes: 3}}, true},
	{scenario{name: "sweeps", writes: anyWrite, concurrent: 3, sweeps: true, left: budget{writes: 3, crashes: 1, losses: 1}}, false},
	{scenario{name: "sweeps/operations", writes: anyWrite, concurrent: 3, sweeps: true, async: true, live: true, left: budget{writes: 2, losses: 1, lostPolls: 1}}, false},
	{scenario{name: "sweeps/fewer", writes: anyWrite, concurrent: 2, sweeps: true, live: true, left: budget{writes: 2}}, true},
	{scenario{name: "patches", writes: withPatches, concurrent: 3, contents: true, left: budget{writes: 3, crashes: 1, losses: 1, refusals: 1}}, false},
	{scenario{name: "patches/operations", writes: withPatches, concurrent: 3, contents: true, async: true, live: true, left: budget{writes: 2, crashes: 1, losses: 1, lostPolls: 1}}, false},
	{scenario{name: "patches/reads", writes: withPatches, concurrent: 2, contents: true, reads: true, live: true, left: budget{writes: 2, losses: 1}}, false},
	{scenario{name: "patches/group", writes: withPatches, concurrent: 3, contents: true, resolves: true, live: true, left: budget{writes: 2, crashes: 1, marks: 1, ownWrites: 1, remakes: 1}}, false},
	{scenario{name: "patches/sweeps", writes: withPatches, concurrent: 2, contents: true, sweeps: true, live: true, left: budget{writes: 3, crashes: 1}}, false},
	{scenario{name: "patches/lists", writes: updates, concurrent: 3, reads: true, lists: true, left: budget{writes: 3}}, true},
	{scenario{name: "patches/fewer", writes: withPatches, concurrent: 2, contents: true, live: true, left: budget{writes: 2, crashes: 1, losses: 1}}, true},
	{scenario{name: "events", writes: withPatches, concurrent: 2, events: true, left: budget{writes: 3, losses: 1, refusals: 1}}, false},
	{scenario{name: "events/operations", writes: anyWrite, concurrent: 2, events: true, async: true, live: true, left: budget{writes: 3, lostPolls: 1}}, false},
	{scenario{name: "events/group", writes: anyWrite, concurrent: 2, events: true, sweeps: true, live: true, left: budget{writes: 2, marks: 1, ownWrites: 1, remakes: 1}}, false},
	{scenario{name: "events/fewer", writes: anyWrite, concurrent: 2, events: true, left: budget{writes: 2, losses: 1}}, true},
	{scenario{name: "group", writes: anyWrite, concurrent: 3, left: budget{writes: 2, crashes: 1, marks: 1, ownWrites: 2, remakes: 1}}, false},
	{scenario{name: "group/operations", writes: anyWrite, concurrent: 2, async: true, left: budget{writes: 2, losses: 1, marks: 1, remakes: 1}}, false},
	{scenario{name: "group/decided early", writes: anyWrite, concurrent: 3, resolves: true, left: budget{writes: 2, crashes: 1, losses: 1, marks: 1, ownWrites: 1, remakes: 1}}, false},
	{scenario{name: "group/given back", writes: anyWrite, concurrent: 3, left: budget{writes: 2, crashes: 1, marks: 2, ownWrites: 2, backs: 1}}, false},
	{scenario{name: "group/lost polls", writes: anyWrite, concurrent: 3, async: true, left: budget{writes: 2, lostPolls: 1, marks: 1, ownWrites: 1, remakes: 1}}, false},
	{scenario{name: "group/written again", writes: anyWrite, concurrent: 2, left: budget{writes: 3, refusals: 1, marks: 1, ownWrites: 1, remakes: 1}}, false},
	{scenario{name: "group/sweeps", writes: anyWrite, concurrent: 2, sweeps: true, left: budget{writes: 2, marks: 1, ownWrites: 1, remakes: 1}}, false},
	{scenario{name: "group/fewer", writes: anyWrite, concurrent: 3, resolves: true, left: budget{writes: 2, marks: 1, ownWrites: 1, remakes: 1}}, true},
}

func TestWalk(t *testing.T) {
	racing := raceDetector()
	for _, walk := range walks {
		if racing && !walk.small {
			continue // slower by far, and there is one goroutine alone
		}
		t.Run(walk.name, func(t *testing.T) {
			t.Parallel()
			f := explore(model{scenario: walk.scenario, Settle: Settle}, 20_000_000)
			if f.fault != "" {
				t.Fatalf("%s: %s", walk.scenario, f)
			}
			t.Logf("%s: %s", walk.scenario, f)
		})
	}
}

// raceDetector reports whether the test was built with it.
func raceDetector() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}
