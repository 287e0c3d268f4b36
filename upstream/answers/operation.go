package answers

import (
	"bytes"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"portico/access"
	"portico/arm"
	"portico/internal/jsontext"
	"portico/internal/timing"
	"portico/inventory"
	"portico/inventory/index"
	"portico/regions"
)

// PollOf returns how to poll the operation of an accepted write, nil if the
// answer has no polling URL: only by path and query, on the endpoint of the
// write, at the provider's pace, on behalf of the write's caller.
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

// NamesOperation reports whether a header names an operation: a Location does
// so only on a 202; otherwise it is the resource's own.
func NamesOperation(header string, status int) bool {
	return header != "Location" || status == http.StatusAccepted
}

// ReadPoll reads an answer to a poll: the progress of the operation and, if it may have
// failed, its error. ofStatus is the same as in [index.PollResultOf]. An operation's
// result has the answer of a synchronous write, so that a refusal may be the operation's
// end (async reference, 202 Accepted and Location Headers). A poll that failed, or could
// not be read, has its own progress, and is not a failure of the operation.
func ReadPoll(ofStatus bool, status int, text []byte) (progress index.PollResult, failure string) {
	report := PollState(ofStatus, text)
	switch progress = index.PollResultOf(ofStatus, status, report); {
	case progress == index.PollFailed && !ofStatus && RefusesRequest(status) && !refusesVersion(text):
		return index.PollRefused, Text(status, text)
	case progress != index.PollFinished || report.Succeeded():
		return progress, ""
	}
	// The error of an operation is a member of its status (async reference,
	// Azure-AsyncOperation Resource format).
	fault := jsontext.Value(text, "error")
	if fault == nil {
		return progress, FaultText("OperationFailed", "The operation ended as "+StateWord(text)+".")
	}
	return progress, Text(status, slices.Concat([]byte(`{"error":`), fault, []byte{'}'}))
}

// RefusesRequest reports whether a status refuses a request for any caller at any time.
// As an answer to a poll of a result, it may be the result of the operation.
func RefusesRequest(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return false
	}
	return status >= http.StatusBadRequest && status < http.StatusInternalServerError
}

// refusesVersion reports whether the provider refused the poll because of its
// api-version, which proves nothing about the operation.
func refusesVersion(text []byte) bool {
	if len(text) > arm.MaxFaultBody {
		return false
	}
	fault := arm.ReadError(text)
	return fault != nil && strings.Contains(strings.ToLower(string(fault.Code)), "apiversion")
}

// MayHaveEnded reports whether an answer to a client's poll may mean that the
// operation has ended. It proves nothing: the provider may have no operation
// at the URL that the client polled.
func MayHaveEnded(status int, text []byte) bool {
	progress, _ := ReadPoll(false, status, text)
	return progress == index.PollFinished || progress == index.PollMissing || progress == index.PollRefused
}

// PollState returns the state in a poll's text: the operation's status or, in the
// result of an operation, the provisioningState of the resource. The text of
// a status is an object with a status; a result is any JSON, or empty.
func PollState(ofStatus bool, text []byte) index.Report {
	if !utf8.Valid(text) { // a message in another encoding leaves the state readable
		text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	}
	status := statusIn(text)
	switch {
	case ofStatus || status.State() != "":
		return status
	case len(text) == 0, !status.Readable() && jsontext.Valid(text) == nil:
		return index.Reported("")
	}
	state, _ := inventory.ReadDetails(text)
	return state
}

// statusIn returns the status in the text of an object. Its name matches without case.
func statusIn(text []byte) index.Report {
	status := ""
	err := jsontext.Object(text, func(m jsontext.Member) error {
		if strings.EqualFold(string(m.Key), "status") {
			status, _ = jsontext.Text(m.Value)
		}
		return nil
	})
	if err != nil {
		return index.Report{}
	}
	return index.Reported(status)
}

// longestPause bounds the pause that an answer can request (async reference,
// 202 Accepted and Location Headers).
const longestPause = 10 * time.Minute

// RetryAfter returns the pause that an answer requests, within bounds; 0: none.
func RetryAfter(header http.Header) time.Duration {
	pause, _ := timing.RetryAfter(header, time.Now())
	return min(pause, longestPause)
}

// StateWord returns the state in a poll's body if it is one word, as every
// valid state is.
func StateWord(text []byte) string {
	state := PollState(false, text).State()
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
