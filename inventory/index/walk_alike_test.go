package index

import (
	"testing"

	"pgregory.net/rapid"
)

// The walk takes worlds for one that differ in what cannot matter any more, or in
// names alone. Whatever may happen to the one may happen to the other, and leads
// to worlds that are again taken for one.
func TestWorldsTakenForOneBehaveAlike(t *testing.T) {
	for _, s := range samples {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			m := model{scenario: s, Settle: Settle}
			rapid.Check(t, func(t *rapid.T) {
				plain := m.start()
				for n := range rapid.IntRange(20, 80).Draw(t, "steps") {
					short := plain
					short.canonical(&m)
					next := m.next(&plain)
					if len(next) == 0 {
						return
					}
					chosen := next[(n+rapid.IntRange(0, len(next)-1).Draw(t, "step"))%len(next)]
					plainly := m.leads(next)
					if shortly := m.leads(m.next(&short)); !alike(plainly, shortly) || !alike(shortly, plainly) {
						t.Fatalf("%s\n  leads to %d worlds, and what it is taken for to %d", plain, len(plainly), len(shortly))
					}
					plain = chosen.world
					plain.release(&m)
					plain.rename(&m)
				}
			})
		})
	}
}

// led is a step, and the world that it leads to.
type led struct {
	text, fault string
	helps       bool
	world       world
}

// alike reports whether all that some steps lead to is, but for the names of regions
// and replicas, among what the others lead to.
func alike(some, others map[led]bool) bool {
	for l := range some {
		flipped := l
		flipped.world.flip()
		if !flipped.among(others) && !l.among(others) {
			return false
		}
	}
	return true
}

func (l led) among(all map[led]bool) bool {
	swapped := l
	swapped.world.swapReplicas()
	if l.world.reported == (history{}) { // the slots keep no places
		l.world.sort()
		swapped.world.sort()
	}
	return all[l] || all[swapped]
}

func (m *model) leads(steps []taken) map[led]bool {
	all := map[led]bool{}
	for _, t := range steps {
		t.world.canonical(m)
		all[led{t.text, t.fault, t.helps, t.world}] = true
	}
	return all
}
