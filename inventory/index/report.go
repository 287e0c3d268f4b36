package index

import "net/http"

// Report is the state that the text of an answer reports: a resource's
// provisioningState, or an operation's status. The zero Report is of a text that could
// not be read, and proves nothing. A text that was read may still name no state.
type Report struct {
	readable bool
	state    string
}

// Reported returns the report of a text that was read; state is empty if the text names
// none.
func Reported(state string) Report { return Report{readable: true, state: state} }

// Readable reports whether the text was read.
func (r Report) Readable() bool { return r.readable }

// State returns the state that the text names, empty if it names none or was not read.
func (r Report) State() string { return r.state }

// Ended reports whether the text shows a terminal state. One that was read and names no
// state does: a resource without a provisioningState has succeeded.
func (r Report) Ended() bool { return r.readable && Terminal(r.state) }

// Succeeded reports whether the text shows success.
func (r Report) Succeeded() bool {
	return r.readable && Successful(r.state)
}

// Progress is what the answer to a poll says of the operation.
type Progress uint8

// The kinds of progress.
const (
	// PollFailed: the poll failed, not the operation, so it is polled again later.
	PollFailed Progress = iota
	// PollUnclear: a success that says nothing of the operation, which is polled again as
	// if it went on.
	PollUnclear
	// PollRunning: the operation goes on.
	PollRunning
	// PollFinished: it has come to a terminal state.
	PollFinished
	// PollMissing: there is no such operation, or not yet, or not any more.
	PollMissing
	// PollRefused: the operation may have failed so, or the provider refuses the poll.
	PollRefused
)

// ProgressOf returns what the answer to a poll says of the operation, by its status and
// by what its text reports (index protocol, R6). ofStatus: the URL shows the operation's
// status, which every such answer has to name (async reference, Azure-AsyncOperation
// Resource format). Any other URL shows the result, which may name no state.
func ProgressOf(ofStatus bool, status int, report Report) Progress {
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
