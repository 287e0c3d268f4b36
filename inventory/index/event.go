package index

import (
	"slices"

	"portico/events"
)

// The last segments of actions.
const (
	WriteVerb  = "/write"
	DeleteVerb = "/delete"
)

// VerbOf returns the last segment of the action of a write.
func VerbOf(kind WriteKind) string {
	if kind == Delete {
		return DeleteVerb
	}
	return WriteVerb
}

// EventOfAnswer returns the payload of the event of an answer to a write. Its action is only
// the last segment. follows: the write's operation continues.
func EventOfAnswer(kind WriteKind, e Answered, settled, follows bool) events.Payload {
	payload := events.Payload{Action: VerbOf(kind), Origin: events.Answered, Status: events.Succeeded, Unverified: !settled}
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

// MayRun reports whether a write may still be running although a GET has settled the row:
// its call has not ended, or it is a PATCH whose operation is followed.
func (s State) MayRun(id [16]byte, kind WriteKind) bool {
	return kind == Patch && s.follows(Patch) ||
		slices.ContainsFunc(s.Open, func(in Intent) bool { return in.ID == id && !in.CallEnded })
}

// EventsOfGet returns the payloads of the events of a GET that has settled a row. There is
// one for each write that the GET shows to have ended, in order. An event of the GET itself
// follows if none of these shows whether the resource exists. All agree with the new row,
// because a reader that replays events uses the last one. For a resource that was never seen
// no deletion is reported, because the event of its failed creation suffices.
func EventsOfGet(before, after *Row, provisioningState string, ended []WriteKind) (found []events.Payload) {
	if before == nil || after != nil && !NeedsVerify(before.Phase, before.Verify) && !before.FollowPut {
		return nil // nothing was unverified
	}
	gone, isNew := after == nil, after != nil && before.Phase == Pending
	failed := !gone && !Successful(provisioningState)
	said := false
	for _, kind := range ended {
		e := events.Payload{Action: VerbOf(kind), Origin: events.Verified, Status: events.Succeeded, New: kind != Delete && isNew}
		if (kind == Delete) != gone || failed {
			e.Status, e.Gone = events.Failed, gone
		} else {
			said = true
		}
		found = append(found, e)
	}
	if said || gone && before.Phase == Pending && len(found) > 0 {
		return found
	}
	own := events.Payload{Action: WriteVerb, Origin: events.Verified, Status: events.Succeeded, New: isNew}
	if gone {
		own.Action = DeleteVerb
	}
	return append(found, own)
}
