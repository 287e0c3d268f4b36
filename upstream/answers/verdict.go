package answers

import (
	"net/http"
	"slices"
	"time"

	"portico/arm"
	"portico/upstream"
)

// Meaning is what the answer to a call of durable work means for what the call asked.
type Meaning uint8

// The meanings.
const (
	Done        Meaning = iota
	Accepted            // the provider works on it
	Absent              // the resource does not exist
	Refused             // as things stand
	Later               // not now
	Unreachable         // the region does not answer
)

// Verdict returns what the answer to a call of durable work means, and the pause that it
// asks for. about: the text speaks of what the call asked. An ingress's 404 does not, nor
// its page with a 200, and both pass. 502 to 504 are what stands before a provider answers
// without one: they speak of the region, and not of a resource.
//
// After what each kind of work tries again, side by side:
//
//   - a read of package upstream: Unreachable, at once. A provider's own failure is left to
//     the caller, who may know better.
//   - a deletion of a group or of complete mode: Later, within the budget of a resource;
//     Unreachable, until the whole is late, as no resource is to blame for its region;
//     Refused, when another resource has gone.
//   - a deployment's step: Later and Unreachable, within one budget, so that its caller
//     learns in time that a region is away.
//   - a move: Later with 429. After any other failure it asks first what has moved.
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
	case upstream.Unavailable(status):
		return Unreachable, after
	case success, status == http.StatusNotFound, status == http.StatusRequestTimeout, status == http.StatusTooManyRequests, status < 200, status >= 500:
		return Later, after
	}
	return Refused, after
}

// About reports whether the answer to a call speaks of the resource of an ID: any success
// with JSON or nothing, and a 404 in such words.
func About(status int, body []byte, id string) bool {
	if status == http.StatusNotFound {
		return arm.SaysAbsent(body, id)
	}
	return State(false, body).Readable()
}

// ListAgain reports whether a list calls a region again, once, after such a failure: any
// but a refusal of the request or of its caller, which it would only repeat.
func ListAgain(status int) bool {
	return status != http.StatusBadRequest && status != http.StatusUnauthorized && status != http.StatusForbidden
}

// SweepAgain reports whether a sweep reads a page again after such an answer: only if it
// goes too fast, since the next sweep makes up for any other failure.
func SweepAgain(status int) bool { return status == http.StatusTooManyRequests }

// EventAgain reports whether an event may be taken after such an answer of its receiver:
// any but a refusal of its content, which does not change.
func EventAgain(status int) bool {
	refusals := []int{http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity}
	return !slices.Contains(refusals, status)
}
