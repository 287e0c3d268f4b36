// Package answers interprets providers' answers: the effect of a write on the index, the
// polling URL of an accepted operation, the end in a poll, the reason of a failure, and
// the host of a link. It makes no calls. It keeps a bounded part of an answer, because
// providers may answer anything at any length.
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

// Write is a sent write, of a client's request or of a job.
type Write struct {
	Kind index.WriteKind
	ID   string // of the resource: a 404 has to be about it
	// Endpoint is the endpoint of the write; nil if its operation is not
	// followed. Public is the front door, and Caller is the caller for whom
	// the operation is polled.
	Endpoint *regions.Endpoint
	Public   *url.URL
	Caller   access.Principal
}

// Read returns the effect of a write's result on the index (see package inventory, rules
// R3 to R5), from the answer and the error of [upstream.Client.Send]. Without an answer,
// only an unsent write is known to have changed nothing.
func (w Write) Read(got upstream.Answer, err error) inventory.WriteResult {
	a := inventory.WriteResult{Status: got.Status}
	if got.Status == 0 {
		if upstream.Unsent(err) {
			a.Outcome = index.NotSent
		}
		return a
	}
	if w.Endpoint != nil {
		a.Poll = PollOf(got.Status, got.Header, w.Public, w.Endpoint, w.Caller)
	}
	if StatusUntrusted(err) {
		return a // ambiguous: the status may be wrong
	}
	report, details := inventory.ReadDetails(got.Body)
	about := details != nil
	if w.Kind == index.Delete {
		about = ConcernsResource(got.Status, got.Body, w.ID)
	}
	a.Outcome = index.ReadAnswer(w.Kind, got.Status, about)
	switch {
	case got.Status >= http.StatusBadRequest:
		a.Error = Error(got.Status, string(got.Body[:min(len(got.Body), answerBytes)])) // an event keeps only this much
	case a.Outcome == index.Succeeded:
		a.ProvisioningState, a.Details = report.State(), details
	}
	return a
}

// StatusUntrusted reports whether the error of a call means that the status of its answer
// cannot be trusted. The status of an answer that is too large is valid.
func StatusUntrusted(err error) bool { return err != nil && !errors.Is(err, upstream.ErrTooLarge) }
