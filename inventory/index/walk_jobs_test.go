package index

// What happens without a client: verification, follows, the end of time, the
// group's delete, and what may go wrong. No lease keeps one from doing anything
// here: who lost one may do whatever its holder may, and as late.

func (m *model) jobs(w *world) {
	m.ask(w)
	m.observe(w)
	m.lie(w)
	m.fences(w)
	m.follow(w, Put)
	m.follow(w, Delete)
	m.follow(w, Patch)
	m.expire(w)
	m.complete(w)
	if m.sweeps {
		m.sweep(w)
		m.adopt(w)
	}
}

// ask is a GET by a verification, or by a client whose answer is learnt from. One
// at a time is enough: of two with the same generation the first to arrive
// either changes nothing or makes the other one void.
func (m *model) ask(w *world) {
	if !w.now.row {
		return
	}
	h := w.provider[w.now.region]
	switch h { // it sees no difference
	case hidden:
		h = nothingThere
	case doomed, updating:
		h = there
	case nothingThere, there, failedThere, working, leaving:
	}
	b := &w.now
	doubtful := b.phase != Live || b.verify || b.followPut || b.followPatch
	if !doubtful && h != nothingThere {
		return
	}
	after := *w
	after.get = question{on: true, generation: b.generation, holding: h}
	if after != *w {
		m.take(after, "a GET asks for the row", -1, true)
	}
}

// lie is a 404 that a client gets though the resource is there: it has Portico ask
// by itself, and changes nothing.
func (m *model) lie(w *world) {
	if !m.off.clientAbsence || !w.now.row || w.get.on {
		return
	}
	after := *w
	after.get = question{on: true, generation: w.now.generation, holding: nothingThere}
	m.take(after, "a client's GET is answered 404, though the resource is there", -1, false)
}

func (m *model) observe(w *world) {
	if !w.get.on {
		return
	}
	after := *w
	after.get = question{}
	e := Observed{Generation: generationOf(w.get.generation)}
	e.Found, e.ProvisioningState = w.get.holding.shown()
	after.turn(m, e, 0, w.get.stale)
	m.forgetAll(w, after, "what the GET said is recorded")
}

// forgetAll ends a transaction that no client's replica is known to have made:
// either may drop what it remembers.
func (m *model) forgetAll(before *world, after world, text string) {
	m.visible(before, after, text, -1, true)
	if !m.reads {
		return
	}
	for r := range after.cache {
		if after.cache[r] != 0 {
			dropped := after
			dropped.cache[r] = 0
			m.visible(before, dropped, text, -1, true)
		}
	}
}

// unclearPolls are answers to polls of an operation that runs, each by the status of the
// answer and what its text reports, that say nothing of the operation: pages of HTML,
// nothing, half a text, an object without a status.
var unclearPolls = []struct {
	ofStatus bool
	status   int
	report   Report
}{
	{true, 200, Report{}}, {true, 200, Reported("")}, {true, 201, Report{}}, {true, 201, Reported("")}, {true, 204, Reported("")},
	{true, 503, Report{}}, {false, 200, Report{}}, {false, 201, Report{}}, {false, 503, Report{}},
}

// follow is a poll that finds the operation over, or lost. A poll that says
// something odd, or whatever a client's says, changes nothing.
func (m *model) follow(w *world, kind WriteKind) {
	b := &w.now
	running, following := b.operation(kind)
	if !b.row || !following || w.lost {
		return // the end of a follow is flushed
	}
	if !*running {
		after := *w
		after.turn(m, FollowEnded{Kind: kind}, 0, true)
		m.take(after, "a poll finds the operation over", -1, true)
		return
	}
	if m.unread {
		m.unclear(w, kind)
	}
	if w.left.lostPolls == 0 {
		return
	}
	if m.off.clientPolls {
		after := *w
		after.left.lostPolls--
		after.turn(m, FollowEnded{Kind: kind}, 0, true)
		m.take(after, "a client's poll is answered 400", -1, false)
	}
	m.lose(w, kind, true, "a poll finds the operation lost")
	if m.off.onePoll {
		m.lose(w, kind, false, "a poll is answered 404 for once")
	}
}

// unclear is a poll that says nothing of an operation that runs.
func (m *model) unclear(w *world, kind WriteKind) {
	for _, poll := range unclearPolls {
		if m.Progress(poll.ofStatus, poll.status, poll.report) == PollFinished {
			after := *w
			after.turn(m, FollowEnded{Kind: kind}, 0, true)
			m.take(after, "a poll that says nothing is taken for the end", -1, false)
			return
		}
	}
}

// lose ends a follow without its end being known. Of an operation that is really
// lost its provider shows nothing for no longer than a late write may take.
func (m *model) lose(w *world, kind WriteKind, really bool, text string) {
	for i := range w.slots {
		if w.slots[i].use != idle {
			continue
		}
		after := *w
		after.left.lostPolls--
		after.slots[i] = slot{use: sent, kind: kind, region: w.now.region, left: 1, forgot: true, running: really}
		after.turn(m, FollowLost{ID: idOf(i), Kind: kind, Ends: 1}, 0, true)
		if m.off.lostWindow {
			after.slots[i] = slot{}
		}
		m.take(after, text, i, false)
		return
	}
}

// sweep finds the resource in a region.
func (m *model) sweep(w *world) {
	for region, h := range w.provider {
		if found, _ := h.shown(); found && !w.sight.on {
			after := *w
			after.sight = sighting{on: true, region: uint8(region), holding: h}
			m.take(after, "a sweep finds the resource", -1, false)
		}
	}
}

// adopt makes the row of what a sweep has found, if there is none, and nothing
// that could have taken it away since. It is flushed.
func (m *model) adopt(w *world) {
	if !w.sight.on || w.lost {
		return
	}
	after := *w
	after.sight = sighting{}
	if (!w.sight.moot || m.off.tombstone) && !w.fenced(Put, anywhere) && w.now.group != gone {
		_, provisioningState := w.sight.holding.shown()
		after.turn(m, Discovered{ProvisioningState: provisioningState}, w.sight.region, w.sight.stale)
	}
	m.take(after, "what the sweep found is adopted, unless it is known", -1, true)
}

// expire ends the intents whose time is over.
func (m *model) expire(w *world) {
	for i := range w.slots {
		if in := &w.slots[i].now; in.open && in.left == 0 {
			after := *w
			after.turn(m, TimePassed{}, 0, true)
			m.visible(w, after, "time ends the intents", -1, true)
			return
		}
	}
}

// complete lets the operation that runs in a region end.
func (m *model) complete(w *world) {
	for region, h := range w.provider {
		switch h {
		case hidden:
			m.completed(w, region, Put, there, "a create ends")
			m.completed(w, region, Put, nothingThere, "a create fails")
		case working:
			m.completed(w, region, Put, there, "an operation ends")
		case updating:
			m.completed(w, region, Put, there, "an operation that does not show ends")
		case leaving, doomed:
			m.completed(w, region, Delete, nothingThere, "a delete ends")
			m.completed(w, region, Delete, failedThere, "a delete fails")
		case nothingThere, there, failedThere:
		}
	}
}

func (m *model) completed(w *world, region int, kind WriteKind, end holding, text string) {
	after := *w
	after.provider[region] = end
	after.changed(m, uint8(region))
	for i := range after.slots {
		if s := &after.slots[i]; (s.kind == Delete) == (kind == Delete) && int(s.region) == region {
			s.running = false
		}
	}
	for _, b := range [...]*book{&after.now, &after.before} {
		if kind == Put {
			b.runPut, b.runPatch = false, false
		} else {
			b.runDelete = false
		}
	}
	m.take(after, text, -1, true)
}

// ticks let time pass: what has not left by its first tick never will, and what
// has not been taken by its second never will be. An operation that a provider has
// accepted and does not show is a late write like any other: if no one has heard
// of it, it ends within the window, or no one could ever know.
func (m *model) ticks(w *world) {
	after := *w
	passes := false
	age := func(left *uint8) {
		if *left > 0 {
			*left--
			passes = true
		}
	}
	for i := range after.slots {
		s := &after.slots[i]
		if s.running && s.left == 1 && w.provider[s.region].silent() {
			return
		}
		age(&s.left)
		age(&s.now.left)
		age(&s.before.left)
	}
	if passes && !m.lists { // every write is answered in its time then
		m.take(after, "time passes", -1, true)
	}
}

// faults: a replica dies, the engine's primary is lost.
func (m *model) faults(w *world) {
	if w.lost {
		after := *w
		after.lost, after.now, after.before = false, w.before, book{}
		for i := range after.slots {
			s := &after.slots[i]
			s.now, s.before = s.before, mark{}
		}
		// The loss is decided already; that it happens can be counted on.
		m.take(after, "the primary is lost, and what was not flushed with it", -1, true)
	}
	if w.left.crashes == 0 {
		return
	}
	for replica := range uint8(2) {
		after := *w
		after.cache[replica] = 0
		if after.read.replica == replica {
			after.breakRead()
		}
		for i := range after.slots {
			s := &after.slots[i]
			if s.replica != replica {
				continue
			}
			if s.use == resolved {
				after.refuse(i)
				after.slots[i] = slot{}
				continue
			}
			s.waiting, s.early, s.answer, s.stale = false, false, noAnswer, false
			if s.use == sent && !s.now.open && m.off.sendBy {
				s.away = false
			}
		}
		if after == *w {
			continue // it had nothing to lose
		}
		after.left.crashes--
		m.take(after, "a replica dies", -1, false)
	}
}

// groups lets the group be deleted, and made anew.
func (m *model) groups(w *world) {
	if w.lost {
		return // all of it is flushed
	}
	if w.now.group == active && w.left.marks > 0 {
		after := *w
		after.left.marks--
		after.now.group = deleting
		m.take(after, "the group is marked Deleting", -1, false)
	}
	if w.now.group == deleting {
		m.ownDelete(w)
		m.close(w)
		m.back(w)
	}
	if w.now.group == gone && w.left.remakes > 0 {
		after := *w
		after.left.remakes--
		after.now.group = active
		for i := range after.slots {
			if s := &after.slots[i]; s.use != idle {
				s.old = true
			}
		}
		m.take(after, "the group is made anew", -1, false)
	}
}

// ownDelete is a DELETE that the group's delete sends.
func (m *model) ownDelete(w *world) {
	if w.left.ownWrites == 0 || !w.now.row {
		return
	}
	for i := range w.slots {
		if w.slots[i].use != idle {
			continue
		}
		for replica := range m.replicas(w) {
			after := *w
			after.left.ownWrites--
			after.slots[i] = slot{kind: Delete, region: w.now.region, own: true, replica: replica}
			m.record(&after, i)
		}
		return
	}
}

// close is the transaction in which the group goes. What Portico's own GET said
// of a row counts if nothing has happened to that since.
func (m *model) close(w *world) {
	after := *w
	if w.now.row || !w.quiet() { // time ends what it can
		after.turn(m, TimePassed{}, 0, true)
	}
	s := after.state(&m.room)
	var absent [16]byte
	if found, _ := w.get.holding.shown(); w.get.on && !found {
		absent = generationOf(w.get.generation)
	}
	calls, rows := s.UnderWay(1), 0
	if m.off.openIntents {
		calls = 0
	}
	if s.Row != nil && !s.Absent(absent) {
		rows++
	}
	if !MayClose(rows, 0, calls) {
		return
	}
	after.sight.moot = after.sight.on && (after.sight.moot || after.now.row)
	after.now = book{group: gone, exists: after.now.exists && !after.now.row}
	for i := range after.slots {
		in := &after.slots[i].now
		in.started = 0
		if in.open {
			*in = mark{fence: !m.off.openIntents, left: in.left}
		}
	}
	after.get = question{}
	m.take(after, "the group goes", -1, false)
}
