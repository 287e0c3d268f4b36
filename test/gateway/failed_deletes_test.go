package gateway_test

import (
	"strings"
	"testing"

	"portico/arm"
)

// A delete whose operation tells only its refusal has failed where the resource says
// so, and had not failed before: then the row is as it was, and no one has to poll for
// that.
func TestDeletesThatFail(t *testing.T) {
	for name, before := range map[string]string{"what stood": "Succeeded", "what had failed": "Failed"} {
		t.Run(name, func(t *testing.T) {
			p := newScripted(t, setup{})
			show := func(id, state string) string {
				return `{"id":"` + id + `","location":"westus","properties":{"provisioningState":"` + state + `"}}`
			}
			requested, unasked := groupPath("g")+"/providers/Contoso.Script/items/asked", groupPath("g")+"/providers/Contoso.Script/items/unasked"
			for _, item := range []string{requested, unasked} {
				p.say("PUT "+item+api, 201, show(item, before))
				p.ok(201, "PUT", item+api, westus)
				p.say("DELETE "+item+api, 202, "", "Location", p.at+scriptOperations+"o")
				p.say("GET "+item+api, 200, show(item, "Failed"))
				p.ok(202, "DELETE", item+api, "")
			}
			p.say("GET "+scriptOperations+"o", 409, `{"error":{"code":"InUse","message":"It is in use."}}`)
			p.ok(202, "DELETE", requested+api, "")
			p.do("GET", scriptOperations+"o", "")
			row, there := p.row(requested)
			if !there || row.FollowDelete != (before == "Failed") {
				t.Errorf("after the client's poll: %v %+v", there, row)
			}
			p.reached("")
			p.work()
			p.within("a question", func() bool { return p.count("GET "+unasked+api) > 0 })
			if before == "Failed" {
				if row, there := p.row(unasked); !there || !row.FollowDelete {
					t.Errorf("what had failed before is taken for the end: %v %+v", there, row)
				}
				return
			}
			p.within("the end of the delete", func() bool { row, _ := p.row(unasked); return firm(row) && !row.FollowDelete })
		})
	}
}

// What a refused poll says is kept for whoever deletes the group.
func TestWordsOfADeleteThatFailsLate(t *testing.T) {
	p := newScripted(t, setup{})
	item := p.item("i")
	p.say("DELETE "+item+api, 202, "", "Location", p.at+scriptOperations+"o")
	p.say("GET "+scriptOperations+"o", 409, `{"error":{"code":"InUse","message":"It is in use."}}`)
	p.say("GET "+item+api, 200, `{"id":"`+item+`","location":"westus"}`)
	p.work()
	p.ok(202, "DELETE", groupPath("g")+own, "")
	group, err := p.store.Group(t.Context(), subscription, "g")
	must(t, err)
	p.within("the words", func() bool {
		job, err := p.store.Jobs.Get(t.Context(), subscription, group.Generation)
		must(t, err)
		text, err := p.store.Deletions.MemberError(t.Context(), job, arm.Fold(item))
		return err == nil && strings.Contains(text, "It is in use.")
	})
}
