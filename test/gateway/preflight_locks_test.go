package gateway_test

import (
	"fmt"
	"strings"
	"testing"
)

// A judgement without the right to write tells of a lock if its caller may read that, or may
// write, and is told of it by the PUT. To others, all is as if there were none.
func TestLocksAreToldToTheirReaders(t *testing.T) {
	s := newSite(t, setup{tokens: true, roles: "owners: [{principalId: " + callers[secret].ObjectID + "}]"})
	ann, bob := []string{"Authorization", bearer(secret)}, []string{"Authorization", bearer(second)}
	for _, group := range []string{"g", "free"} {
		s.ok(201, "PUT", groupPath(group)+own, westus, ann...)
		s.ok(201, "PUT", machinePath(group, "old")+api, westus, ann...)
	}
	roleOf := func(number string, actions string) {
		t.Helper()
		definition := "/providers/Microsoft.Authorization/roleDefinitions/00000000-0000-0000-0000-0000000000" + number
		s.ok(201, "PUT", inSubscription+definition+"?api-version=2022-04-01", `{"properties":{"roleName":"`+number+`","assignableScopes":["`+inSubscription+`"],"permissions":[{"actions":[`+actions+`]}]}}`, ann...)
		for i, group := range []string{"g", "free"} {
			s.ok(201, "PUT", groupPath(group)+fmt.Sprintf("/providers/Microsoft.Authorization/roleAssignments/00000000-0000-0000-0000-00000000%d0", i)+number+"?api-version=2022-04-01",
				`{"properties":{"roleDefinitionId":"`+definition+`","principalId":"`+callers[second].ObjectID+`"}}`, ann...)
		}
	}
	lock := func(scope string) (unlock func()) {
		t.Helper()
		s.ok(201, "PUT", scope+lockPlace+"/stay"+own, `{"properties":{"level":"ReadOnly"}}`, ann...)
		return func() { s.ok(200, "DELETE", scope+lockPlace+"/stay"+own, "", ann...) }
	}
	roleOf("c1", `"Contoso.Compute/*/read","Microsoft.Resources/*/read","Microsoft.Resources/deployments/*","Microsoft.Authorization/roleAssignments/read"`)
	unlock := lock(groupPath("g"))
	judged := func(group, one string) string {
		t.Helper()
		return strings.NewReplacer(groupPath(group), "GROUP", "'"+group+"'", "GROUP").Replace(s.do("POST", validateResources, plan(groupPath(group), `,"performPreflightWithoutRbacWriteCheck":true`, one), bob...).text)
	}
	for _, one := range []string{
		`{"apiVersion":"2024-01-01","name":"m","location":"westus"}`, `{"apiVersion":"2024-01-01","name":"old","location":"eastus"}`, `{"apiVersion":"2024-01-01","name":"m","location":"mars"}`,
		`{"apiVersion":"2022-04-01","name":"00000000-0000-0000-0000-0000000000ee","type":"Microsoft.Authorization/roleAssignments","properties":{"principalId":"` + callers[third].ObjectID + `","roleDefinitionId":"/providers/Microsoft.Authorization/roleDefinitions/00000000-0000-0000-0000-0000000000ed"}}`,
	} {
		if locked, free := judged("g", one), judged("free", one); locked != free {
			t.Errorf("%s\n with a lock: %s\n without:     %s", one, locked, free)
		}
	}
	rehearsed := func(status int, code string) string {
		t.Helper()
		return s.want(status, code, "POST", deploymentPath(groupPath("g"), "validate"), deploymentOf("Incremental", `, "validationLevel": "ProviderNoRbac"`, machineIn("m", `,"location":"westus"`)), bob...).text
	}
	rehearsed(200, "")
	unlock()
	roleOf("c2", `"Microsoft.Authorization/locks/read"`)
	unlock = lock(groupPath("g"))
	s.within("the locks to be told", func() bool {
		return strings.Contains(judged("g", `{"apiVersion":"2024-01-01","name":"m","location":"westus"}`), "ScopeLocked")
	})
	if got := rehearsed(400, "InvalidTemplateDeployment"); !strings.Contains(got, "ScopeLocked") {
		t.Error(got)
	}
	unlock()
	unlock = lock(inSubscription)
	rehearsed(200, "") // it is not theirs to read
	unlock()
	roleOf("c3", `"Contoso.Compute/virtualMachines/write"`)
	lock(inSubscription)
	s.within("the lock to be told to who may write", func() bool {
		return strings.Contains(judged("g", `{"apiVersion":"2024-01-01","name":"m","location":"westus"}`), "ScopeLocked")
	})
}
