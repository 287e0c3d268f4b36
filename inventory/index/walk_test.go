package index

import (
	"flag"
	"runtime/debug"
	"slices"
	"testing"
)

var long = flag.Bool("walk.long", false, "explore the largest worlds too: minutes")

// size is how much of the walk a world is.
type size uint8

const (
	small size = iota // it is explored under the race detector too
	usual
	large // it is explored by make test-long: it has a smaller form, with fewer of its faults or writes
)

// walks are the worlds that are explored in full: two replicas, three writes at a
// time in any order, answered or not, taken late or not at all, a replica that
// dies and a settle that is lost, each at any point. Those that know more beside,
// operations that fail or are lost, clients that read, sweeps, a group that goes
// and is made anew, know less of the rest.
var walks = []struct {
	scenario
	size size
}{
	{scenario{name: "writes", writes: anyWrite, concurrent: 3, left: budget{writes: 3, crashes: 1, losses: 1, refusals: 1}}, usual},
	{scenario{name: "writes/fewer", writes: anyWrite, concurrent: 2, left: budget{writes: 2, crashes: 1, losses: 1, refusals: 2}}, small},
	{scenario{name: "operations", writes: anyWrite, concurrent: 3, async: true, left: budget{writes: 3, crashes: 1}}, large},
	{scenario{name: "operations/lost settles", writes: anyWrite, concurrent: 3, async: true, left: budget{writes: 3, losses: 1}}, large},
	{scenario{name: "operations/a death", writes: anyWrite, concurrent: 2, async: true, left: budget{writes: 3, crashes: 1}}, usual},
	{scenario{name: "operations/lost polls", writes: anyWrite, concurrent: 3, async: true, left: budget{writes: 3, lostPolls: 2}}, usual},
	{scenario{name: "operations/everything", writes: anyWrite, concurrent: 3, async: true, left: budget{writes: 2, crashes: 1, losses: 1, lostPolls: 2, refusals: 1}}, usual},
	{scenario{name: "operations/fewer", writes: anyWrite, concurrent: 2, async: true, live: true, left: budget{writes: 2, lostPolls: 1}}, small},
	{scenario{name: "unread", writes: anyWrite, concurrent: 2, async: true, unread: true, left: budget{writes: 3, lostPolls: 1}}, usual},
	{scenario{name: "unread/faults", writes: anyWrite, concurrent: 3, async: true, unread: true, left: budget{writes: 2, crashes: 1, losses: 1, lostPolls: 1, refusals: 1}}, large},
	{scenario{name: "unread/patches", writes: withPatches, concurrent: 2, contents: true, async: true, unread: true, live: true, left: budget{writes: 2, crashes: 1, losses: 1, lostPolls: 1}}, usual},
	{scenario{name: "unread/reads", writes: anyWrite, concurrent: 2, reads: true, async: true, unread: true, live: true, left: budget{writes: 2}}, large},
	{scenario{name: "unread/events", writes: anyWrite, concurrent: 2, events: true, async: true, unread: true, live: true, left: budget{writes: 2, lostPolls: 1}}, usual},
	{scenario{name: "unread/group", writes: anyWrite, concurrent: 2, async: true, unread: true, left: budget{writes: 2, marks: 1, ownWrites: 1, remakes: 1}}, large},
	{scenario{name: "unread/group in turn", writes: anyWrite, concurrent: 1, async: true, unread: true, left: budget{writes: 2, marks: 1, ownWrites: 1, remakes: 1}}, usual},
	{scenario{name: "unread/fewer", writes: anyWrite, concurrent: 2, async: true, unread: true, live: true, left: budget{writes: 2, lostPolls: 1}}, small},
	{scenario{name: "reads", writes: anyWrite, concurrent: 2, reads: true, left: budget{writes: 3}}, large},
	{scenario{name: "reads/faults", writes: anyWrite, concurrent: 2, reads: true, left: budget{writes: 2, crashes: 1, losses: 1}}, large},
	{scenario{name: "reads/operations", writes: anyWrite, concurrent: 2, reads: true, async: true, live: true, left: budget{writes: 2}}, large},
	{scenario{name: "reads/a death", writes: anyWrite, concurrent: 2, reads: true, left: budget{writes: 2, crashes: 1}}, usual},
	{scenario{name: "reads/operations in turn", writes: anyWrite, concurrent: 1, reads: true, async: true, live: true, left: budget{writes: 2}}, usual},
	{scenario{name: "reads/decided early", writes: anyWrite, concurrent: 2, reads: true, resolves: true, live: true, left: budget{writes: 2}}, usual},
	{scenario{name: "reads/fewer", writes: anyWrite, concurrent: 1, reads: true, live: true, left: budget{writes: 2}}, small},
	{scenario{name: "lists", writes: anyWrite, concurrent: 1, reads: true, lists: true, left: budget{writes: 3}}, small},
	{scenario{name: "sweeps", writes: anyWrite, concurrent: 3, sweeps: true, left: budget{writes: 3, crashes: 1, losses: 1}}, large},
	{scenario{name: "sweeps/lost settles", writes: anyWrite, concurrent: 2, sweeps: true, left: budget{writes: 3, losses: 1}}, usual},
	{scenario{name: "sweeps/operations", writes: anyWrite, concurrent: 3, sweeps: true, async: true, live: true, left: budget{writes: 2, losses: 1, lostPolls: 1}}, usual},
	{scenario{name: "sweeps/fewer", writes: anyWrite, concurrent: 2, sweeps: true, live: true, left: budget{writes: 2}}, small},
	{scenario{name: "patches", writes: withPatches, concurrent: 3, contents: true, left: budget{writes: 3, crashes: 1, losses: 1, refusals: 1}}, large},
	{scenario{name: "patches/lost settles", writes: withPatches, concurrent: 2, contents: true, left: budget{writes: 3, losses: 1, refusals: 1}}, usual},
	{scenario{name: "patches/operations", writes: withPatches, concurrent: 3, contents: true, async: true, live: true, left: budget{writes: 2, crashes: 1, losses: 1, lostPolls: 1}}, usual},
	{scenario{name: "patches/reads", writes: withPatches, concurrent: 2, contents: true, reads: true, live: true, left: budget{writes: 2, losses: 1}}, large},
	{scenario{name: "patches/reads without faults", writes: withPatches, concurrent: 2, contents: true, reads: true, live: true, left: budget{writes: 2}}, usual},
	{scenario{name: "patches/group", writes: withPatches, concurrent: 3, contents: true, resolves: true, live: true, left: budget{writes: 2, crashes: 1, marks: 1, ownWrites: 1, remakes: 1}}, usual},
	{scenario{name: "patches/sweeps", writes: withPatches, concurrent: 2, contents: true, sweeps: true, live: true, left: budget{writes: 3, crashes: 1}}, usual},
	{scenario{name: "patches/lists", writes: updates, concurrent: 3, reads: true, lists: true, left: budget{writes: 3}}, small},
	{scenario{name: "patches/fewer", writes: withPatches, concurrent: 2, contents: true, live: true, left: budget{writes: 2, crashes: 1, losses: 1}}, small},
	{scenario{name: "events", writes: withPatches, concurrent: 2, events: true, left: budget{writes: 3, losses: 1, refusals: 1}}, usual},
	{scenario{name: "events/operations", writes: anyWrite, concurrent: 2, events: true, async: true, live: true, left: budget{writes: 3, lostPolls: 1}}, usual},
	{scenario{name: "events/group", writes: anyWrite, concurrent: 2, events: true, sweeps: true, live: true, left: budget{writes: 2, marks: 1, ownWrites: 1, remakes: 1}}, usual},
	{scenario{name: "events/fewer", writes: anyWrite, concurrent: 2, events: true, left: budget{writes: 2, losses: 1}}, small},
	{scenario{name: "group", writes: anyWrite, concurrent: 3, left: budget{writes: 2, crashes: 1, marks: 1, ownWrites: 2, remakes: 1}}, usual},
	{scenario{name: "group/operations", writes: anyWrite, concurrent: 2, async: true, left: budget{writes: 2, losses: 1, marks: 1, remakes: 1}}, large},
	{scenario{name: "group/operations without faults", writes: anyWrite, concurrent: 2, async: true, left: budget{writes: 2, marks: 1, remakes: 1}}, usual},
	{scenario{name: "group/decided early", writes: anyWrite, concurrent: 3, resolves: true, left: budget{writes: 2, crashes: 1, losses: 1, marks: 1, ownWrites: 1, remakes: 1}}, large},
	{scenario{name: "group/a death", writes: anyWrite, concurrent: 2, resolves: true, left: budget{writes: 2, crashes: 1, marks: 1, ownWrites: 1, remakes: 1}}, usual},
	{scenario{name: "group/given back", writes: anyWrite, concurrent: 3, left: budget{writes: 2, crashes: 1, marks: 2, ownWrites: 2, backs: 1}}, large},
	{scenario{name: "group/given back without faults", writes: anyWrite, concurrent: 2, left: budget{writes: 2, marks: 2, ownWrites: 1, backs: 1}}, usual},
	{scenario{name: "group/lost polls", writes: anyWrite, concurrent: 3, async: true, left: budget{writes: 2, lostPolls: 1, marks: 1, ownWrites: 1, remakes: 1}}, large},
	{scenario{name: "group/a lost poll", writes: anyWrite, concurrent: 2, async: true, left: budget{writes: 2, lostPolls: 1, marks: 1, remakes: 1}}, usual},
	{scenario{name: "group/written again", writes: anyWrite, concurrent: 2, left: budget{writes: 3, refusals: 1, marks: 1, ownWrites: 1, remakes: 1}}, usual},
	{scenario{name: "group/sweeps", writes: anyWrite, concurrent: 2, sweeps: true, left: budget{writes: 2, marks: 1, ownWrites: 1, remakes: 1}}, usual},
	{scenario{name: "group/fewer", writes: anyWrite, concurrent: 3, resolves: true, left: budget{writes: 2, marks: 1, ownWrites: 1, remakes: 1}}, small},
}

func TestWalk(t *testing.T) {
	most := usual
	switch {
	case raceDetector():
		most = small // the others are slower by far, and there is one goroutine alone
	case *long:
		most = large
	}
	for _, walk := range walks {
		if walk.size > most {
			continue
		}
		t.Run(walk.name, func(t *testing.T) {
			t.Parallel()
			f := explore(model{scenario: walk.scenario, Settle: Settle, Progress: PollResultOf}, 20_000_000)
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
