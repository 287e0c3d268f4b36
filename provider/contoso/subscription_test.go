package contoso

import (
	"strings"
	"testing"
)

const notice = "?api-version=2.0"

func TestSubscriptionNotices(t *testing.T) {
	s := newSite(t, "westus")
	s.do(201, "PUT", strings.Replace(vm, sub, otherSub, 1)+version, westVM)
	s.do(200, "PUT", sub+notice, `{"state":"Registered","registrationDate":"x","properties":{"tenantId":"t"}}`).want("t", "properties", "tenantId")
	s.do(200, "PUT", sub+notice+"&more=1", `{"state":"Registered"}`)
	s.refused(400, "InvalidApiVersionParameter", "PUT", sub+version, `{"state":"Registered"}`)
	s.refused(400, "InvalidRequestContent", "PUT", sub+notice, `{"state":"Lost"}`)
	s.refused(404, "InvalidResourceNamespace", "PUT", sub+notice+"&namespace=Contoso.Other", `{"state":"Registered"}`)
	const names = sub + "/providers/Contoso.Compute/checkNameAvailability" + version
	for state, permitted := range map[string]map[string]bool{
		"Registered":   {"GET": true, "PUT": true, "PATCH": true, "POST": true, "DELETE": true},
		"Unregistered": {"GET": true},
		"Warned":       {"GET": true, "DELETE": true},
		"Suspended":    {"GET": true, "DELETE": true},
	} {
		s.do(200, "PUT", sub+notice, `{"state":"Registered"}`)
		s.do(201, "PUT", vm+version, westVM)
		s.do(200, "PUT", sub+notice, `{"state":"`+state+`"}`)
		s.do(200, "PUT", sub+notice, `{"state":"`+state+`"}`)
		for _, c := range []struct {
			method, target, body string
		}{
			{"GET", vm + version, ""}, {"PUT", vm + version, westVM}, {"PATCH", vm + version, `{}`}, {"POST", vm + "/start" + version, ""},
			{"POST", names, `{"name":"n","type":"Contoso.Compute/virtualMachines"}`}, {"DELETE", vm + version, ""},
		} {
			if permitted[c.method] {
				s.do(200, c.method, c.target, c.body)
			} else {
				s.refused(409, "InvalidSubscriptionState", c.method, c.target, c.body)
			}
		}
		s.do(200, "PUT", sub+notice, `{"state":"Registered"}`)
		_, err := s.send("DELETE", vm+version, "")
		must(t, err)
	}
	s.do(201, "PUT", vm+version, westVM)
	s.do(200, "PUT", sub+notice, `{"state":"Deleted"}`)
	s.get(compute + "/virtualMachines" + version).wantIDs()
	s.refused(409, "InvalidSubscriptionState", "PUT", vm+version, westVM)
	s.refused(409, "InvalidSubscriptionState", "DELETE", vm+version, "")
	s.get(strings.Replace(vm, sub, otherSub, 1) + version)
}

func TestNoticesForOneNamespace(t *testing.T) {
	s := newSite(t, "westus")
	const workspace = sub + "/resourceGroups/rg/providers/Contoso.Insight/workspaces/w"
	const setting = vm + "/providers/Contoso.Insight/diagnosticSettings/s"
	one := func(namespace, state string) {
		t.Helper()
		s.do(200, "PUT", sub+notice+"&namespace="+namespace, `{"state":"`+state+`"}`)
	}
	for _, id := range []string{vm, workspace, setting} {
		s.do(201, "PUT", id+version, westVM)
	}
	one("contoso.compute", "Unregistered")
	s.refused(409, "InvalidSubscriptionState", "PUT", vm+version, westVM)
	s.do(200, "PUT", workspace+version, westVM)
	s.do(200, "PUT", setting+version, westVM) // the extension's namespace counts
	one("Contoso.Insight", "Warned")
	s.refused(409, "InvalidSubscriptionState", "PUT", vm+version, westVM)
	s.refused(409, "InvalidSubscriptionState", "PUT", workspace+version, westVM)
	one("Contoso.Insight", "Deleted")
	s.get("/contoso/resources").want([]string{vm}, "value")
	s.do(200, "PUT", sub+notice, `{"state":"Registered"}`) // counts for all again
	s.do(200, "PUT", vm+version, westVM)
	s.do(201, "PUT", workspace+version, westVM)
}

// The contract's notice names its namespace in the body.
func TestNoticesThatNameTheirNamespace(t *testing.T) {
	s := newSite(t, "westus")
	const workspace = sub + "/resourceGroups/rg/providers/Contoso.Insight/workspaces/w"
	tell := func(namespace, state string) {
		t.Helper()
		s.do(200, "PUT", sub+notice, `{"state":"`+state+`","properties":{"additionalProperties":{"resourceProviderProperties":{"resourceProviderNamespace":"`+namespace+`"}}}}`)
	}
	s.do(201, "PUT", vm+version, westVM)
	tell("Contoso.Compute", "Registered")
	tell("Contoso.Insight", "Unregistered")
	tell("contoso.COMPUTE", "Warned")
	s.refused(409, "InvalidSubscriptionState", "PUT", vm+version, westVM)
	s.refused(409, "InvalidSubscriptionState", "PUT", workspace+version, westVM)
	tell("Contoso.Insight", "Registered")
	s.do(201, "PUT", workspace+version, westVM)
	known := s.get("/contoso/subscriptions")
	key := strings.TrimPrefix(sub, "/subscriptions/")
	known.want("Warned", "value", key, "namespaces", "contoso.compute")
	known.want("Registered", "value", key, "namespaces", "contoso.insight")
	known.want("Registered", "value", key, "notices", "contoso.insight", "state")
	if got := strings.Count(known.body, `"time"`); got != 4 {
		t.Errorf("%d entries: %s", got, known.body)
	}
	if got := s.get("/contoso/requests").body; strings.Contains(got, `"PUT","path":"`+sub+`"`) {
		t.Errorf("notices are among the requests: %s", got)
	}
}
