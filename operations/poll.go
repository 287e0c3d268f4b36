package operations

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"portico/access"
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

// PollEnded reads from a poll's answer whether the operation is over: finished,
// or lost (async reference, 202 Accepted and Location Headers; Azure-AsyncOperation
// Resource format). The text counts only with 200.
func PollEnded(status int, text []byte) bool {
	switch {
	case status == http.StatusOK:
		return StateEnds(PollState(text))
	case status == http.StatusNotFound, status == http.StatusNoContent, status == http.StatusCreated:
		return true
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusRequestTimeout, status == http.StatusTooManyRequests:
		return false // the reading failed, not the operation
	}
	return status >= http.StatusBadRequest && status < http.StatusInternalServerError
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
