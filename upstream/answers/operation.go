package answers

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"portico/access"
	"portico/arm"
	"portico/internal/jsontext"
	"portico/internal/timing"
	"portico/inventory"
	"portico/inventory/index"
	"portico/regions"
	"portico/upstream"
)

// PollOf returns where the operation of an accepted write is polled, nil if the answer
// names no URL: by path and query alone, on the endpoint that the write went to, at the
// pace that the provider asked for, on behalf of the write's caller.
func PollOf(status int, header http.Header, public *url.URL, endpoint *regions.Endpoint, caller access.Principal) *inventory.Poll {
	for _, name := range [...]string{"Azure-Asyncoperation", "Operation-Location", "Location"} {
		values := header[name]
		if len(values) == 0 || !NamesOperation(name, status) {
			continue
		}
		if target, own := OwnLink(values[0], public, endpoint); own {
			pause, _ := timing.RetryAfter(header, time.Now())
			return &inventory.Poll{
				Path: target.EscapedPath(), Query: target.RawQuery, RetryAfter: pause, Status: name != "Location",
				TenantID: caller.TenantID, ObjectID: caller.ObjectID,
			}
		}
	}
	return nil
}

// NamesOperation reports whether a header names an operation: the Location of any
// answer but a 202 is the resource's own.
func NamesOperation(header string, status int) bool {
	return header != "Location" || status == http.StatusAccepted
}

// Progress is the operation's progress by an answer to a poll.
type Progress uint8

// The kinds of progress.
const (
	Unclear  Progress = iota // unknown: the poll failed, not the operation
	Running                  // it goes on
	Finished                 // it has come to a terminal state
	Missing                  // there is no such operation, or not yet, or not any more
	Refused                  // it may have failed so
)

// ReadPoll reads an answer to a poll (async reference, 202 Accepted and Location
// Headers; Azure-AsyncOperation Resource format). ofStatus: what was polled is the
// operation's status, which is always answered with 200. Its result is answered as
// the write would have been, so that a refusal may be the operation's end.
func ReadPoll(ofStatus bool, status int, text []byte) Progress {
	switch status {
	case http.StatusOK:
		if Terminal(State(text)) {
			return Finished
		}
		return Running
	case http.StatusNoContent, http.StatusCreated:
		return Finished
	case http.StatusAccepted:
		return Running
	case http.StatusNotFound, http.StatusGone:
		return Missing
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return Unclear
	}
	if !ofStatus && status >= http.StatusBadRequest && status < http.StatusInternalServerError && !misunderstood(text) {
		return Refused
	}
	return Unclear
}

// misunderstood reports whether the provider refused the poll for its api-version,
// which says nothing about the operation.
func misunderstood(text []byte) bool {
	var envelope struct {
		Error struct{ Code string }
	}
	if len(text) > arm.MaxFaultBody {
		return false
	}
	_ = json.Unmarshal(text, &envelope) // any other text is no such refusal
	return strings.Contains(strings.ToLower(envelope.Error.Code), "apiversion")
}

// MayHaveEnded reports whether an answer to a client's poll may mean that the
// operation is over. It proves nothing: the provider may know no operation by the
// URL that the client polled.
func MayHaveEnded(status int, text []byte) bool {
	progress := ReadPoll(false, status, text)
	return progress != Running && progress != Unclear
}

// State finds the state in a poll's body: an operation's status, or the
// provisioningState of the resource that a finished Location shows.
func State(text []byte) string {
	if status, _ := jsontext.Text(jsontext.Value(text, "status")); status != "" {
		return status
	}
	state, _ := inventory.ReadDetails(text)
	return state
}

// Terminal reports whether a state is final. Some providers spell canceled in the
// British way.
func Terminal(state string) bool {
	return strings.EqualFold(state, "cancelled") || index.Terminal(state)
}

// longestPause bounds the pause that an answer can request (async reference, 202
// Accepted and Location Headers).
const longestPause = 10 * time.Minute

// RetryAfter is the pause that an answer asks for, within bounds; 0: none.
func RetryAfter(header http.Header) time.Duration {
	pause, _ := timing.RetryAfter(header, time.Now())
	return min(pause, longestPause)
}

// PollFailure returns the error in the last poll of an operation, empty if it did not
// fail (async reference, Azure-AsyncOperation Resource format). ofStatus is as in
// [ReadPoll].
func PollFailure(ofStatus bool, answer upstream.Answer) string {
	if !ofStatus {
		if answer.Status < http.StatusBadRequest || answer.Status == http.StatusNotFound || answer.Status == http.StatusGone {
			return ""
		}
		return Text(answer.Status, answer.Body)
	}
	state := strings.ToLower(State(answer.Body))
	if answer.Status != http.StatusOK || state != "failed" && state != "canceled" && state != "cancelled" {
		return ""
	}
	fault := jsontext.Value(answer.Body, "error")
	if fault == nil {
		return FaultText("OperationFailed", "The operation ended as "+StateWord(answer.Body)+".")
	}
	return Text(answer.Status, slices.Concat([]byte(`{"error":`), fault, []byte{'}'}))
}

// StateWord is the state in a poll's body if it is one word, which is all that a
// state can be.
func StateWord(text []byte) string {
	state := State(text)
	if len(state) > 40 {
		return ""
	}
	for _, c := range state {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return ""
		}
	}
	return state
}
