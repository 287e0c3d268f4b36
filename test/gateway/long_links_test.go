package gateway_test

import (
	"strconv"
	"strings"
	"testing"
)

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
