package answers

import (
	"testing"

	"portico/inventory/index"
)

// utf16 is a text in another encoding than JSON's.
const utf16 = "\xff\xfe{\x00\"\x00s\x00t\x00a\x00t\x00u\x00s\x00\"\x00:\x00\"\x00R\x00u\x00n\x00\"\x00}\x00"

func TestStates(t *testing.T) {
	var unread index.Report
	silent, running, succeeded := index.Reported(""), index.Reported("Running"), index.Reported("Succeeded")
	for text, want := range map[string]struct{ status, result index.Report }{
		`{"status":"Running"}`:                                                {running, running},
		`{"Status":"Running","x":1}`:                                          {running, running},
		` {"status":"Succeeded"} `:                                            {succeeded, succeeded},
		`{"properties":{"provisioningState":"Running"}}`:                      {silent, running},
		`{"status":"Running","properties":{"provisioningState":"Succeeded"}}`: {running, running},
		`{}`:              {silent, silent},
		`{"status":null}`: {silent, silent},
		`{"status":""}`:   {silent, silent},
		`{"status":7,"properties":{"provisioningState":"Succeeded"}}`: {silent, succeeded},
		`{"status":"Failed","error":{"message":"f` + "\xfc" + `r"}}`:  {index.Reported("Failed"), index.Reported("Failed")},
		`{"properties":{"provisioningState":7}}`:                      {silent, unread},
		``:                                                            {unread, silent},
		`[]`:                                                          {unread, silent},
		`[{"status":"Succeeded"}]`:                                    {unread, silent},
		`null`:                                                        {unread, silent},
		`"Succeeded"`:                                                 {unread, silent},
		`Succeeded`:                                                   {unread, unread},
		`<!DOCTYPE html><html><body><h1>Service is starting</h1></body></html>`: {unread, unread},
		`{"status":"Succeeded","properties":{"provis`:                           {unread, unread},
		`{"status":"Succeeded"} {"status":"Running"}`:                           {unread, unread},
		utf16: {unread, unread},
	} {
		if got := PollState(true, []byte(text)); got != want.status {
			t.Errorf("a status, %q: %+v, want %+v", text, got, want.status)
		}
		if got := PollState(false, []byte(text)); got != want.result {
			t.Errorf("a result, %q: %+v, want %+v", text, got, want.result)
		}
	}
}

// A refusal may be the result of an operation, but not the answer to a poll of its status.
func TestRefusedPolls(t *testing.T) {
	const apiVersion = `{"error":{"code":"InvalidApiVersionParameter","message":"m"}}`
	for status, want := range map[int]index.PollResult{400: index.PollRefused, 409: index.PollRefused, 401: index.PollFailed, 403: index.PollFailed, 408: index.PollFailed, 429: index.PollFailed, 500: index.PollFailed, 302: index.PollFailed} {
		if got, _ := ReadPoll(false, status, nil); got != want {
			t.Errorf("%d: %v, want %v", status, got, want)
		}
		if got, _ := ReadPoll(true, status, nil); got != index.PollFailed {
			t.Errorf("a status, %d: %v", status, got)
		}
	}
	if got, _ := ReadPoll(false, 400, []byte(apiVersion)); got != index.PollFailed {
		t.Errorf("a refused api-version: %v", got)
	}
}

// Only what ends an operation says why it failed. A poll that failed, found nothing or could
// not be read says nothing, and least of all success.
func TestFailuresOfPolls(t *testing.T) {
	const (
		page    = "<!DOCTYPE html>"
		refusal = `{"error":{"code":"InUse","message":"m"}}`
		failed  = `{"status":"Failed","error":{"code":"InUse","message":"m"}}`
		ended   = `{"error":{"code":"OperationFailed","message":"The operation ended as Failed."}}`
	)
	for _, c := range []struct {
		ofStatus bool
		status   int
		text     string
		progress index.PollResult
		failure  string
	}{
		{true, 200, failed, index.PollFinished, refusal}, {true, 200, `{"status":"Failed"}`, index.PollFinished, ended},
		{true, 200, `{"status":"Succeeded"}`, index.PollFinished, ""}, {true, 200, `{"status":"Running"}`, index.PollRunning, ""},
		{true, 200, page, index.PollUnclear, ""}, {true, 200, failed[:20], index.PollUnclear, ""}, {true, 404, refusal, index.PollMissing, ""},
		{true, 409, refusal, index.PollFailed, ""}, {true, 500, refusal, index.PollFailed, ""},
		{false, 409, refusal, index.PollRefused, refusal}, {false, 200, failed, index.PollFinished, refusal},
		{false, 200, `{"properties":{"provisioningState":"Failed"}}`, index.PollFinished, ended}, {false, 204, "", index.PollFinished, ""},
		{false, 200, page, index.PollUnclear, ""}, {false, 202, "", index.PollRunning, ""}, {false, 410, refusal, index.PollMissing, ""},
		{false, 403, refusal, index.PollFailed, ""}, {false, 429, refusal, index.PollFailed, ""}, {false, 500, refusal, index.PollFailed, ""}, {false, 503, page, index.PollFailed, ""},
	} {
		if progress, failure := ReadPoll(c.ofStatus, c.status, []byte(c.text)); progress != c.progress || failure != c.failure {
			t.Errorf("%d %s, a status: %v: %v %q, want %v %q", c.status, c.text, c.ofStatus, progress, failure, c.progress, c.failure)
		}
	}
}
