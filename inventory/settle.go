package inventory

import (
	"net/http"
	"slices"
	"strings"
)

// WriteKind tells the writes that a tracked resource is sent. The numbers are
// stored.
type WriteKind uint8

// The kinds of writes. A PUT and a DELETE oppose each other: one says that the
// resource exists, the other that it is gone. A PATCH changes no existence, so it
// opposes neither; but a DELETE opposes it.
const (
	Put WriteKind = iota
	Delete
	Patch
	// Move is Portico's own: a provider was told to move the resource, or may be
	// making another one of this ID. It opposes whatever a GET can say of either, and
	// ends by the knowledge of its job alone.
	Move
)

var writeKinds = [...]string{"PUT", "DELETE", "PATCH", "MOVE"}

func (k WriteKind) String() string { return nameOf(writeKinds[:], int(k)) }

// opposedBy tells whether another write can overturn what this one's answer says
// of the resource's existence.
func (k WriteKind) opposedBy(other WriteKind) bool {
	if k == Delete {
		return other == Put
	}
	return other == Delete
}

// removes holds for the kinds after which a resource may be gone.
func (k WriteKind) removes() bool { return k == Delete || k == Move }

// Outcome is what an answer to a write means.
type Outcome uint8

// The outcomes of a write.
const (
	// Ambiguous: no answer, a broken one, 408 or 5xx. The write may have been
	// applied, or may yet be.
	Ambiguous Outcome = iota
	// NotSent: no byte of it has left.
	NotSent
	// Refused: any other 3xx or 4xx, but a 404 to a DELETE.
	Refused
	// Succeeded: a PUT's 200 or 201, a PATCH's 200.
	Succeeded
	// Accepted: 202, or a PATCH's success that does not show what it made.
	Accepted
	// Gone: a DELETE's 200, 204 or 404.
	Gone
)

var outcomes = [...]string{"Ambiguous", "NotSent", "Refused", "Succeeded", "Accepted", "Gone"}

func (o Outcome) String() string { return nameOf(outcomes[:], int(o)) }

// OutcomeOf tells what the status of the answer to a write means for the
// existence of its resource (index protocol, R3 and R4).
func OutcomeOf(kind WriteKind, status int) Outcome {
	switch {
	case status == http.StatusRequestTimeout || status >= http.StatusInternalServerError || status < http.StatusOK:
		return Ambiguous
	case status == http.StatusAccepted:
		return Accepted
	case kind == Delete && (status < http.StatusMultipleChoices || status == http.StatusNotFound):
		return Gone
	case status < http.StatusMultipleChoices:
		return Succeeded
	}
	return Refused
}

// state is what is known of one resource: its row, and the writes that may
// still be on their way.
//
// While a PUT is open there is a row: a PUT's intent makes one, and nothing
// removes it while that PUT is open, but the same PUT's refusal. A Pending row
// that is not flagged therefore has an open PUT or a followed one.
type state struct {
	row  *standing // nil: none
	open []intent
}

// standing is the part of a row that events change.
type standing struct {
	phase                   Phase
	verify                  bool
	followPut, followDelete bool
	generation              [16]byte
}

// intent is one write that may be on its way.
type intent struct {
	id   [16]byte
	kind WriteKind
	// generation is the one that recording the intent gave the row.
	generation [16]byte
	// made: there was no row before it.
	made bool
	// spoiled: an intent that opposes it was open at some time while this one was.
	spoiled bool
	// ended: its call is over, and its fate unknown.
	ended bool
	// ends is when the write can no longer be applied, in microseconds.
	ends int64
}

// The events that change a state.
type (
	// intended: a write is about to be sent.
	intended struct {
		id   [16]byte
		kind WriteKind
		ends int64
	}
	// answered: what became of a write.
	answered struct {
		id                [16]byte
		outcome           Outcome
		status            int
		provisioningState string
	}
	// observed: what a GET said. generation is the row's, read before asking.
	observed struct {
		generation        [16]byte
		found             bool
		provisioningState string
	}
	// ended: the operation of an accepted write is over, or lost.
	ended struct{ kind WriteKind }
	// passed: time has.
	passed struct{ now int64 }
	// seen: a GET found a resource of which nothing is known.
	seen struct{ provisioningState string }
)

// actions is what an event asks for beyond the new state.
type actions struct {
	// settled: the event was proof, and the state says what it proved.
	settled bool
	// learn: take over what the answer told of the resource.
	learn bool
	// tombstone: remember that the resource went.
	tombstone bool
	// orphaned: the resource went, or may have gone and come back; those below
	// it, which do not come back with it, have to be verified.
	orphaned bool
}

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
	case ended:
		did = s.end(e)
	case passed:
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
	return len(s.open) != len(before.open) || *s.row != *before.row
}

func (s *state) intend(e intended, fresh [16]byte) {
	added := intent{id: e.id, kind: e.kind, generation: fresh, ends: e.ends}
	for i := range s.open {
		other := &s.open[i]
		other.spoiled = other.spoiled || other.kind.opposedBy(e.kind)
		added.spoiled = added.spoiled || e.kind.opposedBy(other.kind)
	}
	if e.kind == Put && s.row == nil {
		added.made = true
		s.row = &standing{phase: Pending, generation: fresh}
	}
	s.open = append(s.open, added)
}

func (s *state) answer(e answered) actions {
	i := slices.IndexFunc(s.open, func(open intent) bool { return open.id == e.id })
	if i < 0 {
		return actions{} // ended already: whatever it says was not waited for
	}
	if e.outcome == Ambiguous {
		s.open[i].ended = true
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
// goes with it, and only if no other write touched that since.
func (s *state) refuse(own intent, e answered) actions {
	if own.kind != Put || s.row == nil {
		return actions{settled: true}
	}
	if own.made && s.latest(own) && (e.outcome == NotSent || !mayExist(e.status)) {
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
	s.row.followPut = s.row.followPut || !ended && own.kind == Put
	s.row.verify = s.row.verify || !ended && own.kind == Patch || own.spoiled || !s.latest(own)
	if own.spoiled {
		return actions{}
	}
	if e.outcome == Succeeded {
		s.row.phase = Live
	}
	return actions{settled: true, learn: true}
}

func (s *state) acceptDelete(own intent) actions {
	if s.row == nil {
		// Nobody follows it: a list that was begun before must not bring it back.
		return actions{settled: true, tombstone: true}
	}
	s.row.followDelete = true
	if own.spoiled {
		s.row.verify = true
		return actions{}
	}
	s.row.phase = Deleting
	return actions{settled: true}
}

func (s *state) gone(own intent) actions {
	if own.spoiled {
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
	case slices.ContainsFunc(s.open, func(open intent) bool { return open.kind == opposing || open.kind == Move }):
		s.row.verify = true
		return actions{}
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
func (s *state) end(e ended) actions {
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

// pass ends the intents whose time is over; what they did stays unknown. Where
// no row can say so, a tombstone keeps what was seen before from being adopted:
// a DELETE may have landed since, or a PATCH.
func (s *state) pass(e passed) actions {
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
