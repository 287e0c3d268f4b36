package inventory

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func describe(s state) string {
	text := "no row"
	if s.row != nil {
		text = fmt.Sprintf("%s verify=%v followPut=%v followDelete=%v generation=%d", s.row.phase, s.row.verify,
			s.row.followPut, s.row.followDelete, s.row.generation[0])
	}
	for _, in := range s.open {
		text += fmt.Sprintf("; %s %d made=%v spoiled=%v generation=%d ends=%d", in.kind, in.id[0], in.made, in.spoiled,
			in.generation[0], in.ends)
	}
	return text
}

// sampling is one resource at its provider, and the index of it.
type sampling struct {
	*rapid.T
	index  state
	exists bool
	calls  []*call
	gets   []observed
	clock  int64
	ids    uint64
}

// call is a write from its intent to its answer.
type call struct {
	id      [16]byte
	kind    WriteKind
	ends    int64
	unsent  bool
	applied bool
	lost    bool // the answer will not come
	done    bool
}

func (w *sampling) id() (id [16]byte) {
	w.ids++
	for i := range 8 {
		id[i] = byte(w.ids >> (8 * i))
	}
	return id
}

func (w *sampling) feed(event any) actions {
	var did actions
	w.index, did = settle(w.index, event, w.id())
	return did
}

func (w *sampling) begin() {
	if len(w.calls) == 5 {
		w.Skip("enough writes")
	}
	c := &call{id: w.id(), kind: rapid.SampledFrom([]WriteKind{Put, Delete}).Draw(w.T, "kind"), ends: w.clock + 3}
	w.feed(intended{id: c.id, kind: c.kind, ends: c.ends})
	w.calls = append(w.calls, c)
}

// pick draws a call that has a property.
func (w *sampling) pick(has func(*call) bool) *call {
	var fit []*call
	for _, c := range w.calls {
		if has(c) {
			fit = append(fit, c)
		}
	}
	if len(fit) == 0 {
		w.Skip("none")
	}
	return rapid.SampledFrom(fit).Draw(w.T, "call")
}

// apply lets the provider carry a write out, also after its caller gave up,
// but not after its time.
func (w *sampling) apply() {
	c := w.pick(func(c *call) bool { return !c.applied && !c.unsent && (!c.done || c.lost) && w.clock < c.ends })
	c.applied = true
	w.exists = c.kind == Put
}

func (w *sampling) answer() {
	c := w.pick(func(c *call) bool { return c.applied && !c.done && !c.lost })
	c.done = true
	outcome := Succeeded
	if c.kind == Delete {
		outcome = Gone
	}
	w.feed(answered{id: c.id, outcome: outcome, status: 200})
}

// lose is a caller without an answer: told, or dead before it could tell.
func (w *sampling) lose() {
	c := w.pick(func(c *call) bool { return !c.done && !c.lost })
	c.lost = true
	if rapid.Bool().Draw(w.T, "told") {
		w.feed(answered{id: c.id})
	}
}

// refuse is an answer that says that nothing was done. A create is refused
// with 409 where there is something.
func (w *sampling) refuse() {
	c := w.pick(func(c *call) bool { return !c.applied && !c.done && !c.lost })
	c.done, c.unsent = true, true
	e := answered{id: c.id, outcome: Refused, status: 400}
	switch {
	case rapid.Bool().Draw(w.T, "unsent"):
		e.outcome = NotSent
	case w.exists:
		e.status = 409
	}
	w.feed(e)
}

func (w *sampling) ask() {
	if w.index.row == nil || len(w.gets) == 3 {
		w.Skip("nothing to ask for")
	}
	w.gets = append(w.gets, observed{generation: w.index.row.generation, found: w.exists})
}

func (w *sampling) hear() {
	if len(w.gets) == 0 {
		w.Skip("none")
	}
	i := rapid.IntRange(0, len(w.gets)-1).Draw(w.T, "get")
	e := w.gets[i]
	w.gets = slices.Delete(w.gets, i, i+1)
	w.feed(e)
}

func (w *sampling) tick() {
	w.clock++
	w.feed(passed{now: w.clock})
}

// check holds after every step.
func (w *sampling) check() {
	puts := slices.ContainsFunc(w.index.open, func(in intent) bool { return in.kind == Put })
	row := w.index.row
	if puts && row == nil {
		w.Fatalf("a PUT is open and there is no row")
	}
	if row != nil && row.phase == Pending && !row.verify && !row.followPut && !puts {
		w.Fatalf("a Pending row that nothing will ever end: %s", describe(w.index))
	}
	if len(w.index.open) > 0 || row != nil && row.verify {
		return // in doubt, and known to be
	}
	if (row != nil) != w.exists {
		w.Fatalf("nothing is in doubt, the provider has it: %v, the index: %s", w.exists, describe(w.index))
	}
}

// rest lets everything end: time passes, answers that come late come, and the
// provider is asked until nothing is in doubt.
func (w *sampling) rest() {
	for range 5 {
		w.tick()
	}
	for _, c := range w.calls {
		if c.applied && !c.done {
			w.feed(answered{id: c.id, outcome: [...]Outcome{Put: Succeeded, Delete: Gone}[c.kind], status: 200})
		}
	}
	for _, e := range w.gets {
		w.feed(e)
	}
	if w.index.row != nil && w.index.row.verify {
		w.feed(observed{generation: w.index.row.generation, found: w.exists})
	}
	if row := w.index.row; row != nil && (row.verify || row.phase == Pending) || len(w.index.open) > 0 {
		w.Fatalf("doubt has no end: %s", describe(w.index))
	}
	w.check()
}

func TestTheIndexAgreesWithTheProvider(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := &sampling{T: t}
		with := func(step func()) func(*rapid.T) {
			return func(t *rapid.T) {
				w.T = t
				step()
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"begin": with(w.begin), "apply": with(w.apply), "answer": with(w.answer), "lose": with(w.lose),
			"refuse": with(w.refuse), "ask": with(w.ask), "hear": with(w.hear), "tick": with(w.tick),
			"": with(w.check),
		})
		w.T = t
		w.rest()
	})
}
