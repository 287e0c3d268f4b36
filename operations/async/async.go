// Package async reads what providers answer about asynchronous operations (async
// reference): where an operation is polled, whether a poll says that it has ended,
// and why it failed. It makes no call.
package async

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"portico/access"
	"portico/arm"
	"portico/fanout"
	"portico/internal/jsonscan"
	"portico/internal/timing"
	"portico/inventory"
	"portico/inventory/index"
	"portico/regions"
)

// Target returns a polling URL as it is on the front door, and reports whether the
// provider may name it: its host is the front door, the provider's own endpoint, or
// missing (async reference, 202 Accepted and Location Headers).
func Target(link string, public *url.URL, endpoint *regions.Endpoint) (*url.URL, bool) {
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

// OfAnswer is where the operation of an accepted write is polled, nil where the
// answer names no URL: by path and query alone, on the endpoint that the write went
// to, at the pace that the provider asked for, on behalf of its caller.
func OfAnswer(status int, header http.Header, public *url.URL, endpoint *regions.Endpoint, caller access.Principal) *inventory.Poll {
	for _, name := range [...]string{"Azure-Asyncoperation", "Operation-Location", "Location"} {
		values := header[name]
		if len(values) == 0 || !Named(name, status) {
			continue
		}
		if target, own := Target(values[0], public, endpoint); own {
			pause, _ := timing.RetryAfter(header, time.Now())
			return &inventory.Poll{
				Path: target.EscapedPath(), Query: target.RawQuery, RetryAfter: pause, Status: name != "Location",
				TenantID: caller.TenantID, ObjectID: caller.ObjectID,
			}
		}
	}
	return nil
}

// Named reports whether a header names an operation: the Location of any answer but
// a 202 is the resource's own.
func Named(header string, status int) bool {
	return header != "Location" || status == http.StatusAccepted
}

// Progress is what an answer to a poll says of the operation.
type Progress uint8

// The kinds of progress.
const (
	Unclear  Progress = iota // nothing: the poll failed, not the operation
	Running                  // it goes on
	Finished                 // it has come to a terminal state
	Missing                  // there is no such operation, or not yet, or not any more
	Refused                  // it may have failed so
)

// Read reads an answer to a poll (async reference, 202 Accepted and Location
// Headers; Azure-AsyncOperation Resource format). ofStatus: what was polled is the
// operation's status, which is always answered with 200. Its result is answered as
// the write would have been, so that a refusal may be the operation's end.
func Read(ofStatus bool, status int, text []byte) Progress {
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

// misunderstood reports whether the provider refused the poll for its api-version:
// that says nothing of the operation.
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
	progress := Read(false, status, text)
	return progress != Running && progress != Unclear
}

// State finds the state in a poll's body: an operation's status, or the
// provisioningState of the resource that a finished Location shows.
func State(text []byte) string {
	if status, _ := jsonscan.Text(jsonscan.Value(text, "status")); status != "" {
		return status
	}
	state, _ := inventory.ReadDetails(text)
	return state
}

// Terminal reports whether nothing more happens in a state. Some providers spell
// canceled in the British way.
func Terminal(state string) bool {
	return strings.EqualFold(state, "cancelled") || index.Terminal(state)
}

// longestPause bounds what an answer can ask for (async reference, 202 Accepted and
// Location Headers).
const longestPause = 10 * time.Minute

// RetryAfter is the pause that an answer asks for, within bounds; 0: none.
func RetryAfter(header http.Header) time.Duration {
	pause, _ := timing.RetryAfter(header, time.Now())
	return min(pause, longestPause)
}
