package index

import "net/http"

// Report is the state in the body of an answer: a resource's provisioningState, or an
// operation's status. The zero Report belongs to a body that could not be read, and proves
// nothing. A body that was read may have no state.
type Report struct {
	readable bool
	state    string
}

// Reported returns the report of a body that was read; state is empty if it has none.
func Reported(state string) Report { return Report{readable: true, state: state} }

// Readable reports whether the body was read.
func (r Report) Readable() bool { return r.readable }

// State returns the state in the body, empty if it has none or was not read.
func (r Report) State() string { return r.state }

// Ended reports whether the body was read and its state is terminal. No state is terminal: a
// resource without a provisioningState has succeeded.
func (r Report) Ended() bool { return r.readable && Terminal(r.state) }

// Succeeded reports whether the body was read and its state means success.
func (r Report) Succeeded() bool {
	return r.readable && Successful(r.state)
}

// PollResult is the progress of an operation according to the answer to a poll.
type PollResult uint8

// The kinds of progress.
const (
	// PollFailed: the poll failed, not the operation, which is polled again later.
	PollFailed PollResult = iota
	// PollUnclear: the poll succeeded without a state of the operation, which is polled
	// again as if it continued.
	PollUnclear
	// PollRunning: the operation continues.
	PollRunning
	// PollFinished: the operation has a terminal state.
	PollFinished
	// PollMissing: the operation does not exist, does not exist yet, or no longer exists.
	PollMissing
	// PollRefused: the operation may have failed with this status, or the provider refuses
	// the poll.
	PollRefused
)

// PollResultOf returns the progress of an operation, given the status and the report of the
// answer to a poll (index protocol, R6). ofStatus: the URL returns the operation's status,
// which every answer must contain (async reference, Azure-AsyncOperation Resource format).
// Any other URL returns the result, which may have no state.
func PollResultOf(ofStatus bool, status int, report Report) PollResult {
	switch {
	case status == http.StatusNotFound || status == http.StatusGone:
		return PollMissing
	case status < http.StatusOK || status >= http.StatusMultipleChoices:
		return PollFailed
	case status == http.StatusAccepted:
		return PollRunning
	case !report.readable || ofStatus && report.state == "":
		return PollUnclear
	case report.Ended():
		return PollFinished
	}
	return PollRunning
}
