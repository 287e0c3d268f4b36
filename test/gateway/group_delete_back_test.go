package gateway_test

import (
	"testing"
	"time"
)

// A resource that comes back after its delete, and stands in the way of another,
// is deleted again: the group goes. While an earlier call for it is open, no one
// can say that it is there to stay, and nothing is given up for its sake.
func TestGroupWhoseResourceComesBack(t *testing.T) {
	t.Run("at once", func(t *testing.T) { comesBack(t, false) })
	t.Run("while a call is open", func(t *testing.T) { comesBack(t, true) })
}

func comesBack(t *testing.T, open bool) {
	p := newScripted(t, setup{alone: open}) // its clock goes on while the job is at work
	first, second := p.item("first"), p.item("second")
	if open {
		p.say("DELETE "+first+api, 503, "")
		if got := p.do("DELETE", first+api, ""); got.status != 503 {
			t.Fatalf("%d %s", got.status, got.text)
		}
	}
	list := "GET " + groupPath("g") + "/providers/Contoso.Script/items" + api
	p.say("DELETE "+first+api, 200, "")
	p.say("GET "+first+api, 200, `{"id":"`+first+`","location":"westus"}`)
	p.say("DELETE "+second+api, 409, `{"error":{"code":"InUse","message":"In use by `+first+`."}}`)
	p.say(list, 200, `{"value":[{"id":"`+first+`"},{"id":"`+second+`"}]}`)
	deletes := 0
	p.heard = func(call string) {
		if call != "DELETE "+first+api {
			return
		}
		if deletes++; deletes == 2 {
			delete(p.says, "GET "+first+api)
			p.says["DELETE "+second+api] = said{status: 200}
			p.says[list] = said{status: 200, body: `{"value":[]}`}
		}
	}
	p.work()
	accepted := p.ok(202, "DELETE", groupPath("g")+own, "")
	if open {
		p.within("what is in its way", func() bool { return p.count("DELETE "+second+api) > 0 && p.count(list) > 0 })
		time.Sleep(50 * time.Millisecond)
		p.clock.advance(2 * time.Minute)
	}
	if got := p.end(accepted); got.status != 200 {
		t.Errorf("%d %s", got.status, got.text)
	}
	// While a call is open, a delete that went well does not end the row, and may
	// be sent again, as often as there is time for it.
	if deletes < 2 || deletes > 2 && !open {
		t.Errorf("%d deletes", deletes)
	}
}
