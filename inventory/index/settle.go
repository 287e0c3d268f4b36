package index

import (
	"net/http"
	"slices"
	"strings"
)

// Settle returns the state of a resource after an event, and the other effects of the event.
// All changes of the index, by the gateway and by jobs, go through it. It is pure; fresh is
// the generation that the row gets if the event changes it.
//
// An answer is proof only if no other write could overturn it. Any other answer flags the
// row, so that Portico asks the provider later.
func Settle(before State, event any, fresh [16]byte) (State, Actions) {
	s := before.clone()
	var did Actions
	switch e := event.(type) {
	case Intended:
		s.recordIntent(e, fresh)
	case Answered:
		did = s.applyAnswer(e)
	case Observed:
		did = s.applyGet(e)
	case FollowEnded:
		did = s.applyFollowEnd(e)
	case FollowLost:
		did = s.applyFollowLoss(e, fresh)
	case TimePassed:
		did = s.expireIntents(e)
	case Discovered:
		did = s.applyDiscovery(e, fresh)
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

// changed reports whether the event gives the row a new generation. A new intent does, the
// end of one, and every change of the row.
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

func (s *State) recordIntent(e Intended, fresh [16]byte) {
	added := Intent{ID: e.ID, Kind: e.Kind, Generation: fresh, NotAfter: e.NotAfter, Ends: e.Ends}
	s.markOverlaps(&added)
	added.Overlapped = added.Overlapped || s.follows(Put) && e.Kind.opposedBy(Put) || s.follows(Delete) && e.Kind.opposedBy(Delete)
	if e.Kind == Put && s.Row == nil {
		added.CreatedRow = true
		s.Row = &Row{Phase: Pending, Generation: fresh}
	}
	s.Open = append(s.Open, added)
}

// markOverlaps marks the new write if an open one opposes it, and each open write that the
// new one opposes.
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
	following := r.followFlag(kind)
	return following != nil && *following
}

// followFlag returns the row's flag for a followed operation of a kind, nil for a move,
// which its own job follows.
func (r *Row) followFlag(kind WriteKind) *bool {
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

// Continues reports whether the write's operation continues after the answer, so that its
// end has to be awaited.
func (e Answered) Continues(kind WriteKind) bool {
	switch e.Outcome {
	case Accepted:
		return !e.hidesResource(kind)
	case Succeeded:
		return kind != Delete && !Terminal(e.ProvisioningState)
	case Ambiguous, NotSent, Refused, Gone:
	}
	return false
}

// hidesResource reports whether the answer ends a PATCH without showing the resource.
func (e Answered) hidesResource(kind WriteKind) bool {
	return kind == Patch && e.Outcome == Accepted && e.Status == http.StatusOK
}

func (s *State) applyAnswer(e Answered) Actions {
	i := slices.IndexFunc(s.Open, func(open Intent) bool { return open.ID == e.ID })
	if i < 0 {
		return Actions{} // the intent has ended before
	}
	if e.Outcome == Ambiguous {
		s.Open[i].CallEnded = true
		s.flagRow()
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

func (s *State) flagRow() {
	if s.Row != nil {
		s.Row.Verify = true
	}
}

// applyRefusal ends a write that changed nothing. It removes the row only if the write
// created it and no other write has changed it since. A DELETE's 404 that is not about the
// resource, but about a route, for example, flags the row: it may not come from the
// resource's provider.
func (s *State) applyRefusal(own Intent, e Answered) Actions {
	if own.Kind == Delete && e.Outcome == Refused && e.Status == http.StatusNotFound {
		s.flagRow()
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

// isLatest reports whether the row still has the generation that a write's intent gave it.
func (s *State) isLatest(own Intent) bool { return s.Row.Generation == own.Generation }

// mayExist reports whether the resource may exist although its creation was refused: because
// of a conflict, a failed precondition, a lock, or too many requests.
func mayExist(status int) bool {
	return status == 409 || status == 412 || status == 423 || status == 429
}

// applySuccess applies the success of a PUT or PATCH. It never clears Verify: only a GET
// does. If another event came after the intent, it is unknown which write the provider
// applied last, and so the state of the resource.
func (s *State) applySuccess(own Intent, e Answered) Actions {
	if s.Row == nil { // after a PATCH; earlier discoveries are outdated
		return Actions{Tombstone: true}
	}
	if e.Continues(own.Kind) {
		s.startFollow(own, s.Row.followFlag(own.Kind))
	}
	s.Row.Verify = s.Row.Verify || e.hidesResource(own.Kind) || own.Overlapped || !s.isLatest(own)
	if own.Overlapped {
		return Actions{}
	}
	if e.Outcome == Succeeded {
		s.Row.Phase = Live
	}
	return Actions{Settled: true, Learn: true}
}

// startFollow starts to follow the operation of an accepted write. The row follows only the
// newest operation of a kind. An earlier one is lost; while it may still run, the new
// write's intent stays open in its place.
func (s *State) startFollow(own Intent, following *bool) {
	if *following {
		own.CallEnded = true
		s.Open = append(s.Open, own)
		s.Row.Verify = true
	}
	*following = true
}

func (s *State) acceptDelete(own Intent) Actions {
	if s.Row == nil {
		// No row follows the delete, so a tombstone keeps a list that began earlier from
		// adopting the resource again.
		return Actions{Settled: true, Tombstone: true}
	}
	s.startFollow(own, &s.Row.FollowDelete)
	if own.Overlapped {
		s.Row.Verify = true
		return Actions{}
	}
	s.Row.Phase = Deleting
	return Actions{Settled: true}
}

func (s *State) applyRemoval(own Intent) Actions {
	if own.Overlapped {
		s.flagRow()
		return Actions{Orphaned: s.Row != nil}
	}
	did := Actions{Settled: true, Tombstone: true, Orphaned: s.Row != nil}
	s.Row = nil
	return did
}

// applyGet applies the answer to a GET. The generation proves that no intent began or ended
// during the call, so only open writes and a followed operation could overturn the answer.
func (s *State) applyGet(e Observed) Actions {
	if s.Row == nil || s.Row.Generation != e.Generation {
		return Actions{}
	}
	opposing, following := Put, s.Row.FollowPut
	if e.Found {
		opposing, following = Delete, s.Row.FollowDelete
	}
	switch {
	case s.hasOpen(Move):
		s.Row.Verify = true
		return Actions{}
	case s.hasOpen(opposing):
		return s.showUnproven(e)
	case following:
		return Actions{}
	case !e.Found:
		s.Row = nil
		return Actions{Settled: true, Tombstone: true, Orphaned: true}
	case !Terminal(e.ProvisioningState):
		s.applyUnfinished(e.ProvisioningState)
		return Actions{Learn: true}
	}
	// A followed PATCH neither creates nor ends a resource, and a provider need not show it.
	*s.Row = Row{Phase: Live, FollowPatch: s.Row.FollowPatch, Generation: s.Row.Generation}
	return Actions{Settled: true, Learn: true}
}

func (s *State) hasOpen(kind WriteKind) bool {
	return slices.ContainsFunc(s.Open, func(open Intent) bool { return open.Kind == kind })
}

// showUnproven applies a GET that an open write may overturn: the row shows its result, and
// is flagged.
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

// applyUnfinished applies a GET that found the resource in a state that is not terminal. The
// resource exists, but Portico has to ask again.
func (s *State) applyUnfinished(provisioningState string) {
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

// applyFollowEnd ends a follow. Only a GET shows the resource after the operation.
func (s *State) applyFollowEnd(e FollowEnded) Actions {
	if !s.follows(e.Kind) {
		return Actions{}
	}
	*s.Row.followFlag(e.Kind), s.Row.Verify = false, true
	return Actions{Orphaned: e.Kind == Delete}
}

// applyFollowLoss ends a follow whose outcome is unknown. The operation may continue for as
// long as a write without an answer may, so it becomes an open write.
func (s *State) applyFollowLoss(e FollowLost, fresh [16]byte) Actions {
	if !s.follows(e.Kind) {
		return Actions{}
	}
	did := s.applyFollowEnd(FollowEnded{Kind: e.Kind})
	left := Intent{ID: e.ID, Kind: e.Kind, Generation: fresh, Ends: e.Ends, CallEnded: true}
	s.markOverlaps(&left)
	s.Open = append(s.Open, left)
	return did
}

// expireIntents ends the intents whose time is over; their outcome stays unknown. If there
// is no row to flag, a tombstone keeps an earlier discovery from being adopted, because the
// provider may have applied a DELETE or a PATCH since.
func (s *State) expireIntents(e TimePassed) Actions {
	var ended, deletes bool
	s.Open = slices.DeleteFunc(s.Open, func(in Intent) bool {
		over := in.Ends <= e.Now
		ended, deletes = ended || over, deletes || over && in.Kind == Delete
		return over
	})
	if !ended {
		return Actions{}
	}
	s.flagRow()
	return Actions{Tombstone: s.Row == nil, Orphaned: s.Row != nil && deletes}
}

// applyDiscovery creates the row of a resource that a GET found without one, as applyGet
// would have left it. While a write is open it does nothing: the write's answer decides.
func (s *State) applyDiscovery(e Discovered, fresh [16]byte) Actions {
	if s.Row != nil || len(s.Open) > 0 {
		return Actions{}
	}
	s.Row = &Row{Phase: Live, Generation: fresh}
	if !Terminal(e.ProvisioningState) {
		s.applyUnfinished(e.ProvisioningState)
	}
	return Actions{Settled: true, Learn: true}
}
