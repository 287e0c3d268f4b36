package gateway

import (
	"strings"
	"testing"
	"time"
)

// A delete whose operation tells only its refusal has failed where the resource says
// so, and had not failed before: then the row is as it was, nobody has to poll for that,
// and whoever deletes the group is told the provider's words.
func TestDeletesThatFail(t *testing.T) {
	for name, before := range map[string]string{"what stood": "Succeeded", "what had failed": "Failed"} {
		t.Run(name, func(t *testing.T) {
			p := newScripted(t, setup{})
			show := func(id, state string) string {
				return `{"id":"` + id + `","location":"westus","properties":{"provisioningState":"` + state + `"}}`
			}
			asked, unasked := groupPath("g")+"/providers/Contoso.Script/items/asked", groupPath("g")+"/providers/Contoso.Script/items/unasked"
			for _, item := range []string{asked, unasked} {
				p.say("PUT "+item+api, 201, show(item, before))
				p.ok(201, "PUT", item+api, westus)
				p.say("DELETE "+item+api, 202, "", "Location", p.at+scriptOperations+"o")
				p.say("GET "+item+api, 200, show(item, "Failed"))
				p.ok(202, "DELETE", item+api, "")
			}
			p.say("GET "+scriptOperations+"o", 409, `{"error":{"code":"InUse","message":"It is in use."}}`)
			p.ok(202, "DELETE", asked+api, "")
			p.do("GET", scriptOperations+"o", "")
			row, there := p.row(asked)
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

// So it is where nothing but refusals tells of it, and that may be once more what it
// was before: when the operation counts as lost.
func TestGroupWhoseDeletesFailLate(t *testing.T) {
	s := newSite(t, setup{forgetful: true})
	s.work()
	g := s.group("g")
	m := s.machine("g", "m", "westus")
	s.rule("westus", "DELETE", "machines/m", "async-fails=location", -1)
	got := s.endAsTimePasses(200*time.Millisecond, s.ok(202, "DELETE", g+own, ""))
	fault := decode[deletionFault](t, got)
	if got.code != "ResourceGroupDeletionBlocked" || len(fault.Error.Details) != 1 || fault.Error.Details[0].Target != m ||
		!strings.Contains(fault.Error.Details[0].Message, "OperationFailed") {
		t.Errorf("%d %s", got.status, got.text)
	}
}
