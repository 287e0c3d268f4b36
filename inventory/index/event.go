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

// EventOfAnswer returns the payload of the event of an answer to a write. Its action is the
// last segment alone. follows: the write goes on.
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

// MayRun reports whether a write may go on although a GET has settled the row: its call
// may still be running, or it is a PATCH that is followed.
func (s State) MayRun(id [16]byte, kind WriteKind) bool {
	return kind == Patch && s.follows(Patch) ||
		slices.ContainsFunc(s.Open, func(in Intent) bool { return in.ID == id && !in.CallEnded })
}

// EventsOfGet returns the payloads of the events of a GET that has settled a row. There is
// one for each write whose end the GET shows, in their order, and after these one for the
// GET itself if none of them says whether the resource exists. Each agrees with the row
// afterwards, whichever write it reports, because a reader that replays events goes by the
// last one. Of a resource that was never seen no deletion is reported: that its creation
// failed says as much.
func EventsOfGet(before, after *Row, provisioningState string, ended []WriteKind) (found []events.Payload) {
	if before == nil || after != nil && !NeedsVerify(before.Phase, before.Verify) && !before.FollowPut {
		return nil // nothing was in doubt
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
