package index

import "testing"

// A text that could not be read is never taken for one that names no state.
func TestReports(t *testing.T) {
	for _, c := range []struct {
		report                     Report
		readable, ended, succeeded bool
	}{
		{Report{}, false, false, false},
		{Reported(""), true, true, true},
		{Reported("succeeded"), true, true, true},
		{Reported("Failed"), true, true, false},
		{Reported("Canceled"), true, true, false},
		{Reported("Cancelled"), true, true, false},
		{Reported("Creating"), true, false, false},
	} {
		if r := c.report; r.Readable() != c.readable || r.Ended() != c.ended || r.Succeeded() != c.succeeded {
			t.Errorf("%+v: readable %v, ended %v, succeeded %v", r, r.Readable(), r.Ended(), r.Succeeded())
		}
	}
}

func TestProgress(t *testing.T) {
	unread, silent, running, ended, failed := Report{}, Reported(""), Reported("Running"), Reported("Succeeded"), Reported("Failed")
	for _, c := range []struct {
		report           Report
		status           int
		ofStatus, result PollResult
	}{
		{unread, 200, PollUnclear, PollUnclear}, {unread, 201, PollUnclear, PollUnclear}, {unread, 202, PollRunning, PollRunning},
		{silent, 200, PollUnclear, PollFinished}, {silent, 201, PollUnclear, PollFinished}, {silent, 204, PollUnclear, PollFinished},
		{running, 200, PollRunning, PollRunning}, {running, 201, PollRunning, PollRunning}, {running, 202, PollRunning, PollRunning},
		{ended, 200, PollFinished, PollFinished}, {ended, 201, PollFinished, PollFinished}, {ended, 202, PollRunning, PollRunning},
		{failed, 200, PollFinished, PollFinished}, {silent, 202, PollRunning, PollRunning},
		{unread, 404, PollMissing, PollMissing}, {ended, 410, PollMissing, PollMissing},
		{ended, 301, PollFailed, PollFailed}, {ended, 400, PollFailed, PollFailed}, {ended, 503, PollFailed, PollFailed}, {unread, 0, PollFailed, PollFailed},
	} {
		if got := PollResultOf(true, c.status, c.report); got != c.ofStatus {
			t.Errorf("a status, %d %+v: %v, want %v", c.status, c.report, got, c.ofStatus)
		}
		if got := PollResultOf(false, c.status, c.report); got != c.result {
			t.Errorf("a result, %d %+v: %v, want %v", c.status, c.report, got, c.result)
		}
	}
}
