package gateway_test

import (
	"strconv"
	"strings"
	"testing"
)

// longQuery is a query with a context of so many bytes, as providers have it that
// keep an operation's state in its URL.
func longQuery(bytes int) string { return "?userContext=" + strings.Repeat("a", bytes) }

// What fits the headers of a provider's answer can be polled: under its own name
// where a client can send that, else under one of Portico's own.
func TestLongPollingURLs(t *testing.T) {
	p := newScripted(t, setup{})
	item := p.item("i")
	const foreign = "/somewhere/else/post"
	for _, c := range []struct {
		name, sent, requested string
		itself                bool // the client gets the provider's own URL
	}{
		{"its own, 6 KiB", p.at + scriptOperations + "a" + longQuery(6<<10), scriptOperations + "a" + longQuery(6<<10), true},
		{"its own, 20 KiB", p.at + scriptOperations + "b" + longQuery(20<<10), scriptOperations + "b" + longQuery(20<<10), false},
		{"of another form, 6 KiB", p.at + foreign + longQuery(6<<10), foreign + longQuery(6<<10), false},
		{"on another host, 6 KiB", "https://evil.example" + foreign + longQuery(6<<10), foreign + longQuery(6<<10), false},
		{"on another host, 50 KiB", "https://evil.example" + foreign + longQuery(50<<10), foreign + longQuery(50<<10), false},
	} {
		for _, header := range []string{"Location", "Azure-Asyncoperation"} {
			p.say("POST "+item+"/act"+api, 202, "", header, c.sent)
			p.say("GET "+c.requested, 200, `{"status":"Succeeded","x":1}`)
			poll := p.local(p.ok(202, "POST", item+"/act"+api, "").header.Get(header))
			if itself := poll == c.requested; itself != c.itself {
				t.Errorf("%s: %s is %.200s", c.name, header, poll)
			}
			if got := p.ok(200, "GET", poll, ""); !strings.Contains(got.text, `"x":1`) {
				t.Errorf("%s: %s", c.name, got.text)
			}
		}
	}
	for line := range strings.Lines(p.log.String()) {
		if strings.Contains(line, "polling URL") && strings.Contains(line, "userContext") || strings.Contains(line, `"level":"warn"`) {
			t.Errorf("the log has %.500s", line)
		}
	}
}

// A URL that is refused is told of by its length. What became of the action is
// then unknown, which is not that it failed, and ends a client's polling all the
// same.
func TestPollingURLsThatAreTooLong(t *testing.T) {
	p := newScripted(t, setup{})
	item := p.item("i")
	for _, header := range []string{"Location", "Azure-Asyncoperation"} {
		p.log.Reset()
		sent := p.at + "/somewhere/" + strings.Repeat("secretive", 4<<10)
		p.say("POST "+item+"/act"+api, 202, "", header, sent)
		poll := p.local(p.ok(202, "POST", item+"/act"+api, "").header.Get(header))
		got := p.want(501, "InternalServerError", "GET", poll, "")
		if !strings.Contains(got.text, "outcome of the operation is unknown") || strings.Contains(got.text, "Failed") {
			t.Errorf("%s", got.text)
		}
		log := p.log.String()
		if !strings.Contains(log, `"level":"warn"`) || !strings.Contains(log, `"length":`+strconv.Itoa(len(sent))) || strings.Contains(log, "secretive") {
			t.Errorf("the log has %.2000s", log)
		}
	}
}
