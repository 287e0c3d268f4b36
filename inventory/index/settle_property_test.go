package index

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

func describe(s State) string {
	text := "no row"
	if s.Row != nil {
		text = fmt.Sprintf("%s verify=%v followPut=%v followDelete=%v followPatch=%v generation=%d", s.Row.Phase, s.Row.Verify,
			s.Row.FollowPut, s.Row.FollowDelete, s.Row.FollowPatch, s.Row.Generation[0])
	}
	for _, in := range s.Open {
		text += fmt.Sprintf("; %s %d made=%v spoiled=%v ended=%v generation=%d ends=%d", in.Kind, in.ID[0], in.CreatedRow, in.Overlapped, in.CallEnded,
			in.Generation[0], in.Ends)
	}
	return text
}

// Beyond what the walk explores in full lie more writes, more of them at a time,
// and more faults, in runs that are sampled.
var samples = []scenario{
	{name: "writes", writes: anyWrite, concurrent: 5, left: budget{writes: 30, crashes: 6, losses: 6, refusals: 10}},
	{name: "operations", writes: anyWrite, concurrent: 5, async: true, events: true, left: budget{writes: 30, crashes: 4, losses: 4, refusals: 6, lostPolls: 6}},
	{name: "patches", writes: withPatches, concurrent: 4, contents: true, events: true, async: true, sweeps: true, left: budget{writes: 20, crashes: 3, losses: 3, refusals: 3, lostPolls: 3}},
	{name: "sweeps", writes: anyWrite, concurrent: 4, async: true, sweeps: true, left: budget{writes: 20, crashes: 3, losses: 3, lostPolls: 3}},
	{name: "group", writes: anyWrite, concurrent: 3, async: true, resolves: true, sweeps: true,
		left: budget{writes: 20, crashes: 3, losses: 3, refusals: 4, lostPolls: 3, marks: 5, ownWrites: 15, remakes: 5}},
	{name: "reads", writes: anyWrite, concurrent: 3, reads: true, async: true, resolves: true,
		left: budget{writes: 20, crashes: 2, losses: 2, refusals: 3, lostPolls: 2}},
}

// In every run nothing is believed that is not so, and from wherever it stops
// the doubt ends without a further fault.
func TestTheIndexAgreesWithTheProvider(t *testing.T) {
	for _, s := range samples {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				run := newRun(t, s)
				for n := range rapid.IntRange(50, 400).Draw(t, "steps") {
					steps := run.next(&run.world)
					if len(steps) == 0 {
						break
					}
					// What is drawn tends to be small; it is to be so for every step.
					run.take(steps[(n+rapid.IntRange(0, len(steps)-1).Draw(t, "step"))%len(steps)])
				}
				run.calmDown()
			})
		})
	}
}

// run is one way through the worlds of a model.
type run struct {
	model
	t     *rapid.T
	world world
	way   retold
}

func newRun(t *rapid.T, s scenario) *run {
	r := &run{model: model{scenario: s, Settle: Settle}, t: t}
	r.world = r.start()
	r.way.flipped = r.world.canonical(&r.model)
	return r
}

func (r *run) take(chosen taken) {
	flipped := chosen.world.canonical(&r.model)
	r.t.Log(r.way.tell(chosen, flipped))
	if fault := chosen.check(&r.model); fault != "" {
		r.t.Fatal(fault)
	}
	r.world = chosen.world
}

// calmDown takes the steps that need neither a client nor a fault, always the
// one that has waited longest, until nothing is left to do. Whatever can be done
// again and again is done in time, so that doubt which never ends has no end.
func (r *run) calmDown() {
	r.world.left = budget{}
	taken := map[string]int{}
	for n := 1; n <= 1000; n++ {
		if r.world.atRest() {
			return
		}
		next := -1
		steps := r.next(&r.world)
		for i, s := range steps {
			if s.helps && (next < 0 || taken[s.text] < taken[steps[next].text]) {
				next = i
			}
		}
		if next < 0 {
			r.t.Fatal("the doubt has no end: nothing is left to do")
		}
		taken[steps[next].text] = n
		r.take(steps[next])
	}
	r.t.Fatal("the doubt has no end")
}
