package inventory

import (
	"net/http"
	"slices"
	"strings"
)

// settle is the one rule by which the index changes, for gateway and jobs
// alike. It is pure: fresh is the generation that the row gets if the event
// changes what is known. An answer is proof only if nothing could overturn it;
// what is not proof flags the row, so that the provider will be asked.
func settle(before state, event any, fresh [16]byte) (state, actions) {
	s := before.clone()
	var did actions
	switch e := event.(type) {
	case intended:
		s.intend(e, fresh)
	case answered:
		did = s.answer(e)
	case observed:
		did = s.observe(e)
	case followEnded:
		did = s.end(e)
	case followLost:
		did = s.lose(e, fresh)
	case timePassed:
		did = s.pass(e)
	case seen:
		did = s.appear(e, fresh)
	}
	if s.row != nil && before.row != nil && (did.learn || s.touched(before)) {
		s.row.generation = fresh
	}
	return s, did
}

func (s state) clone() state {
	c := state{open: slices.Clone(s.open)}
	if s.row != nil {
		row := *s.row
		c.row = &row
	}
	return c
}

// touched tells whether the event is one that gives the row a new generation:
// every intent, the end of one, and whatever changed the row.
func (s state) touched(before state) bool {
	over := func(open []intent) (n int) {
		for _, in := range open {
			if in.callEnded {
				n++
			}
		}
		return n
	}
	return len(s.open) != len(before.open) || over(s.open) != over(before.open) || *s.row != *before.row
}

func (s *state) intend(e intended, fresh [16]byte) {
	added := intent{id: e.id, kind: e.kind, generation: fresh, notAfter: e.notAfter, ends: e.ends}
	s.oppose(&added)
	added.overlapped = added.overlapped || s.follows(Put) && e.kind.opposedBy(Put) || s.follows(Delete) && e.kind.opposedBy(Delete)
	if e.kind == Put && s.row == nil {
		added.createdRow = true
		s.row = &standing{phase: Pending, generation: fresh}
	}
	s.open = append(s.open, added)
}

// oppose marks a write and the open ones that it and they can overturn.
func (s *state) oppose(added *intent) {
	for i := range s.open {
		other := &s.open[i]
		other.overlapped = other.overlapped || other.kind.opposedBy(added.kind)
		added.overlapped = added.overlapped || added.kind.opposedBy(other.kind)
	}
}

// follows tells whether the operation of an accepted write is followed.
func (s *state) follows(kind WriteKind) bool {
	return s.row != nil && (kind == Put && s.row.followPut || kind == Delete && s.row.followDelete)
}

func (s *state) answer(e answered) actions {
	i := slices.IndexFunc(s.open, func(open intent) bool { return open.id == e.id })
	if i < 0 {
		return actions{} // ended already: whatever it says was not waited for
	}
	if e.outcome == Ambiguous {
		s.open[i].callEnded = true
		s.doubt()
		return actions{}
	}
	own := s.open[i]
	s.open = slices.Delete(s.open, i, i+1)
	switch {
	case e.outcome == NotSent || e.outcome == Refused:
		return s.refuse(own, e)
	case own.kind != Delete:
		return s.confirm(own, e)
	case e.outcome == Accepted:
		return s.acceptDelete(own)
	default:
		return s.gone(own)
	}
}

// doubt flags the row, if there is one.
func (s *state) doubt() {
	if s.row != nil {
		s.row.verify = true
	}
}

// refuse ends a write that changed nothing. Only the row that it made itself
// goes with it, and only if no other write touched that since. A DELETE's 404
// that speaks of something else than the resource, such as a route, flags the row:
// whoever said it may not be who holds the resource.
func (s *state) refuse(own intent, e answered) actions {
	if own.kind == Delete && e.outcome == Refused && e.status == http.StatusNotFound {
		s.doubt()
	}
	if own.kind != Put || s.row == nil {
		return actions{settled: true}
	}
	if own.createdRow && s.latest(own) && (e.outcome == NotSent || !mayExist(e.status)) {
		s.row = nil
		return actions{settled: true, orphaned: true}
	}
	if s.row.phase == Pending {
		s.row.verify = true
	}
	return actions{settled: true}
}

// latest tells whether nothing has happened to the row since a write's intent:
// its generation is still the one that the intent gave it.
func (s *state) latest(own intent) bool { return s.row.generation == own.generation }

// mayExist tells the refusals of a create which may mean that the resource is
// there: a conflict, a failed precondition, a lock, or simply not now.
func mayExist(status int) bool {
	return status == 409 || status == 412 || status == 423 || status == 429
}

// confirm takes a PUT's or PATCH's success. It never lifts verify: only a GET does.
// Where something else has happened since its intent, it is not known which of both
// the provider took last, and so neither what the resource looks like. A PATCH that
// has not ended is asked for instead of followed: as it makes nothing, it must not
// keep a 404 from being believed.
func (s *state) confirm(own intent, e answered) actions {
	if s.row == nil { // after a PATCH; what was seen before is out of date
		return actions{tombstone: true}
	}
	ended := e.outcome == Succeeded && Terminal(e.provisioningState)
	if !ended && own.kind == Put {
		s.follow(own, &s.row.followPut)
	}
	s.row.verify = s.row.verify || !ended && own.kind == Patch || own.overlapped || !s.latest(own)
	if own.overlapped {
		return actions{}
	}
	if e.outcome == Succeeded {
		s.row.phase = Live
	}
	return actions{settled: true, learn: true}
}

// follow begins to follow the operation of an accepted write. One operation of a
// kind is followed, the newest. What was followed before is lost: as long as it may
// run on, the write that took its place stands for it.
func (s *state) follow(own intent, following *bool) {
	if *following {
		own.callEnded = true
		s.open = append(s.open, own)
		s.row.verify = true
	}
	*following = true
}

func (s *state) acceptDelete(own intent) actions {
	if s.row == nil {
		// Nobody follows it: a list that was begun before must not bring it back.
		return actions{settled: true, tombstone: true}
	}
	s.follow(own, &s.row.followDelete)
	if own.overlapped {
		s.row.verify = true
		return actions{}
	}
	s.row.phase = Deleting
	return actions{settled: true}
}

func (s *state) gone(own intent) actions {
	if own.overlapped {
		s.doubt()
		return actions{orphaned: s.row != nil}
	}
	did := actions{settled: true, tombstone: true, orphaned: s.row != nil}
	s.row = nil
	return did
}

// observe takes what a GET said. The generation proves that no intent began or
// ended since it was asked, so those open now are all that could overturn it,
// beside an accepted operation that still runs.
func (s *state) observe(e observed) actions {
	if s.row == nil || s.row.generation != e.generation {
		return actions{}
	}
	opposing, following := Put, s.row.followPut
	if e.found {
		opposing, following = Delete, s.row.followDelete
	}
	switch {
	case s.has(Move):
		s.row.verify = true
		return actions{}
	case s.has(opposing):
		return s.glimpse(e)
	case following:
		return actions{}
	case !e.found:
		s.row = nil
		return actions{settled: true, tombstone: true, orphaned: true}
	case !Terminal(e.provisioningState):
		s.unfinished(e.provisioningState)
		return actions{learn: true}
	}
	*s.row = standing{phase: Live, generation: s.row.generation}
	return actions{settled: true, learn: true}
}

// has tells whether a write of a kind is open.
func (s *state) has(kind WriteKind) bool {
	return slices.ContainsFunc(s.open, func(open intent) bool { return open.kind == kind })
}

// glimpse takes a GET that a write on its way may overturn: the row shows what is
// so now, and stays in doubt.
func (s *state) glimpse(e observed) actions {
	s.row.verify = true
	if e.found {
		if s.row.phase == Pending {
			s.row.phase = Live
		}
		return actions{learn: true}
	}
	if !s.row.followPut {
		s.row.phase = Pending
	}
	return actions{}
}

// unfinished takes a GET that found the resource on its way to something: it is
// there, but asking has to go on.
func (s *state) unfinished(provisioningState string) {
	switch {
	case strings.EqualFold(provisioningState, "Deleting"):
		s.row.phase = Deleting
	case s.row.phase == Pending:
		s.row.phase = Live
	}
	if !s.row.followPut && !s.row.followDelete {
		s.row.verify = true
	}
}

// end ends a follow. What the operation made of the resource only a GET tells.
func (s *state) end(e followEnded) actions {
	if s.row == nil {
		return actions{}
	}
	following := &s.row.followPut
	if e.kind == Delete {
		following = &s.row.followDelete
	}
	if !*following {
		return actions{}
	}
	*following, s.row.verify = false, true
	return actions{orphaned: e.kind == Delete}
}

// lose ends a follow of which the end is not known. The operation may run on,
// unseen, for as long as a write without an answer may: until then it counts as one.
func (s *state) lose(e followLost, fresh [16]byte) actions {
	if !s.follows(e.kind) {
		return actions{}
	}
	did := s.end(followEnded{kind: e.kind})
	left := intent{id: e.id, kind: e.kind, generation: fresh, ends: e.ends, callEnded: true}
	s.oppose(&left)
	s.open = append(s.open, left)
	return did
}

// pass ends the intents whose time is over; what they did stays unknown. Where
// no row can say so, a tombstone keeps what was seen before from being adopted:
// a DELETE may have landed since, or a PATCH.
func (s *state) pass(e timePassed) actions {
	var ended, deletes bool
	s.open = slices.DeleteFunc(s.open, func(in intent) bool {
		over := in.ends <= e.now
		ended, deletes = ended || over, deletes || over && in.kind == Delete
		return over
	})
	if !ended {
		return actions{}
	}
	s.doubt()
	return actions{tombstone: s.row == nil, orphaned: s.row != nil && deletes}
}

// appear makes the row of a resource that was found without one, as observe
// would have left it. While a write is open that decides instead.
func (s *state) appear(e seen, fresh [16]byte) actions {
	if s.row != nil || len(s.open) > 0 {
		return actions{}
	}
	s.row = &standing{phase: Live, generation: fresh}
	if !Terminal(e.provisioningState) {
		s.unfinished(e.provisioningState)
	}
	return actions{settled: true, learn: true}
}

// Terminal tells the provisioning states that a resource stays in, in any casing
// (addendum, ProvisioningState property). None at all means success.
func Terminal(provisioningState string) bool {
	switch strings.ToLower(provisioningState) {
	case "", "succeeded", "failed", "canceled":
		return true
	}
	return false
}
