package index

// The walk explores, breadth first, everything that can happen to one resource
// in two regions behind two replicas, over the settle and the admission of
// writes and group deletes that the product runs. A world is one moment of it:
// what the providers hold, what the store says, what is on its way, and what
// the clients were told. Its steps are in the other files of the walk.

// slots is how many writes may be on their way at a time, clients' and a group
// delete's own; histories have room for the first three.
const slots = 5

// late is how many ticks pass until a write can no longer be applied. In the
// first of them it has to leave.
const late = 2

// holding is what a region's provider has of the resource.
type holding uint8

const (
	nothingThere holding = iota
	there
	failedThere // its provisioningState is Failed
	hidden      // a create is under way, GET says 404 (the old pattern of 202)
	working     // GET shows it, its provisioningState is not terminal
	leaving     // a delete is under way, and GET says so
	doomed      // a delete is under way, GET does not say so
	updating    // a PATCH was accepted, GET shows what was before
)

// stands reports whether the resource is there, and nothing is under way.
func (h holding) stands() bool { return h == there || h == failedThere }

// silent reports whether an operation is under way of which GET says nothing.
func (h holding) silent() bool { return h == hidden || h == doomed || h == updating }

// shown is what GET says.
func (h holding) shown() (found bool, provisioningState string) {
	switch h {
	case there, doomed, updating:
		return true, "Succeeded"
	case failedThere:
		return true, "Failed"
	case working:
		return true, "Creating"
	case leaving:
		return true, "Deleting"
	}
	return false, ""
}

// book is what the store says, beside the intents.
type book struct {
	row                     bool
	phase                   Phase
	verify                  bool
	followPut, followDelete bool
	followPatch             bool
	// runPut, runDelete, runPatch: the operation that is followed runs. No one reads it
	// but the one who polls.
	runPut, runDelete, runPatch bool
	generation, region          uint8
	group                       groupIs
	// stale: the provider holds other contents than the row tells of.
	stale bool
	// exists: the newest event that tells says so.
	exists bool
}

// follow has the operation of the newest accepted write followed. What was
// followed before is lost, and that write stands for it.
func (w *world) follow(i int) {
	s, b := &w.slots[i], &w.now
	running, following := b.operation(s.kind)
	newest := s.running
	if s.now.open {
		s.forgot, s.running, s.left = true, s.running || *running, s.now.left
	}
	*running = following && newest
}

// operation is that of the newest accepted write of a kind: whether it runs, and whether
// it is followed.
func (b *book) operation(kind WriteKind) (running *bool, following bool) {
	switch kind {
	case Delete:
		return &b.runDelete, b.followDelete
	case Patch:
		return &b.runPatch, b.followPatch
	case Put, Move:
	}
	return &b.runPut, b.followPut
}

type groupIs uint8

const (
	active groupIs = iota
	deleting
	gone
)

// mark is an intent in the store.
type mark struct {
	open, created, spoiled, ended bool
	generation, left              uint8
	// fence: its group has closed over it. followed: it is of a DELETE that the
	// fence's own job sent, and that was accepted.
	fence, followed bool
	// begun: the row remembers the write, as no event says yet how it has ended; the
	// lowest number began first.
	started uint8
}

// use is how far a write is.
type use uint8

const (
	idle     use = iota
	resolved     // its region, and the state of the group, were read
	sent         // its intent is recorded; from now on it may be applied
	spent        // over, but a client, or who reads events, was not told what became of it
)

// answerIs is what a provider answered to a write.
type answerIs uint8

const (
	noAnswer   answerIs = iota
	succeeded           // 200, 201
	unfinished          // 201 with a provisioningState that is not terminal
	accepted202
	goneAnswer // a DELETE's 200, 204, 404
	refused400
	refused409
	noRoute404 // to a DELETE: it speaks of something else than the resource
	unread     // a success whose text shows no resource
)

// refuses: the write has changed nothing.
func (a answerIs) refuses() bool { return a == refused400 || a == refused409 || a == noRoute404 }

// tells: the answer shows the resource as the write has made it.
func (a answerIs) tells() bool { return a == succeeded || a == unfinished }

func (a answerIs) event(id [16]byte, kind WriteKind) Answered {
	e := Answered{ID: id}
	switch a {
	case noAnswer:
	case succeeded:
		e.Outcome, e.Status, e.ProvisioningState = Succeeded, 201, "Succeeded"
	case unfinished:
		e.Outcome, e.Status, e.ProvisioningState = Succeeded, 201, "Creating"
	case accepted202:
		e.Outcome, e.Status = Accepted, 202
	case goneAnswer:
		e.Outcome, e.Status = Gone, 204
	case refused400:
		e.Outcome, e.Status = Refused, 400
	case refused409:
		e.Outcome, e.Status = Refused, 409
	case noRoute404:
		e.Outcome, e.Status = Refused, 404
	case unread:
		e.Status = map[WriteKind]int{Put: 201, Patch: 200}[kind]
		e.Outcome = ReadAnswer(kind, e.Status, false)
	}
	return e
}

// slot is one write.
type slot struct {
	use             use
	kind            WriteKind
	region, replica uint8
	// left is how many ticks pass until it can no longer be applied. In the
	// first it has to leave.
	left    uint8
	away    bool // it may yet be applied
	waiting bool // its caller lives, and waits
	answer  answerIs
	shows   bool // what an answer shows of the resource counts
	stale   bool // what the answer shows is no longer what the provider holds
	running bool // its operation runs
	pending bool // its client was told nothing definite
	old     bool // meant for a group that was closed since, or given back
	own     bool // sent by the group's delete
	clears  bool // sent under a fence, by its job
	forgot  bool // it stands for an operation that no one can say anything of
	bare    bool // sent without an intent: a part is switched off
	early   bool // its client was told before the store: a part is switched off
	// now and before are its intent in the store, and in the store as it will be
	// after the loss that is coming.
	now, before mark
}

// question is what a GET said that has not reached the store.
type question struct {
	on         bool
	generation uint8
	holding    holding
	stale      bool // what it shows is no longer what the provider holds
}

// sighting is what a sweep saw before it looks into the store.
type sighting struct {
	on      bool
	region  uint8
	holding holding
	moot    bool // a tombstone is younger
	stale   bool // as of a GET
}

// reading is a client's GET or HEAD under way.
type reading struct {
	on, head, cached, again bool
	region, replica         uint8
}

// budget bounds what is not to happen for ever.
type budget struct {
	writes, crashes, losses, refusals, lostPolls uint8
	marks, ownWrites, remakes, backs             uint8
}

// world has no pointers and no gaps, so that it can be compared and hashed.
type world struct {
	reported history
	slots    [slots]slot
	provider [2]holding
	now      book
	// lost: some of what is visible will be lost with the engine's primary, and
	// before is what the store will say then. What is flushed is never lost, so
	// nothing is until then.
	lost   bool
	before book
	get    question
	sight  sighting
	read   reading
	cache  [2]uint8 // per replica: the region that it remembers, plus one
	left   budget
}

// generationOf and idOf are the numbers of the world as the store has them.
func generationOf(n uint8) (g [16]byte) {
	g[0] = n
	return g
}

func idOf(slot int) (id [16]byte) {
	id[0] = uint8(slot) + 1
	return id
}

// scratch is room for a state, as settle wants it; it never keeps what it gets.
type scratch struct {
	row  Row
	open [slots]Intent
}

// state is what the store says, as settle wants it.
func (w *world) state(room *scratch) State {
	s := State{Open: room.open[:0]}
	if b := &w.now; b.row {
		room.row = Row{
			Phase: b.phase, Verify: b.verify, FollowPut: b.followPut, FollowDelete: b.followDelete, FollowPatch: b.followPatch,
			Generation: generationOf(b.generation),
		}
		s.Row = &room.row
	}
	for i := range w.slots {
		if in := &w.slots[i].now; in.open {
			s.Open = append(s.Open, Intent{
				ID: idOf(i), Kind: w.slots[i].kind, Generation: generationOf(in.generation),
				CreatedRow: in.created, Overlapped: in.spoiled, CallEnded: in.ended, NotAfter: int64(in.left), Ends: int64(in.left),
			})
		}
	}
	return s
}

// take stores what settle made of the state. A row that is new lies in region.
func (w *world) take(s State, region uint8) {
	b := &w.now
	if s.Row == nil {
		*b = book{group: b.group, exists: b.exists}
	} else {
		if !b.row {
			b.region = region // what it holds is learnt
		}
		b.row, b.phase, b.verify = true, s.Row.Phase, s.Row.Verify
		b.followPut, b.followDelete, b.followPatch = s.Row.FollowPut, s.Row.FollowDelete, s.Row.FollowPatch
		b.runPut, b.runDelete, b.runPatch = b.runPut && b.followPut, b.runDelete && b.followDelete, b.runPatch && b.followPatch
		b.generation = s.Row.Generation[0]
	}
	for i := range w.slots {
		if in := &w.slots[i].now; !in.fence {
			*in = mark{started: in.started}
			if s.Row == nil {
				in.started = 0
			}
		}
	}
	for _, in := range s.Open {
		started := w.slots[in.ID[0]-1].now.started
		w.slots[in.ID[0]-1].now = mark{
			open: true, created: in.CreatedRow, spoiled: in.Overlapped, ended: in.CallEnded, generation: in.Generation[0], left: uint8(in.Ends), started: started,
		}
	}
}

// settler is settle, or what a test has made of it.
type settler func(before State, event any, fresh [16]byte) (State, Actions)

// The generations that a transaction gives; canonical worlds know 1 and 2 alone.
var freshPassed, freshNow = generationOf(3), generationOf(4)

// turn is one transaction about the resource: as in held.settle, time comes
// first. stale tells of what an event shows of the resource.
func (w *world) turn(m *model, event any, region uint8, stale bool) {
	s := w.state(&m.room)
	found := s.clone()
	var passing Actions
	for _, in := range s.Open {
		if in.Ends == 0 {
			s, passing = m.Settle(s, TimePassed{}, freshPassed)
			break
		}
	}
	s, did := m.Settle(s, event, freshNow)
	w.sight.moot = w.sight.on && (w.sight.moot || passing.Tombstone || did.Tombstone)
	created := !w.now.row
	if m.events {
		w.record(m, found, event, s, did)
	}
	w.take(s, region)
	if w.now.row && m.contents && (created || did.Learn) {
		w.now.stale = stale
	}
}

// changed is what a provider's taking a write, or the end of an operation, means
// for all that tells of the contents that it has held until then.
func (w *world) changed(m *model, region uint8) {
	if !m.contents {
		return
	}
	for i := range w.slots {
		if s := &w.slots[i]; s.region == region && s.answer.tells() {
			s.stale = true
		}
	}
	for _, b := range [...]*book{&w.now, &w.before} {
		if b.row && b.region == region {
			b.stale = true
			w.get.stale = w.get.stale || w.get.on && w.get.generation == b.generation
		}
	}
	if w.sight.on && w.sight.region == region {
		w.sight.stale = true
	}
}

// doubtful tells, as the gateway does, whether the row proves nothing.
func (w *world) doubtful(m *model) bool {
	return NeedsVerify(w.now.phase, w.now.verify) || !m.off.openDelete && w.state(&m.room).RemovalOpen()
}

// fenced reports whether a fence stands: one that a write of a kind left in region,
// or any, for no region.
func (w *world) fenced(kind WriteKind, region int) bool {
	for i := range w.slots {
		s := &w.slots[i]
		if s.now.fence && (region < 0 || s.kind == kind && int(s.region) == region) {
			return true
		}
	}
	return false
}

const anywhere = -1

// quiet reports whether the store is sure of everything.
func (w *world) quiet() bool {
	for i := range w.slots {
		if w.slots[i].now.open || w.slots[i].now.fence {
			return false
		}
	}
	b := &w.now
	return !b.verify && !b.followPut && !b.followDelete && !b.followPatch
}

// atRest reports whether nothing will happen any more unless a client begins.
func (w *world) atRest() bool {
	for i := range w.slots {
		if w.slots[i].use == sent {
			return false
		}
	}
	return w.quiet() && !w.lost && !w.read.on
}

// fault says what is wrong with a world, or nothing.
func (w *world) fault() string {
	held := -1
	for region, h := range w.provider {
		if h == nothingThere {
			continue
		}
		if held >= 0 {
			return "both regions hold the resource"
		}
		held = region
	}
	intents := false
	for i := range w.slots {
		intents = intents || w.slots[i].now.open
	}
	switch b := &w.now; {
	case b.group == gone && held >= 0 && !w.fenced(Put, held):
		return "a resource outlives its group"
	case b.group == gone && (b.row || intents):
		return "a group closed over a row or an open intent"
	case !w.quiet():
		return ""
	case !b.row && held >= 0:
		return "a provider holds the resource, and nothing remembers it"
	case b.row && b.phase != Live:
		return "a row that is " + b.phase.String() + ", and nothing will change that"
	case b.row && held != int(b.region):
		return "a row that is not in doubt, and its region's provider has nothing"
	case held >= 0 && !w.provider[held].stands():
		return "a row that is not in doubt, while an operation runs"
	case b.stale:
		return "a row that is not in doubt, and its resource no longer looks like that"
	}
	return ""
}
