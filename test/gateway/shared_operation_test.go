package gateway_test

import (
	"strings"
	"testing"
)

// A provider that takes what several callers ask for as one operation gives all of
// them its URL. Each of them may poll it, and no one else.
func TestOperationsOfSeveralCallers(t *testing.T) {
	p := newScripted(t, setup{tokens: true})
	first, other := []string{"Authorization", bearer(secret)}, []string{"Authorization", bearer(second)}
	p.ok(201, "PUT", groupPath("g")+own, westus, first...)
	item := groupPath("g") + "/providers/Contoso.Script/items/i"
	statuses := strings.Replace(scriptOperations, "operationResults", "operationStatuses", 1)
	for _, c := range []struct {
		name, call, begins, poll string
	}{
		{"of a write", "DELETE", item, scriptOperations + "w"},
		{"of an action", "POST", item + "/restart", statuses + "a"},
		{"below the resource", "DELETE", item, item + "/operationResults/r"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p.say("PUT "+item+api, 201, `{"id":"`+item+`","location":"westus"}`)
			p.ok(201, "PUT", item+api, westus, first...)
			p.say(c.call+" "+c.begins+api, 202, "", "Location", p.at+c.poll+"?t=1", "Retry-After", "10")
			p.say("GET "+c.poll+"?t=1", 202, "", "Location", p.at+c.poll+"?t=1")
			for _, by := range [][]string{first, other, first} {
				began := p.ok(202, c.call, c.begins+api, "", by...)
				if got := p.local(began.header.Get("Location")); got != c.poll+"?t=1" {
					t.Errorf("it leads to %s", got)
				}
			}
			for range 2 {
				for _, by := range [][]string{first, other} {
					p.ok(202, "GET", c.poll+"?t=1", "", by...)
				}
			}
			p.reached("")
			p.want(404, "SubscriptionNotFound", "GET", c.poll+"?t=1", "", "Authorization", bearer(stranger))
			p.want(404, "HttpResourceNotFound", "GET", c.poll+"?t=1", "", "Authorization", bearer(third))
			if p.reached("GET " + c.poll + "?t=1") {
				t.Error("the poll of somebody else reached the provider")
			}
			p.say("GET "+c.poll+"?t=1", 204, "")
			p.leaves(item)
			for _, by := range [][]string{other, first} {
				p.ok(204, "GET", c.poll+"?t=1", "", by...)
			}
			if _, there := p.row(item); there && c.call == "DELETE" {
				t.Error("the end of the polls left the row")
			}
		})
	}
}
