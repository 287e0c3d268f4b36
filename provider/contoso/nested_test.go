package contoso

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestDeletionPolicyRefuse(t *testing.T) {
	s := newSite(t, "westus")
	const nic = compute + "/networkInterfaces/n"
	const ip, setting = nic + "/ipConfigurations/", nic + "/providers/Contoso.Insight/diagnosticSettings/s"
	s.do(201, "PUT", nic+version, westVM)
	s.do(201, "PUT", nic+"2"+version, westVM)
	s.do(201, "PUT", nic+"2/ipConfigurations/x"+version, `{}`)
	s.do(201, "PUT", setting+version, `{}`)
	s.do(201, "PUT", ip+"a"+version, `{"tags":{"a":"b"}}`).want("West US", "location")
	s.do(201, "PUT", ip+"b"+version, `{}`)
	for _, mode := range []string{"Accept: */*", "x-contoso-async: location"} {
		a := s.do(409, "DELETE", nic+version, "", mode)
		a.want("NestedResourcesExist", "error", "code")
		message, _ := a.at("error", "message").(string)
		if !strings.Contains(message, "'"+ip+"a', '"+ip+"b'.") || strings.Contains(message, setting) || strings.Contains(message, "/x'") {
			t.Errorf("message %s", message)
		}
	}
	s.get(nic+version).want("Succeeded", "properties", "provisioningState")
	s.refused(412, "PreconditionFailed", "DELETE", nic+version, "", `If-Match: "stale"`)
	for i := range 12 {
		s.do(201, "PUT", fmt.Sprintf("%sc%d%s", ip, i, version), `{}`)
	}
	if m, _ := s.do(409, "DELETE", nic+version, "").at("error", "message").(string); strings.Count(m, "/ipConfigurations/") != 10 || !strings.HasSuffix(m, "' and others.") {
		t.Errorf("message %s", m)
	}
	for _, id := range s.get(nic + "/ipConfigurations" + version).ids() {
		s.do(200, "DELETE", id+version, "")
	}
	s.do(202, "DELETE", nic+version, "", "x-contoso-async: location")
	s.advance(time.Second)
	s.refused(404, "ParentResourceNotFound", "GET", ip+"a"+version, "")
	s.get("/contoso/resources").want([]string{nic + "2", nic + "2/ipConfigurations/x"}, "value")
	// A subscription that is deleted takes all with it, whatever the policy.
	s.do(200, "PUT", sub+"?api-version=2.0", `{"state":"Deleted"}`)
	s.get("/contoso/resources").want([]any{}, "value")
}
