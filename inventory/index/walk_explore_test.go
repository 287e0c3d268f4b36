package index

import (
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"time"
)

// scenario bounds what happens.
type scenario struct {
	name       string
	writes     []aim // what clients may send
	concurrent int   // how many of them at a time
	async      bool  // operations that take time
	reads      bool  // clients read, and what they are told has to be linearizable
	lists      bool  // they read lists of the index and nothing else, and every write is answered
	contents   bool  // what the resource looks like counts: each write gives it a look of its own
	sweeps     bool  // a sweep adopts what it finds
	resolves   bool  // some time passes between a write's decision and its intent
	events     bool  // what events say of the resource counts
	unread     bool  // answers may show no resource, and polls may say nothing
	live       bool  // the resource is there from the beginning, else it is not
	left       budget
}

// String tells the bounds.
func (s scenario) String() string {
	text := fmt.Sprintf("2 replicas, %d writes, %d at a time", s.left.writes, s.concurrent)
	for _, bound := range [...]struct {
		most uint8
		of   string
	}{
		{s.left.crashes, "replica death"}, {s.left.losses, "lost settle"}, {s.left.refusals, "refusal"},
		{s.left.lostPolls, "lost poll"}, {s.left.marks, "group delete"}, {s.left.ownWrites, "write of its own"},
		{s.left.backs, "group given back"},
	} {
		if bound.most > 0 {
			text += fmt.Sprintf(", %d × %s", bound.most, bound.of)
		}
	}
	for _, more := range [...]struct {
		there bool
		what  string
	}{
		{s.live, "the resource is there"}, {s.async, "operations"}, {s.lists, "lists"}, {s.reads && !s.lists, "reads"},
		{s.contents, "contents"}, {s.events, "events"}, {s.sweeps, "sweeps"}, {s.resolves, "decided before the intent"}, {s.unread, "answers that show nothing"},
	} {
		if more.there {
			text += ", " + more.what
		}
	}
	return text
}

// aim is a write that clients may send. A DELETE or PATCH goes where the row is.
type aim struct {
	kind   WriteKind
	region uint8
}

var (
	anyWrite    = []aim{{Put, 0}, {Put, 1}, {Delete, 0}}
	withPatches = append(anyWrite[:3:3], aim{Patch, 0})
	updates     = []aim{{Put, 0}, {Put, 1}, {Patch, 0}}
)

func (s *scenario) start() world {
	w := world{left: s.left, reported: historyOf(0)}
	if s.live {
		w.reported = historyOf(1)
		w.provider[0] = there
		w.now = book{row: true, phase: Live, generation: 1, exists: s.events}
	}
	if !s.reads {
		w.reported = history{}
	}
	return w
}

// found is what an exploration came to.
type found struct {
	states, transitions, depth int
	took                       time.Duration
	fault                      string   // what went wrong, or nothing
	path                       []string // the shortest way there
}

func (f found) String() string {
	text := fmt.Sprintf("%d states, %d transitions, depth %d, %v", f.states, f.transitions, f.depth, f.took.Round(time.Millisecond))
	if f.fault == "" {
		return text
	}
	return fmt.Sprintf("%s: %s, after %d steps:\n  %s", text, f.fault, len(f.path), strings.Join(f.path, "\n  "))
}

// exploration is a search over all worlds of a model. A world is remembered as a
// hash of 63 bits: that two of five million share one has a chance of 1 to
// 700,000, and would hide a world, not invent a fault.
type exploration struct {
	model
	seed   maphash.Seed
	index  index
	parent []uint32
	edges  edges // that can be counted on
	rest   []uint32
	found  found
}

// explore visits every world of a model, and checks that from each of them the
// doubt can end. It stops at the first fault, and gives up at limit states.
func explore(m model, limit int) found {
	x := &exploration{model: m, seed: maphash.MakeSeed()}
	started := time.Now()
	x.run(limit)
	x.found.took = time.Since(started)
	return x.found
}

func (x *exploration) run(limit int) {
	start := x.start()
	start.canonical(&x.model)
	x.add(&start, 0)
	for level := []world{start}; len(level) > 0; x.found.depth++ {
		var next []world
		first := uint32(len(x.parent) - len(level))
		for n := range level {
			here := first + uint32(n)
			if level[n].atRest() {
				x.rest = append(x.rest, here)
			}
			for _, t := range x.next(&level[n]) {
				x.found.transitions++
				flipped := t.world.canonical(&x.model)
				there, isNew := x.add(&t.world, here)
				if t.helps && there != here {
					x.edges.add(here, there)
				}
				if !isNew && t.fault == "" {
					continue
				}
				if fault := t.check(&x.model); fault != "" {
					way := x.path(here)
					way.tell(t, flipped)
					x.found.fault, x.found.path = fault, way.steps
					return
				}
				next = append(next, t.world)
			}
		}
		level = next
		if len(x.parent) > limit {
			x.found.fault = fmt.Sprintf("there are more than %d states", limit)
			return
		}
	}
	if stuck, found := x.edges.outside(len(x.parent), x.rest); found {
		x.found.fault, x.found.path = "the doubt has no end", x.path(stuck).steps
	}
}

func (x *exploration) add(w *world, parent uint32) (at uint32, isNew bool) {
	next := uint32(len(x.parent))
	at = x.index.put(maphash.Comparable(x.seed, *w), next)
	if at != next {
		return at, false
	}
	x.parent = append(x.parent, parent)
	x.found.states++
	return at, true
}

// check says what is wrong with a step, or with where it leads, or nothing.
func (t *taken) check(m *model) string {
	switch {
	case t.fault != "":
		return t.fault
	case m.reads && t.world.reported.impossible():
		return "what the clients were told is not linearizable"
	case m.events && t.world.quiet() && t.world.now.exists != t.world.now.row:
		return "a row that is not in doubt, or none, and the newest event says otherwise"
	}
	return t.world.fault()
}

// path names the steps to a state, by going there again.
func (x *exploration) path(to uint32) retold {
	var way []uint32
	for at := to; at != 0; at = x.parent[at] {
		way = append(way, at)
	}
	w := x.start()
	r := retold{flipped: w.canonical(&x.model)}
	for _, step := range slices.Backward(way) {
		for _, t := range x.next(&w) {
			flipped := t.world.canonical(&x.model)
			if at := x.index.put(maphash.Comparable(x.seed, t.world), 0); at == step {
				r.tell(t, flipped)
				w = t.world
				break
			}
		}
	}
	return r
}

// retold is a way through the worlds with the regions' first names.
type retold struct {
	flipped bool
	steps   []string
}

// tell adds a step, after which the regions have changed places or not, and what
// the store says then.
func (r *retold) tell(t taken, flipped bool) string {
	text := t.text
	if t.slot >= 0 {
		text += fmt.Sprintf(" [%s in %s]", t.kind, regionName(t.region^uint8(bit(r.flipped))))
	}
	if r.flipped = r.flipped != flipped; r.flipped {
		t.world.flip()
	}
	text = fmt.Sprintf("%-70s | %s", text, t.world)
	r.steps = append(r.steps, text)
	return text
}

func (w world) String() string {
	text := describe(w.state(new(scratch)))
	if w.now.row {
		text = "in " + regionName(w.now.region) + " " + text
	}
	return fmt.Sprintf("%s | providers %v", text, w.provider)
}

func (h holding) String() string {
	return [...]string{"nothing", "there", "failed", "hidden", "working", "leaving", "doomed", "updating"}[h]
}

// index finds the states by their hashes: open addressing, with half of the
// places empty. A hash is never 0. Most steps lead where another one has led just
// before, which recent knows without a look into all that memory.
type index struct {
	hashes []uint64
	states []uint32
	used   int
	recent [1 << 14]struct {
		hash  uint64
		State uint32
	}
}

// put returns the state of a hash, which is next if it is new.
func (x *index) put(hash uint64, next uint32) uint32 {
	hash |= 1
	known := &x.recent[hash>>48%uint64(len(x.recent))]
	if known.hash != hash {
		known.hash, known.State = hash, x.look(hash, next)
	}
	return known.State
}

func (x *index) look(hash uint64, next uint32) uint32 {
	if 2*x.used >= len(x.hashes) {
		x.grow()
	}
	at := x.at(hash)
	if x.hashes[at] == 0 {
		x.hashes[at], x.states[at] = hash, next
		x.used++
	}
	return x.states[at]
}

func (x *index) at(hash uint64) uint64 {
	mask := uint64(len(x.hashes) - 1)
	at := hash >> 8 & mask
	for x.hashes[at] != 0 && x.hashes[at] != hash {
		at = (at + 1) & mask
	}
	return at
}

func (x *index) grow() {
	hashes, states := x.hashes, x.states
	size := max(1<<12, 4*len(hashes))
	x.hashes, x.states = make([]uint64, size), make([]uint32, size)
	for i, hash := range hashes {
		if hash != 0 {
			at := x.at(hash)
			x.hashes[at], x.states[at] = hash, states[i]
		}
	}
}

// edges are the steps between states that can be counted on.
type edges struct{ from, to []uint32 }

func (e *edges) add(from, to uint32) {
	e.from, e.to = append(e.from, from), append(e.to, to)
}

// outside returns a state from which none of the goals can be reached.
func (e *edges) outside(states int, goals []uint32) (stuck uint32, found bool) {
	begins := make([]uint32, states+1)
	for _, to := range e.to {
		begins[to+1]++
	}
	for i := range states {
		begins[i+1] += begins[i]
	}
	sources := make([]uint32, len(e.from))
	fill := append([]uint32(nil), begins...)
	for i, to := range e.to {
		sources[fill[to]] = e.from[i]
		fill[to]++
	}
	reaches := make([]bool, states)
	queue := append([]uint32(nil), goals...)
	for _, goal := range goals {
		reaches[goal] = true
	}
	for len(queue) > 0 {
		at := queue[len(queue)-1]
		queue = queue[:len(queue)-1]
		for _, from := range sources[begins[at]:begins[at+1]] {
			if !reaches[from] {
				reaches[from] = true
				queue = append(queue, from)
			}
		}
	}
	for i, ok := range reaches {
		if !ok {
			return uint32(i), true
		}
	}
	return 0, false
}
