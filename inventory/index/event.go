package index

import (
	"slices"
	"strings"

	"portico/events"
)

// The last words of actions.
const (
	WriteVerb  = "/write"
	DeleteVerb = "/delete"
)

// VerbOf returns the last word of the action that a write is.
func VerbOf(kind WriteKind) string {
	if kind == Delete {
		return DeleteVerb
	}
	return WriteVerb
}

// EventOfAnswer returns what the event of an answer says of a write, as its action the last
// word alone. follows: the write goes on.
func EventOfAnswer(kind WriteKind, e Answered, settled, follows bool) events.Payload {
	payload := events.Payload{Action: VerbOf(kind), Origin: events.Answered, Status: events.Succeeded, InDoubt: !settled}
	switch {
	case e.Outcome == Ambiguous:
		payload.Status = events.Started
	case e.Outcome == Refused || e.Outcome == NotSent:
		payload.Status = events.Failed
	case e.Outcome == Accepted || follows:
		payload.Status = events.Accepted
	}
	return payload
}

// MayRun reports whether a GET that has settled the row shows no end of a write, as its
// call may still be running, or it is a PATCH that is followed.
func (s State) MayRun(id [16]byte, kind WriteKind) bool {
	return kind == Patch && s.follows(Patch) ||
		slices.ContainsFunc(s.Open, func(in Intent) bool { return in.ID == id && !in.CallEnded })
}

// EventsOfGet returns what the events of a GET say that has settled a row: one for each of
// the writes whose end it shows, in their order, and behind these one of its own where none
// of them says whether the resource exists. Each agrees with the row afterwards, whatever
// write it speaks of: whoever replays events goes by the last of them.
func EventsOfGet(before, after *Row, provisioningState string, ended []WriteKind) (told []events.Payload) {
	if before == nil || after != nil && !NeedsVerify(before.Phase, before.Verify) && !before.FollowPut {
		return nil // nothing was in doubt
	}
	gone, isNew := after == nil, after != nil && before.Phase == Pending
	failed := !gone && !strings.EqualFold(provisioningState, "Succeeded") && provisioningState != ""
	said := false
	for _, kind := range ended {
		e := events.Payload{Action: VerbOf(kind), Origin: events.Verified, Status: events.Succeeded, New: kind != Delete && isNew}
		if (kind == Delete) != gone || failed {
			e.Status, e.Gone = events.Failed, gone
		} else {
			said = true
		}
		told = append(told, e)
	}
	if said {
		return told
	}
	own := events.Payload{Action: WriteVerb, Origin: events.Verified, Status: events.Succeeded, New: isNew}
	if gone {
		own.Action = DeleteVerb
	}
	return append(told, own)
}
