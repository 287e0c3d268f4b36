package operations

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"portico/access"
	"portico/arm"
	"portico/fanout"
	"portico/inventory"
	"portico/jsonscan"
	"portico/regions"
	"portico/upstream"
)

// PollTarget returns a polling URL as it is on the front door, and whether it
// may be: it names the front door, the provider's own endpoint, or no host
// (async reference, 202 Accepted and Location Headers).
func PollTarget(link string, public *url.URL, endpoint *regions.Endpoint) (*url.URL, bool) {
	target, err := url.Parse(link)
	if err != nil || target.User != nil || target.Opaque != "" || !strings.HasPrefix(target.EscapedPath(), "/") {
		return nil, false
	}
	own := target.Scheme == "" && target.Host == "" || fanout.SameOrigin(target, public)
	for _, address := range endpoint.URLs {
		own = own || fanout.SameOrigin(target, address)
	}
	if !own {
		return nil, false
	}
	return &url.URL{Scheme: public.Scheme, Host: public.Host, Path: target.Path, RawPath: target.RawPath, RawQuery: target.RawQuery}, true
}

// PollOf is where the operation of an accepted write is followed, nil where the
// answer names no place: by path and query alone, on the endpoint that the write
// went to, at the pace that the provider asked for, on behalf of its caller.
func PollOf(answer *http.Response, public *url.URL, endpoint *regions.Endpoint, caller access.Principal) *inventory.Poll {
	for _, name := range [...]string{"Azure-Asyncoperation", "Operation-Location", "Location"} {
		values := answer.Header[name]
		if len(values) == 0 || !Polled(name, answer.StatusCode) {
			continue
		}
		if target, own := PollTarget(values[0], public, endpoint); own {
			pause, _ := upstream.RetryAfter(answer.Header, time.Now())
			return &inventory.Poll{
				Path: target.EscapedPath(), Query: target.RawQuery, RetryAfter: pause, Status: name != "Location",
				TenantID: caller.TenantID, ObjectID: caller.ObjectID,
			}
		}
	}
	return nil
}

// Polled tells whether a header names an operation: the Location of any other
// answer than a 202 is the resource's own.
func Polled(header string, status int) bool {
	return header != "Location" || status == http.StatusAccepted
}

// pollResult is what an answer to a poll says of the operation.
type pollResult uint8

const (
	pollUnclear  pollResult = iota // nothing: the reading failed, not the operation
	pollRunning                    // it goes on
	pollFinished                   // it has come to a terminal state
	pollMissing                    // there is no such operation, or not yet, or not any more
	pollRefused                    // it may have failed so
)

// judgePoll reads an answer to a poll (async reference, 202 Accepted and Location
// Headers; Azure-AsyncOperation Resource format). The status of an operation is
// always read with 200; the result is answered as the write would have been, so
// that a refusal may be its end. The text counts only with 200.
func judgePoll(ofStatus bool, status int, text []byte) pollResult {
	switch status {
	case http.StatusOK:
		if StateEnds(PollState(text)) {
			return pollFinished
		}
		return pollRunning
	case http.StatusNoContent, http.StatusCreated:
		return pollFinished
	case http.StatusAccepted:
		return pollRunning
	case http.StatusNotFound, http.StatusGone:
		return pollMissing
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return pollUnclear
	}
	if !ofStatus && status >= http.StatusBadRequest && status < http.StatusInternalServerError && !misunderstood(text) {
		return pollRefused
	}
	return pollUnclear
}

// misunderstood tells the refusals of a question that the provider does not know how
// to answer: they say nothing of the operation.
func misunderstood(text []byte) bool {
	var envelope struct {
		Error struct{ Code string }
	}
	if len(text) > arm.MaxFaultBody {
		return false
	}
	_ = json.Unmarshal(text, &envelope) // whatever else it is, it is no such refusal
	return strings.Contains(strings.ToLower(envelope.Error.Code), "apiversion")
}

// PollEnded reports whether an answer to a client's poll may mean that the
// operation is over. It proves nothing: the client may have asked in a way in which
// the provider knows no such operation.
func PollEnded(status int, text []byte) bool {
	result := judgePoll(false, status, text)
	return result != pollRunning && result != pollUnclear
}

// PollState finds the state in a poll's body: an operation's status, or the
// provisioningState of the resource that a finished Location shows.
func PollState(text []byte) string {
	status := ""
	_ = jsonscan.Object(text, func(m jsonscan.Member) error {
		if string(m.Key) == "status" {
			status, _ = jsonscan.Text(m.Value)
		}
		return nil
	})
	if status != "" {
		return status
	}
	state, _ := inventory.ReadDetails(text)
	return state
}

// StateEnds holds for the states in which nothing more will happen. Of operations
// that is also the British spelling of canceled, which some providers use.
func StateEnds(state string) bool {
	return strings.EqualFold(state, "cancelled") || inventory.Terminal(state)
}
