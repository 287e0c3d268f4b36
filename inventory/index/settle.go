package index

import (
	"net/http"
	"slices"
	"strings"
)

// Settle is the one rule by which the index changes, for gateway and jobs alike. It is
// pure; fresh is the generation that the row gets if the event changes what is known.
// An answer is proof only if nothing could overturn it. An answer that is no proof
// flags the row, so that Portico asks the provider later.
func Settle(before State, event any, fresh [16]byte) (State, Actions) {
	s := before.clone()
	var did Actions
	switch e := event.(type) {
	case Intended:
		s.intend(e, fresh)
	case Answered:
		did = s.answer(e)
	case Observed:
		did = s.observe(e)
	case FollowEnded:
		did = s.endFollow(e)
	case FollowLost:
		did = s.loseFollow(e, fresh)
	case TimePassed:
		did = s.expire(e)
	case Seen:
		did = s.discover(e, fresh)
	}
	if s.Row != nil && before.Row != nil && (did.Learn || s.changed(before)) {
		s.Row.Generation = fresh
	}
	return s, did
}

func (s State) clone() State {
	c := State{Open: slices.Clone(s.Open)}
	if s.Row != nil {
		row := *s.Row
		c.Row = &row
	}
	return c
}

// changed reports whether the event gives the row a new generation. Every intent does,
// and so do the end of one and every change of the row.
func (s State) changed(before State) bool {
	over := func(open []Intent) (n int) {
		for _, in := range open {
			if in.CallEnded {
				n++
			}
		}
		return n
	}
	return len(s.Open) != len(before.Open) || over(s.Open) != over(before.Open) || *s.Row != *before.Row
}

func (s *State) intend(e Intended, fresh [16]byte) {
	added := Intent{ID: e.ID, Kind: e.Kind, Generation: fresh, NotAfter: e.NotAfter, Ends: e.Ends}
	s.markOverlaps(&added)
	added.Overlapped = added.Overlapped || s.follows(Put) && e.Kind.opposedBy(Put) || s.follows(Delete) && e.Kind.opposedBy(Delete)
	if e.Kind == Put && s.Row == nil {
		added.CreatedRow = true
		s.Row = &Row{Phase: Pending, Generation: fresh}
	}
	s.Open = append(s.Open, added)
}

// markOverlaps marks a write and the open ones that it and they can overturn.
func (s *State) markOverlaps(added *Intent) {
	for i := range s.Open {
		other := &s.Open[i]
		other.Overlapped = other.Overlapped || other.Kind.opposedBy(added.Kind)
		added.Overlapped = added.Overlapped || added.Kind.opposedBy(other.Kind)
	}
}

// follows reports whether the operation of an accepted write is followed.
func (s *State) follows(kind WriteKind) bool { return s.Row != nil && s.Row.Follows(kind) }

// Follows reports whether the operation of an accepted write of a kind is followed.
func (r *Row) Follows(kind WriteKind) bool {
	following := r.following(kind)
	return following != nil && *following
}

// following returns the row's flag for the operation of a kind; nil for a move, which
// its own job follows.
func (r *Row) following(kind WriteKind) *bool {
	switch kind {
	case Put:
		return &r.FollowPut
	case Delete:
		return &r.FollowDelete
	case Patch:
		return &r.FollowPatch
	case Move:
	}
	return nil
}

// Continues reports whether the answer says that the write goes on, so that its operation
// has an end to wait for.
func (e Answered) Continues(kind WriteKind) bool {
	switch e.Outcome {
	case Accepted:
		return !e.unseen(kind)
	case Succeeded:
		return kind != Delete && !Terminal(e.ProvisioningState)
	case Ambiguous, NotSent, Refused, Gone:
	}
	return false
}

// unseen reports whether a PATCH has ended with an answer that does not show the
// resource.
func (e Answered) unseen(kind WriteKind) bool {
	return kind == Patch && e.Outcome == Accepted && e.Status == http.StatusOK
}

func (s *State) answer(e Answered) Actions {
	i := slices.IndexFunc(s.Open, func(open Intent) bool { return open.ID == e.ID })
	if i < 0 {
		return Actions{} // the intent has ended already, so the answer comes too late
	}
	if e.Outcome == Ambiguous {
		s.Open[i].CallEnded = true
		s.flag()
		return Actions{}
	}
	own := s.Open[i]
	s.Open = slices.Delete(s.Open, i, i+1)
	switch {
	case e.Outcome == NotSent || e.Outcome == Refused:
		return s.applyRefusal(own, e)
	case own.Kind != Delete:
		return s.applySuccess(own, e)
	case e.Outcome == Accepted:
		return s.acceptDelete(own)
	default:
		return s.applyRemoval(own)
	}
}

// flag flags the row, if there is one.
func (s *State) flag() {
	if s.Row != nil {
		s.Row.Verify = true
	}
}

// applyRefusal ends a write that changed nothing. It removes only the row that the
// write created, if no other write changed the row since. A DELETE's 404 that does
// not speak of the resource, but of a route, say, flags the row: it may not come from
// the provider that holds the resource.
func (s *State) applyRefusal(own Intent, e Answered) Actions {
	if own.Kind == Delete && e.Outcome == Refused && e.Status == http.StatusNotFound {
		s.flag()
	}
	if own.Kind != Put || s.Row == nil {
		return Actions{Settled: true}
	}
	if own.CreatedRow && s.isLatest(own) && (e.Outcome == NotSent || !mayExist(e.Status)) {
		s.Row = nil
		return Actions{Settled: true, Orphaned: true}
	}
	if s.Row.Phase == Pending {
		s.Row.Verify = true
	}
	return Actions{Settled: true}
}

// isLatest reports whether the row is unchanged since a write's intent: it still has
// the generation that the intent gave it.
func (s *State) isLatest(own Intent) bool { return s.Row.Generation == own.Generation }

// mayExist reports whether a refusal of a create may mean that the resource is
// there: a conflict, a failed precondition, a lock, or simply not now.
func mayExist(status int) bool {
	return status == 409 || status == 412 || status == 423 || status == 429
}

// applySuccess applies the success of a PUT or PATCH. It never lifts verify: only a GET
// does. If another event came after the intent, it is unknown which write the provider
// applied last, and what the resource looks like.
func (s *State) applySuccess(own Intent, e Answered) Actions {
	if s.Row == nil { // after a PATCH; what was seen before is out of date
		return Actions{Tombstone: true}
	}
	if e.Continues(own.Kind) {
		s.follow(own, s.Row.following(own.Kind))
	}
	s.Row.Verify = s.Row.Verify || e.unseen(own.Kind) || own.Overlapped || !s.isLatest(own)
	if own.Overlapped {
		return Actions{}
	}
	if e.Outcome == Succeeded {
		s.Row.Phase = Live
	}
	return Actions{Settled: true, Learn: true}
}

// follow starts following the operation of an accepted write. The row follows one
// operation of a kind, the newest. An earlier one is lost: as long as it may run on,
// the write that replaced it stands for it.
func (s *State) follow(own Intent, following *bool) {
	if *following {
		own.CallEnded = true
		s.Open = append(s.Open, own)
		s.Row.Verify = true
	}
	*following = true
}

func (s *State) acceptDelete(own Intent) Actions {
	if s.Row == nil {
		// No row follows the delete, so a tombstone keeps a list that began earlier
		// from adopting the resource again.
		return Actions{Settled: true, Tombstone: true}
	}
	s.follow(own, &s.Row.FollowDelete)
	if own.Overlapped {
		s.Row.Verify = true
		return Actions{}
	}
	s.Row.Phase = Deleting
	return Actions{Settled: true}
}

func (s *State) applyRemoval(own Intent) Actions {
	if own.Overlapped {
		s.flag()
		return Actions{Orphaned: s.Row != nil}
	}
	did := Actions{Settled: true, Tombstone: true, Orphaned: s.Row != nil}
	s.Row = nil
	return did
}

// observe applies the answer to a GET. The generation proves that no intent began or
// ended since the call, so only the open writes and an accepted operation that still
// runs could overturn the answer.
func (s *State) observe(e Observed) Actions {
	if s.Row == nil || s.Row.Generation != e.Generation {
		return Actions{}
	}
	opposing, following := Put, s.Row.FollowPut
	if e.Found {
		opposing, following = Delete, s.Row.FollowDelete
	}
	switch {
	case s.has(Move):
		s.Row.Verify = true
		return Actions{}
	case s.has(opposing):
		return s.showUnproven(e)
	case following:
		return Actions{}
	case !e.Found:
		s.Row = nil
		return Actions{Settled: true, Tombstone: true, Orphaned: true}
	case !Terminal(e.ProvisioningState):
		s.unfinished(e.ProvisioningState)
		return Actions{Learn: true}
	}
	// A followed PATCH neither creates nor ends a resource, and a provider need not show
	// it.
	*s.Row = Row{Phase: Live, FollowPatch: s.Row.FollowPatch, Generation: s.Row.Generation}
	return Actions{Settled: true, Learn: true}
}

// has reports whether a write of a kind is open.
func (s *State) has(kind WriteKind) bool {
	return slices.ContainsFunc(s.Open, func(open Intent) bool { return open.Kind == kind })
}

// showUnproven applies a GET that an open write may overturn: the row shows what the
// GET said, and stays flagged.
func (s *State) showUnproven(e Observed) Actions {
	s.Row.Verify = true
	if e.Found {
		if s.Row.Phase == Pending {
			s.Row.Phase = Live
		}
		return Actions{Learn: true}
	}
	if !s.Row.FollowPut {
		s.Row.Phase = Pending
	}
	return Actions{}
}

// unfinished applies a GET that found the resource in a state that is not terminal: it
// exists, but Portico has to ask again.
func (s *State) unfinished(provisioningState string) {
	switch {
	case strings.EqualFold(provisioningState, "Deleting"):
		s.Row.Phase = Deleting
	case s.Row.Phase == Pending:
		s.Row.Phase = Live
	}
	if !s.Row.FollowPut && !s.Row.FollowDelete && !(s.Row.FollowPatch && s.Row.Phase == Live) {
		s.Row.Verify = true
	}
}

// endFollow ends a follow. Only a GET shows the resource after the operation.
func (s *State) endFollow(e FollowEnded) Actions {
	if !s.follows(e.Kind) {
		return Actions{}
	}
	*s.Row.following(e.Kind), s.Row.Verify = false, true
	return Actions{Orphaned: e.Kind == Delete}
}

// loseFollow ends a follow whose outcome is unknown. The operation may run on, unseen,
// for as long as a write without an answer may: until then it counts as one.
func (s *State) loseFollow(e FollowLost, fresh [16]byte) Actions {
	if !s.follows(e.Kind) {
		return Actions{}
	}
	did := s.endFollow(FollowEnded{Kind: e.Kind})
	left := Intent{ID: e.ID, Kind: e.Kind, Generation: fresh, Ends: e.Ends, CallEnded: true}
	s.markOverlaps(&left)
	s.Open = append(s.Open, left)
	return did
}

// expire ends the intents whose time is over; their outcome stays unknown. If no row
// can be flagged for that, a tombstone keeps an earlier sighting from being adopted,
// because a DELETE or a PATCH may have landed since.
func (s *State) expire(e TimePassed) Actions {
	var ended, deletes bool
	s.Open = slices.DeleteFunc(s.Open, func(in Intent) bool {
		over := in.Ends <= e.Now
		ended, deletes = ended || over, deletes || over && in.Kind == Delete
		return over
	})
	if !ended {
		return Actions{}
	}
	s.flag()
	return Actions{Tombstone: s.Row == nil, Orphaned: s.Row != nil && deletes}
}

// discover creates the row of a resource that was found without one, as observe would
// have left it. While a write is open it does nothing: the write's answer decides.
func (s *State) discover(e Seen, fresh [16]byte) Actions {
	if s.Row != nil || len(s.Open) > 0 {
		return Actions{}
	}
	s.Row = &Row{Phase: Live, Generation: fresh}
	if !Terminal(e.ProvisioningState) {
		s.unfinished(e.ProvisioningState)
	}
	return Actions{Settled: true, Learn: true}
}
