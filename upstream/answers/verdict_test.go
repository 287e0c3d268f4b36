package answers

import (
	"net/http"
	"testing"
	"time"
)

// The table of verdicts. about changes a success and a 404 alone.
func TestVerdicts(t *testing.T) {
	header := http.Header{"Retry-After": {"7"}}
	for status, want := range map[int][2]Meaning{ // what is about something else, and what is not
		101: {Later, Later}, 200: {Later, Done}, 201: {Later, Done}, 202: {Accepted, Accepted}, 204: {Later, Done}, 299: {Later, Done},
		300: {Refused, Refused}, 307: {Refused, Refused}, 400: {Refused, Refused}, 401: {Refused, Refused}, 404: {Later, Absent}, 408: {Later, Later},
		409: {Refused, Refused}, 410: {Refused, Refused}, 412: {Refused, Refused}, 429: {Later, Later}, 499: {Refused, Refused},
		500: {Later, Later}, 501: {Later, Later}, 502: {Unreachable, Unreachable}, 503: {Unreachable, Unreachable}, 504: {Unreachable, Unreachable}, 599: {Later, Later},
	} {
		for i, about := range []bool{false, true} {
			if got, after := Verdict(status, header, about); got != want[i] || after != 7*time.Second {
				t.Errorf("%d, about what was asked: %v: %v after %v, want %v", status, about, got, after, want[i])
			}
		}
	}
	if _, after := Verdict(429, http.Header{"Retry-After": {"86400"}}, true); after != longestPause {
		t.Errorf("after %v", after)
	}
}

// What stands before a provider says nothing of its resources.
func TestAnswersAboutAResource(t *testing.T) {
	const id = "/subscriptions/s/resourceGroups/g/providers/Contoso.Compute/virtualMachines/m"
	for _, c := range []struct {
		status int
		text   string
		about  bool
	}{
		{200, "", true}, {204, "", true}, {200, "null", true}, {200, "[]", true}, {200, "{}", true}, {200, `{"properties":{"provisioningState":"Deleting"}}`, true},
		{200, "<html>", false}, {200, `{"properties"`, false}, {200, "\xff\xfe{\x00}\x00", false}, {200, "{} {}", false},
		{404, `{"error":{"code":"ResourceNotFound","message":"m"}}`, true}, {404, `{"error":{"code":"NotFound","message":"no m"}}`, true},
		{404, `{"error":{"code":"ResourceGroupNotFound","message":"m"}}`, false}, {404, "<html>", false}, {404, "", false},
	} {
		if got := ConcernsResource(c.status, []byte(c.text), id); got != c.about {
			t.Errorf("%d %q: %v", c.status, c.text, got)
		}
	}
}

// Who makes a call again after which answers.
func TestAnswersWorthAnotherTry(t *testing.T) {
	for status, want := range map[int][3]bool{ // lists, sweeps, events
		400: {false, false, false}, 401: {false, false, true}, 403: {false, false, true}, 404: {true, false, true}, 408: {true, false, true},
		410: {true, false, true}, 413: {true, false, false}, 415: {true, false, false}, 422: {true, false, false}, 429: {true, true, true},
		500: {true, false, true}, 502: {true, false, true}, 503: {true, false, true}, 504: {true, false, true},
	} {
		if got := [3]bool{ListAgain(status), SweepAgain(status), EventAgain(status)}; got != want {
			t.Errorf("%d: %v, want %v", status, got, want)
		}
	}
}
