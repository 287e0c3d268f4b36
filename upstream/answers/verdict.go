package answers

import (
	"net/http"
	"slices"
	"time"

	"portico/arm"
	"portico/upstream"
)

// Meaning is the meaning of the answer to a call of durable work.
type Meaning uint8

// The meanings.
const (
	Done        Meaning = iota
	Accepted            // the provider works on it
	Absent              // the resource does not exist
	Refused             // for now, by the current state
	Later               // not now
	Unreachable         // the region does not answer
)

// Verdict returns the meaning of the answer to a call of durable work, and the
// pause that it requests. about reports whether the text is about the resource of
// the call: an ingress's 404, or its page with a 200, is not, and both pass. 502 to
// 504 come from intermediaries that got no answer from a provider: they concern the
// region, not a resource.
//
// What each kind of work retries:
//
//   - a read of package upstream: Unreachable, immediately. It leaves a provider's
//     own failure to the caller, who may know better.
//   - a deletion of a group or of complete mode: Later, within the budget of a
//     resource; Unreachable, until the deletion's deadline, as no resource is to
//     blame for its region; Refused, after another resource has gone.
//   - a deployment's step: Later and Unreachable, within one budget, so that its
//     caller learns in time that a region is unreachable.
//   - a move: Later with 429. After any other failure it first checks what has moved.
//   - lists, sweeps and events: see [ListAgain], [SweepAgain] and [EventAgain].
func Verdict(status int, header http.Header, about bool) (Meaning, time.Duration) {
	after := RetryAfter(header)
	switch success := status >= 200 && status < 300; {
	case status == http.StatusAccepted:
		return Accepted, after
	case success && about:
		return Done, after
	case status == http.StatusNotFound && about:
		return Absent, after
	case upstream.IntermediaryFailure(status):
		return Unreachable, after
	case success, status == http.StatusNotFound, status == http.StatusRequestTimeout, status == http.StatusTooManyRequests, status < 200, status >= 500:
		return Later, after
	}
	return Refused, after
}

// ConcernsResource reports whether the answer to a call is about the resource with an ID: any
// success with JSON or an empty body, and a 404 that reports the resource's absence.
func ConcernsResource(status int, body []byte, id string) bool {
	if status == http.StatusNotFound {
		return arm.ReportsAbsence(body, id)
	}
	return PollState(false, body).Readable()
}

// ListAgain reports whether a list calls a region again, once, after such a failure: any
// except a refusal of the request or of its caller, which would only repeat.
func ListAgain(status int) bool {
	return status != http.StatusBadRequest && status != http.StatusUnauthorized && status != http.StatusForbidden
}

// SweepAgain reports whether a sweep reads a page again after such an answer: only if it
// is too fast, since the next sweep makes up for any other failure.
func SweepAgain(status int) bool { return status == http.StatusTooManyRequests }

// EventAgain reports whether an event may be sent again after such an answer of its
// receiver: after any except a refusal of its content, which does not change.
func EventAgain(status int) bool {
	refusals := []int{http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity}
	return !slices.Contains(refusals, status)
}
