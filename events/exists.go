package events

import "strings"

// Exists says whether the resource exists since the change, as far as the event tells;
// known is false where only another event can. Replayed, this gives what there is.
func (e Event) Exists() (exists, known bool) {
	written, deleted := strings.HasSuffix(e.Action, "/write"), strings.HasSuffix(e.Action, "/delete")
	switch {
	case e.InDoubt || !written && !deleted:
		return false, false
	case e.Status == Succeeded:
		return written, true
	case e.Status == Failed && e.Origin == Verified:
		return !e.Gone, true // it was asked for after the write: what was found, the write left so
	}
	return false, false
}
