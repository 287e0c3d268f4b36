package gateway_test

import "testing"

// A foreign polling URL is not followed either: what it names is no one's to ask
// for unasked, and the resource tells of the end (rule R6).
func TestForeignPollingURLsAreNotFollowed(t *testing.T) {
	p := newScripted(t, setup{})
	kept, gone := p.item("kept"), p.item("gone")
	for method, item := range map[string]string{"PUT": kept, "DELETE": gone} {
		p.say(method+" "+item+api, 202, "", "Location", "https://evil.example"+scriptOperations+"x", "Azure-Asyncoperation", "https://evil.example"+scriptOperations+"y")
		for _, name := range []string{"x", "y"} {
			p.say("GET "+scriptOperations+name, 200, `{"status":"Succeeded"}`)
		}
		p.say("GET "+item+api, 200, `{"id":"`+item+`","location":"westus","properties":{"provisioningState":"Working"}}`)
		p.ok(202, method, item+api, westus)
	}
	p.work()
	for _, item := range []string{kept, gone} {
		p.within("the resource is asked for", func() bool { return p.count("GET "+item+api) > 0 })
		if row, _ := p.row(item); !row.FollowPut && !row.FollowDelete {
			t.Errorf("a state that is not terminal ended the follow: %+v", row)
		}
	}
	p.say("GET "+kept+api, 200, `{"id":"`+kept+`","location":"westus","properties":{"provisioningState":"Succeeded"}}`)
	p.leaves(gone)
	p.within("the update's end", func() bool { row, there := p.row(kept); return there && firm(row) })
	p.within("the delete's end", func() bool { _, there := p.row(gone); return !there })
	for _, name := range []string{"x", "y"} {
		if n := p.count("GET " + scriptOperations + name); n > 0 {
			t.Errorf("%s was asked for %d times", name, n)
		}
	}
}

// count is how often the provider got a call.
func (p *scripted) count(call string) (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, requested := range p.polls {
		if requested == call {
			n++
		}
	}
	return n
}
