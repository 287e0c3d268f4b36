package index

// model is what may happen in a scenario, by which rules.
type model struct {
	scenario
	Settle settler
	// Progress reads the answers to polls, as the product does.
	Progress func(ofStatus bool, status int, report Report) PollResult
	off      switches
	here     *world  // the world at hand
	steps    []taken // that may be taken from it
	room     scratch
}

// taken is a step and the world that it leads to.
type taken struct {
	step
	world world
	fault string // what is wrong with the step itself, or nothing
}

// step is what happened.
type step struct {
	text   string
	slot   int // -1: not about a write
	kind   WriteKind
	region uint8
	// helps: it needs neither a client nor a fault, so it may be counted on.
	helps bool
}

func (m *model) take(w world, text string, slot int, helps bool) {
	s := step{text: text, slot: slot, helps: helps}
	if slot >= 0 {
		about := &w.slots[slot]
		if about.use == idle { // its slot is free again
			about = &m.here.slots[slot]
		}
		s.kind, s.region = about.kind, about.region
	}
	m.steps = append(m.steps, taken{step: s, world: w})
}

// visible is the end of a transaction that is not flushed: what it did may be
// lost with the primary, and with it all that comes until then.
func (m *model) visible(before *world, after world, text string, slot int, helps bool) {
	m.take(after, text, slot, helps)
	if before.left.losses == 0 || before.lost || before.says(&after) {
		return
	}
	after.lost, after.before = true, before.now
	after.left.losses--
	for i := range after.slots {
		after.slots[i].before = before.slots[i].now
	}
	m.take(after, text+", which will be lost", slot, false)
}

// says reports whether the store says the same in both worlds.
func (w *world) says(other *world) bool {
	for i := range w.slots {
		if w.slots[i].now != other.slots[i].now {
			return false
		}
	}
	return w.now == other.now
}

// next collects all that may happen to w.
func (m *model) next(w *world) []taken {
	m.here, m.steps = w, m.steps[:0]
	m.begins(w)
	m.groups(w)
	for i := range w.slots {
		switch w.slots[i].use {
		case resolved:
			m.record(w, i)
		case sent:
			m.arrive(w, i)
			m.hear(w, i)
		case idle, spent:
		}
	}
	m.jobs(w)
	m.ticks(w)
	m.faults(w)
	if m.reads {
		m.readings(w)
	}
	return m.steps
}

// begins lets a client begin a write through either replica.
func (m *model) begins(w *world) {
	if w.left.writes == 0 {
		return
	}
	i := w.free(m)
	if i < 0 {
		return
	}
	for replica := range m.replicas(w) {
		for _, kind := range m.writes {
			started := *w
			started.left.writes--
			started.slots[i] = slot{use: resolved, kind: kind.kind, region: kind.region, replica: replica, shows: m.contents}
			if kind.kind != Put {
				m.resolveKnown(w, started, i)
				continue
			}
			if m.off.cachedWrites && w.cache[replica] > 0 {
				started.slots[i].region = w.cache[replica] - 1
			}
			started.invoke(m, i)
			if m.resolves {
				m.take(started, "the place of a write is decided", i, false)
			} else {
				m.record(&started, i)
			}
		}
	}
}

// free finds a slot for a client's write, if not too many are under way. A
// history has room for three.
func (w *world) free(m *model) int {
	under, at := 0, -1
	for i := range w.slots {
		switch s := &w.slots[i]; {
		case s.use == idle && at < 0 && (!m.reads || i < len(without)):
			at = i
		case s.use != idle && s.use != spent && !s.own:
			under++
		}
	}
	if under >= m.concurrent {
		return -1
	}
	return at
}

// replicas is how many differ: where one cannot die, nor remember anything,
// they are all one.
func (m *model) replicas(w *world) uint8 {
	if m.reads || w.left.crashes > 0 {
		return 2
	}
	return 1
}

// resolveKnown finds the region of a DELETE or PATCH by the row. Without one the
// client is told at once that there is nothing.
func (m *model) resolveKnown(w *world, started world, i int) {
	region := w.now.region
	known := w.now.row
	if m.off.cachedWrites && w.cache[started.slots[i].replica] > 0 {
		region, known = w.cache[started.slots[i].replica]-1, true
	}
	switch {
	case !known && m.reads && started.slots[i].kind == Delete:
		started.invoke(m, i)
		started.acknowledge(i)
		started.slots[i] = slot{}
		m.take(started, "a DELETE finds no row, 204", i, false)
	case known && m.resolves:
		started.slots[i].region = region
		started.invoke(m, i)
		m.take(started, "the place of a write is decided", i, false)
	case known:
		started.slots[i].region = region
		started.invoke(m, i)
		m.record(&started, i)
	}
}

// record is the transaction of Begin: admission and intent.
func (m *model) record(w *world, i int) {
	after := *w
	s := &after.slots[i]
	to := Placement{regionName(s.region), regionName(s.region)}
	if s.kind != Put {
		to.Location = ""
	}
	if !m.off.groupLock || s.own {
		var group *Group
		if w.now.group != gone {
			group = &Group{[...]GroupState{GroupActive, GroupDeleting}[w.now.group], idOf(0)}
		}
		incarnation := idOf(0)
		if s.old {
			incarnation = idOf(1)
		}
		if AdmitWrite(group, incarnation, s.own) != nil {
			after.refuse(i)
			after.slots[i] = slot{}
			m.drop(w, after, i)
			return
		}
	}
	if s.kind == Patch && !w.now.row { // the client is told that there is nothing
		after.refuse(i)
		after.slots[i] = slot{}
		m.drop(w, after, i)
		return
	}
	if s.kind == Put && w.fenced(Put, anywhere) && !m.off.fencedPut {
		after.refuse(i)
		after.slots[i] = slot{}
		m.drop(w, after, i)
		return
	}
	row := Placement{regionName(w.now.region), regionName(w.now.region)}
	if w.now.row && Conflicts(s.kind, to, row) && !m.off.cachedWrites {
		switch {
		case s.kind != Put: // decided anew
			s.region = w.now.region
		case !m.reads:
			return
		case w.doubtful(m): // the client is to try again: until then it is as if it had not
			after.refuse(i)
			after.slots[i] = slot{}
			m.drop(w, after, i)
			return
		default:
			after.refuse(i)
			after.slots[i] = slot{}
			after.claim(w.now.region)
			m.take(after, "a PUT is refused: the resource is elsewhere, 409", i, false)
			return
		}
	}
	m.send(after, i, "a write's intent is recorded")
}

// drop is the end of a write that never began; what it leaves matters only if
// something was decided before.
func (m *model) drop(w *world, after world, i int) {
	if m.resolves {
		m.take(after, "a write is refused", i, false)
	}
}

func regionName(region uint8) string { return [...]string{"a", "b"}[region] }

// send records the intent, and lets the write leave. It is flushed.
func (m *model) send(after world, i int, text string) {
	if after.lost && !m.off.flushed {
		return
	}
	s := &after.slots[i]
	s.use, s.left, s.away, s.waiting = sent, late, true, true
	if s.own && m.off.ownIntent || !s.own && (m.off.Intent || m.off.patchIntent && s.kind == Patch) {
		s.bare = true
	} else {
		ends := int64(late)
		if m.off.window {
			ends--
		}
		after.turn(m, Intended{ID: idOf(i), Kind: s.kind, Ends: ends}, s.region, true)
		after.forget(m, i)
	}
	if m.off.flushed {
		m.visible(m.here, after, text, i, false)
		return
	}
	m.take(after, text, i, false)
}

// forget drops what the replica of a write remembers of the place.
func (w *world) forget(m *model, i int) {
	if m.reads {
		w.cache[w.slots[i].replica] = 0
	}
}

// unbounded reports whether nothing keeps the write from leaving late: a part is off.
func (m *model) unbounded(s *slot) bool {
	return s.own && m.off.ownSendBy || !s.own && m.off.sendBy
}

// arrive lets the provider take the write, late or not, or refuse it.
func (m *model) arrive(w *world, i int) {
	s := w.slots[i]
	if !s.away || s.left == 0 && !(m.unbounded(&s) && s.waiting) {
		return
	}
	for _, can := range m.effects(w.provider[s.region], s.kind) {
		after := *w
		to := &after.slots[i]
		to.away = false
		after.provider[s.region] = can.holding
		text := "the provider takes a write"
		if can.answer.refuses() {
			text = "the provider refuses a write"
		} else {
			after.changed(m, s.region)
		}
		if to.running = can.running; to.waiting {
			to.answer = can.answer
		}
		m.take(after, text, i, true)
		if s.old && !s.now.fence && !can.answer.refuses() && (s.kind == Put || w.provider[s.region] != nothingThere) {
			m.steps[len(m.steps)-1].fault = "a write takes effect in a group that it was not meant for"
		}
		if m.off.secondSend && !can.answer.refuses() {
			to.away, to.running = true, false
			m.take(after, text+", and will have it once more", i, false)
		}
	}
	if s.waiting && s.answer == noAnswer && w.left.refusals > 0 {
		after := *w
		after.slots[i].away, after.slots[i].answer = false, refused400
		after.left.refusals--
		m.take(after, "the provider refuses a write, 400", i, false)
		if s.kind == Delete {
			after.slots[i].answer = noRoute404
			m.take(after, "something before the provider knows no route, 404", i, false)
		}
	}
}

// hear lets the caller of a write learn what became of it, and tell the store
// before it tells the client.
func (m *model) hear(w *world, i int) {
	s := w.slots[i]
	if s.early {
		m.settled(w, i, s.answer, "the store is told of an answer")
		return
	}
	if !s.waiting {
		return
	}
	if !m.lists {
		m.settled(w, i, noAnswer, "a write gets no answer")
	}
	switch {
	case s.answer == noAnswer && s.away && w.left.refusals > 0:
		after := *w
		after.left.refusals--
		after.slots[i].away, after.slots[i].waiting = false, false
		after.refuse(i)
		after.turn(m, Answered{ID: idOf(i), Outcome: NotSent}, s.region, true)
		after.forget(m, i)
		m.visible(w, after, "a write could not be sent", i, false)
	case s.answer == noAnswer:
	case m.off.answerFirst:
		after := *w
		after.slots[i].waiting, after.slots[i].early = false, true
		after.tell(i, s.answer)
		m.take(after, "a client is told before the store is", i, true)
	default:
		m.settled(w, i, s.answer, "a write is answered")
	}
}

func (m *model) settled(w *world, i int, answer answerIs, text string) {
	after := *w
	s := &after.slots[i]
	stale := s.stale
	s.waiting, s.early, s.answer, s.stale = false, false, noAnswer, false
	s.away = s.away && (answer == noAnswer || m.off.secondSend)
	if s.now.fence {
		m.settledFence(w, after, i, answer, text)
		return
	}
	open := s.now.open && s.now.left > 0
	if s.bare && answer != noAnswer { // what was known of it too late
		after.turn(m, Intended{ID: idOf(i), Kind: s.kind, Ends: int64(s.left)}, s.region, true)
		open = true
	}
	e := answer.event(idOf(i), s.kind)
	after.turn(m, e, s.region, stale || !answer.tells())
	after.forget(m, i)
	if open && e.Continues(s.kind) {
		after.follow(i)
	}
	if !w.slots[i].early {
		after.tell(i, answer)
	}
	m.visible(w, after, text, i, true)
}

// tell is the client's part of an answer. Of an operation that runs it does not
// say how it ends.
func (w *world) tell(i int, answer answerIs) {
	switch answer {
	case succeeded, unfinished, goneAnswer:
		w.acknowledge(i)
	case refused400, refused409, noRoute404:
		w.refuse(i)
	case noAnswer, accepted202, unread:
	}
}
