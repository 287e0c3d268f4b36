// Package answers reads providers' answers: what the answer to a write means for the
// index, where an accepted operation is polled, whether a poll shows its end, why it
// failed, and whether a link leads to a host that the provider may name. It makes no
// call. It keeps a bounded part of an answer, because providers may answer anything at
// any length.
package answers

import (
	"errors"
	"net/http"
	"net/url"

	"portico/access"
	"portico/inventory"
	"portico/inventory/index"
	"portico/regions"
	"portico/upstream"
)

// Write is a write as it was sent, by a client's request or by a job.
type Write struct {
	Kind index.WriteKind
	ID   string // of the resource: a 404 has to speak of it
	// Endpoint is where the write went; nil if its operation is not followed. Public is
	// the front door, and Caller is the caller for whom the operation is polled.
	Endpoint *regions.Endpoint
	Public   *url.URL
	Caller   access.Principal
}

// Read returns what the index learns from the result of a write (see package inventory,
// rules R3 to R5): the answer and the error that [upstream.Client.Send] returned. Without
// an answer, only a write that was not sent is known to have changed nothing.
func (w Write) Read(got upstream.Answer, err error) inventory.Answer {
	a := inventory.Answer{Status: got.Status}
	if got.Status == 0 {
		if upstream.Unsent(err) {
			a.Outcome = index.NotSent
		}
		return a
	}
	if w.Endpoint != nil {
		a.Poll = PollOf(got.Status, got.Header, w.Public, w.Endpoint, w.Caller)
	}
	if BrokenOff(err) {
		return a // ambiguous: the status may not be true
	}
	report, details := inventory.ReadDetails(got.Body)
	about := details != nil
	if w.Kind == index.Delete {
		about = About(got.Status, got.Body, w.ID)
	}
	a.Outcome = index.ReadAnswer(w.Kind, got.Status, about)
	switch {
	case got.Status >= http.StatusBadRequest:
		a.Error = Error(got.Status, string(got.Body[:min(len(got.Body), answerBytes)])) // an event keeps no more
	case a.Outcome == index.Succeeded:
		a.ProvisioningState, a.Details = report.State(), details
	}
	return a
}

// BrokenOff reports whether the error of a call means that the status of its answer
// cannot be trusted. The status of an answer that is too large counts.
func BrokenOff(err error) bool { return err != nil && !errors.Is(err, upstream.ErrTooLarge) }
