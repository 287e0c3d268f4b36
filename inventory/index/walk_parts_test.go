package index

import (
	"slices"
	"strings"
	"testing"
)

// switches leave parts of the rules out of the world around settle.
type switches struct {
	Intent, sendBy, secondSend, groupLock, answerFirst bool
	ownIntent, ownSendBy, cachedWrites, secondLook     bool
	openDelete, anyGeneration, tombstone               bool
	flushed, window, openIntents                       bool
	openBack                                           bool
	patchIntent                                        bool
	onePoll, clientPolls, lostWindow, clientAbsence    bool
	fencedPut, fenceUnasked, fenceUnproven             bool
	goneEvents                                         bool
}

// part is a part of a rule that can be left out: of the world, or of settle.
type part struct {
	name  string
	off   switches
	rule  func(settler) settler                                     // nil: settle as it is
	poll  func(ofStatus bool, status int, report Report) PollResult // nil: as it is
	found scenario                                                  // where its race shows
}

// Scenarios that are just large enough for a race to show.
var (
	smallSync  = scenario{writes: anyWrite, concurrent: 3, left: budget{writes: 3, crashes: 1, refusals: 2}}
	lossySync  = scenario{writes: anyWrite, concurrent: 2, left: budget{writes: 2, losses: 1}}
	smallAsync = scenario{writes: anyWrite, concurrent: 3, async: true, left: budget{writes: 3, lostPolls: 1}}
	unreadText = scenario{writes: anyWrite, concurrent: 2, async: true, unread: true, left: budget{writes: 2}}
	smallReads = scenario{writes: anyWrite, concurrent: 2, reads: true, live: true, left: budget{writes: 2}}
	lossyReads = scenario{writes: anyWrite, concurrent: 3, reads: true, left: budget{writes: 2, losses: 1}}
	asyncReads = scenario{writes: anyWrite, concurrent: 3, reads: true, async: true, left: budget{writes: 2}}
	smallLists = scenario{writes: anyWrite, concurrent: 2, reads: true, lists: true, left: budget{writes: 2}}
	smallSweep = scenario{writes: anyWrite, concurrent: 2, sweeps: true, live: true, left: budget{writes: 2}}
	liveReads  = scenario{writes: anyWrite, concurrent: 2, reads: true, async: true, live: true, left: budget{writes: 2}}
	smallGroup = scenario{writes: anyWrite, concurrent: 3, left: budget{writes: 2, crashes: 1, marks: 1, ownWrites: 2, remakes: 1}}
	groupBack  = scenario{writes: anyWrite, concurrent: 2, left: budget{writes: 2, crashes: 1, marks: 1, ownWrites: 1, backs: 1}}
	patchSync  = scenario{writes: withPatches, concurrent: 2, contents: true, left: budget{writes: 2, crashes: 1}}
	patchAsync = scenario{writes: withPatches, concurrent: 2, contents: true, async: true, live: true, left: budget{writes: 1}}
	patchGroup = scenario{writes: withPatches, concurrent: 3, live: true, left: budget{writes: 2, marks: 1, ownWrites: 1, remakes: 1}}
	patchLists = scenario{writes: updates, concurrent: 2, reads: true, lists: true, left: budget{writes: 2}}
	syncReport = scenario{writes: anyWrite, concurrent: 2, events: true, left: budget{writes: 3}}
	slowGroup  = scenario{writes: anyWrite, concurrent: 3, resolves: true, left: budget{writes: 2, marks: 1, ownWrites: 1, remakes: 1}}
)

// parts are all of R1 to R8 and R11 but the 409 family of R4, that a DELETE opposes
// a PATCH (R5) and the incarnations of R7, for which there are examples; and but
// that silence flags the row (R4): a replica that dies flags nothing either, so
// that no more than the time until the provider is asked can depend on it.
var parts = []part{
	{name: "R1 intent before the first byte", off: switches{Intent: true}, found: smallSync},
	{name: "R1 the intent is flushed", off: switches{flushed: true}, found: lossySync},
	{name: "R1 nothing is sent past sendBy", off: switches{sendBy: true}, found: smallSync},
	{name: "R1 no second send", off: switches{secondSend: true}, found: smallSync},
	{name: "R2 intent and group lock the same row", off: switches{groupLock: true}, found: slowGroup},
	{name: "R2 no group closes over an open intent", off: switches{openIntents: true}, found: smallGroup},
	{name: "R3 settled before the client is answered", off: switches{answerFirst: true}, found: smallLists},
	{name: "R3 a create's 202 is not Live", rule: createdBy202, found: asyncReads},
	{name: "R3 a lost settle of a DELETE leaves its intent, and that is looked at", off: switches{openDelete: true}, found: lossyReads},
	{name: "R4 a PUT does not end with its silence", rule: endsInSilence(Put), found: smallSync},
	{name: "R4 a DELETE does not end with its silence", rule: endsInSilence(Delete), found: smallSync},
	{name: "R4 nor before nothing can be applied any more", off: switches{window: true}, found: smallSync},
	{name: "R4 the end by time flags", rule: unflaggedByTime, found: smallSync},
	{name: "R4 a refused PUT removes only what it made", rule: refusedTakesAnyRow, found: smallSync},
	{name: "R4 a refused PUT leaves what others touched", rule: refusedTakesTouchedRow, found: smallSync},
	{name: "R4 a Pending row that stays is flagged", rule: refusedLeavesUnflagged, found: smallSync},
	{name: "R5 the mark of an opposed write", rule: unspoiled, found: smallSync},
	{name: "R5 a GET is no proof under an opposing write", rule: getUnderWrites, found: smallSync},
	{name: "R5 a PUT's answer never lifts verify", rule: putLifts, found: smallAsync},
	{name: "R6 the end of a follow flags", rule: followDecides, found: smallAsync},
	{name: "R6 a state that is not terminal is no end", rule: anyStateEnds, found: smallAsync},
	{name: "R6 a PUT with such a state is followed", rule: unfinishedIsFinished, found: smallAsync},
	{name: "R6 Failed keeps the row", rule: failedIsGone, found: smallAsync},
	{name: "R6 a 404 is no proof while a create is followed", rule: goneWhileCreated, found: smallAsync},
	{name: "R3 a DELETE's 404 that speaks of a route is no proof", rule: anyAbsence, found: smallSync},
	{name: "R5 a followed create opposes a DELETE", rule: followsOpposeNothing, found: smallAsync},
	{name: "R6 what is followed no more, as a newer one is, counts as lost", rule: displacedIsOver, found: smallAsync},
	{name: "R6 one 404 to a poll is no loss", off: switches{onePoll: true}, found: smallAsync},
	{name: "R6 a poll that cannot be read ends no follow", poll: silentUnread, found: unreadText},
	{name: "R6 a poll of a status that names none ends no follow", poll: silentStatus, found: unreadText},
	{name: "R3 an answer without a resource is no success", rule: unreadSucceeds, found: unreadText},
	{name: "R6 a client's poll ends no follow", off: switches{clientPolls: true}, found: smallAsync},
	{name: "R6 a lost operation may still run", off: switches{lostWindow: true}, found: smallAsync},
	{name: "R9 absence is what Portico's own GET says", off: switches{clientAbsence: true}, found: smallSync},
	{name: "R16 no PUT under a fence", off: switches{fencedPut: true}, found: smallGroup},
	{name: "R16 what lands under a fence is deleted", off: switches{fenceUnasked: true}, found: smallGroup},
	{name: "R16 a PUT's fence goes after a GET", off: switches{fenceUnproven: true}, found: smallGroup},
	{name: "R5 a followed delete opposes a PUT", rule: followsOpposeNothing, found: liveReads},
	{name: "R7 an answer settles only while its intent is open", rule: lateAnswers, found: smallSync},
	{name: "R7 a GET settles only what has not changed since", off: switches{anyGeneration: true}, rule: anyGeneration, found: smallSync},
	{name: "R6 a 200 is no proof while a delete is followed", rule: thereWhileDeleted, found: smallAsync},
	{name: "R7 an intent gives the row a new generation", rule: sameGeneration[Intended], found: smallSync},
	{name: "R7 an answer gives the row a new generation", rule: sameGeneration[Answered], found: smallSync},
	{name: "R7 an intent ended by time gives the row a new generation", rule: sameGeneration[TimePassed], found: smallSync},
	{name: "R7 the end of a follow gives the row a new generation", rule: sameGeneration[FollowEnded], found: smallAsync},
	{name: "R8 own calls have intents", off: switches{ownIntent: true}, found: smallGroup},
	{name: "R8 own calls are not sent past sendBy", off: switches{ownSendBy: true}, found: smallGroup},
	{name: "R8 no group is given back over an open intent", off: switches{openBack: true}, found: groupBack},
	{name: "R1 a PATCH has an intent", off: switches{patchIntent: true}, found: patchSync},
	{name: "R2 that a group's end waits for", off: switches{patchIntent: true}, found: patchGroup},
	{name: "R3 a PATCH's success shows that a create came about", rule: patchesTellNothing, found: patchLists},
	{name: "R4 a PATCH does not end with its silence", rule: endsInSilence(Patch), found: patchSync},
	{name: "R6 a PATCH that has not ended is followed", rule: endedPatches, found: patchAsync},
	{name: "R6 and not asked for at once instead", rule: patchesProbedAtOnce, found: patchAsync},
	{name: "R6 a GET ends no followed PATCH", rule: patchesEndByGET, found: patchAsync},
	{name: "R6 the end of a PATCH's follow flags", rule: unflaggedByPatch, found: patchAsync},
	{name: "R7 of writes that overlap no one knows the last", rule: answersInOrder, found: patchSync},
	{name: "R11 writes take the region from the store", off: switches{cachedWrites: true}, found: smallReads},
	{name: "R11 a 404 from a cached region is looked at twice", off: switches{secondLook: true}, found: smallReads},
	{name: "events agree with the row, whatever write they speak of", off: switches{goneEvents: true}, found: syncReport},
	{name: "R13 what was deleted since is not adopted", off: switches{tombstone: true}, found: smallSweep},
}

func TestEveryPartIsNeeded(t *testing.T) {
	for _, p := range parts {
		t.Run(strings.ReplaceAll(p.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			m := model{scenario: p.found, Settle: Settle, Progress: PollResultOf, off: p.off}
			if p.poll != nil {
				m.Progress = p.poll
			}
			if p.rule != nil {
				m.Settle = p.rule(Settle)
			}
			f := explore(m, 4_000_000)
			if len(f.path) == 0 {
				t.Fatalf("without it nothing goes wrong: %v", f)
			}
			t.Log(f)
		})
	}
}

// after makes a rule that changes what settle came to.
func after(change func(before State, event any, s *State, did *Actions)) func(settler) settler {
	return func(next settler) settler {
		return func(before State, event any, fresh [16]byte) (State, Actions) {
			s, did := next(before, event, fresh)
			change(before, event, &s, &did)
			return s, did
		}
	}
}

// before makes a rule that changes what settle is told.
func before(change func(s *State, event any) any) func(settler) settler {
	return func(next settler) settler {
		return func(was State, event any, fresh [16]byte) (State, Actions) {
			s := was.clone()
			event = change(&s, event)
			return next(s, event, fresh)
		}
	}
}

// ofIntent finds the intent that an answer is about.
func (s *State) ofIntent(event any) (Answered, *Intent) {
	e, ok := event.(Answered)
	if !ok {
		return e, nil
	}
	i := slices.IndexFunc(s.Open, func(in Intent) bool { return in.ID == e.ID })
	if i < 0 {
		return e, nil
	}
	return e, &s.Open[i]
}

var createdBy202 = after(func(before State, event any, s *State, _ *Actions) {
	e, own := before.ofIntent(event)
	if own != nil && own.Kind == Put && e.Outcome == Accepted && s.Row != nil {
		s.Row.Phase = Live
	}
})

func endsInSilence(kind WriteKind) func(settler) settler {
	return after(func(before State, event any, s *State, _ *Actions) {
		e, own := before.ofIntent(event)
		if own != nil && own.Kind == kind && e.Outcome == Ambiguous {
			s.Open = slices.DeleteFunc(s.Open, func(in Intent) bool { return in.ID == e.ID })
		}
	})
}

// sameGeneration leaves a row its generation after one kind of event.
func sameGeneration[E any](next settler) settler {
	return after(func(before State, event any, s *State, _ *Actions) {
		if _, ok := event.(E); ok && before.Row != nil && s.Row != nil {
			s.Row.Generation = before.Row.Generation
		}
	})(next)
}

var anyAbsence = before(func(s *State, event any) any {
	if e, own := s.ofIntent(event); own != nil && own.Kind == Delete && e.Status == 404 {
		e.Outcome = Gone
		return e
	}
	return event
})

var followsOpposeNothing = after(func(before State, event any, s *State, _ *Actions) {
	e, ok := event.(Intended)
	for i := range s.Open {
		if ok && s.Open[i].ID == e.ID {
			s.Open[i].Overlapped = slices.ContainsFunc(before.Open, func(in Intent) bool { return e.Kind.opposedBy(in.Kind) })
		}
	}
})

var displacedIsOver = after(func(before State, event any, s *State, _ *Actions) {
	e, own := before.ofIntent(event)
	if own != nil && e.Outcome != Ambiguous {
		s.Open = slices.DeleteFunc(s.Open, func(in Intent) bool { return in.ID == e.ID })
	}
})

var thereWhileDeleted = before(func(s *State, event any) any {
	if e, ok := event.(Observed); ok && e.Found && s.Row != nil {
		s.Row.FollowDelete = false
	}
	return event
})

var unflaggedByTime = after(func(before State, event any, s *State, _ *Actions) {
	if _, ok := event.(TimePassed); ok && s.Row != nil && before.Row != nil {
		s.Row.Verify = before.Row.Verify
	}
})

var refusedTakesAnyRow = before(func(s *State, event any) any {
	if e, own := s.ofIntent(event); own != nil && e.Outcome == Refused && s.Row != nil {
		own.CreatedRow, own.Generation = true, s.Row.Generation
	}
	return event
})

var refusedTakesTouchedRow = before(func(s *State, event any) any {
	if e, own := s.ofIntent(event); own != nil && e.Outcome == Refused && s.Row != nil {
		own.Generation = s.Row.Generation
	}
	return event
})

// answersInOrder takes the last that was answered for the last that was taken.
var answersInOrder = before(func(s *State, event any) any {
	if e, own := s.ofIntent(event); own != nil && e.Outcome == Succeeded && s.Row != nil {
		own.Generation = s.Row.Generation
	}
	return event
})

// patchesTellNothing lets a PATCH's success show of the resource no more than what it
// looks like.
var patchesTellNothing = after(func(before State, event any, s *State, _ *Actions) {
	if _, own := before.ofIntent(event); own != nil && own.Kind == Patch && s.Row != nil {
		s.Row.Phase = before.Row.Phase
	}
})

var endedPatches = before(func(s *State, event any) any {
	if e, own := s.ofIntent(event); own != nil && own.Kind == Patch && e.Outcome == Accepted {
		e.Outcome = Succeeded
		return e
	} else if own != nil && own.Kind == Patch {
		e.ProvisioningState = ""
		return e
	}
	return event
})

var patchesProbedAtOnce = after(func(before State, event any, s *State, _ *Actions) {
	if _, own := before.ofIntent(event); own != nil && own.Kind == Patch && s.Row != nil && s.Row.FollowPatch {
		s.Row.FollowPatch, s.Row.Verify = false, true
	}
})

var patchesEndByGET = after(func(_ State, event any, s *State, did *Actions) {
	if _, ok := event.(Observed); ok && did.Settled && s.Row != nil {
		s.Row.FollowPatch = false
	}
})

var unflaggedByPatch = after(func(before State, event any, s *State, _ *Actions) {
	if e, ok := event.(FollowEnded); ok && e.Kind == Patch && s.Row != nil {
		s.Row.Verify = before.Row.Verify
	}
})

var refusedLeavesUnflagged = after(func(before State, event any, s *State, _ *Actions) {
	if e, own := before.ofIntent(event); own != nil && e.Outcome == Refused && s.Row != nil {
		s.Row.Verify = before.Row.Verify
	}
})

var unspoiled = after(func(_ State, event any, s *State, _ *Actions) {
	if _, ok := event.(Intended); ok {
		for i := range s.Open {
			s.Open[i].Overlapped = false
		}
	}
})

func getUnderWrites(next settler) settler {
	return func(before State, event any, fresh [16]byte) (State, Actions) {
		if _, ok := event.(Observed); !ok {
			return next(before, event, fresh)
		}
		s, did := next(State{Row: before.Row}, event, fresh)
		s.Open = before.Open
		return s, did
	}
}

var putLifts = after(func(before State, event any, s *State, did *Actions) {
	if e, own := before.ofIntent(event); own != nil && own.Kind == Put && e.Outcome == Succeeded && did.Settled {
		s.Row.Verify = false
	}
})

var followDecides = after(func(before State, event any, s *State, _ *Actions) {
	e, ok := event.(FollowEnded)
	switch {
	case !ok || before.Row == nil:
	case e.Kind == Delete:
		s.Row = nil
	default:
		s.Row.Phase, s.Row.Verify = Live, before.Row.Verify
	}
})

var anyStateEnds = before(func(_ *State, event any) any {
	if e, ok := event.(Observed); ok {
		e.ProvisioningState = ""
		return e
	}
	return event
})

// silentUnread takes a text that could not be read for one that names no state, and
// silentStatus an operation's status for a result.
func silentUnread(_ bool, status int, report Report) PollResult {
	return PollResultOf(false, status, Reported(report.State()))
}

func silentStatus(_ bool, status int, report Report) PollResult {
	return PollResultOf(false, status, report)
}

var unreadSucceeds = before(func(s *State, event any) any {
	if e, own := s.ofIntent(event); own != nil && e.Outcome == Accepted && e.Status < 202 {
		e.Outcome = Succeeded
		return e
	}
	return event
})

var unfinishedIsFinished = before(func(_ *State, event any) any {
	if e, ok := event.(Answered); ok {
		e.ProvisioningState = ""
		return e
	}
	return event
})

var failedIsGone = before(func(_ *State, event any) any {
	if e, ok := event.(Observed); ok && e.ProvisioningState == "Failed" {
		e.Found = false
		return e
	}
	return event
})

var goneWhileCreated = before(func(s *State, event any) any {
	if e, ok := event.(Observed); ok && !e.Found && s.Row != nil {
		s.Row.FollowPut = false
	}
	return event
})

var lateAnswers = before(func(s *State, event any) any {
	e, ok := event.(Answered)
	if _, own := s.ofIntent(event); ok && own == nil && (e.Outcome == Gone || e.Outcome == Succeeded) {
		late := Intent{ID: e.ID}
		if e.Outcome == Gone {
			late.Kind = Delete
		}
		s.Open = append(s.Open, late)
	}
	return event
})

var anyGeneration = before(func(s *State, event any) any {
	if e, ok := event.(Observed); ok && s.Row != nil {
		e.Generation = s.Row.Generation
		return e
	}
	return event
})
