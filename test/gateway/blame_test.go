package gateway_test

import (
	"fmt"
	"strings"
	"testing"

	described "portico/gateway/admin/api"
)

// newest returns the newest error that operators see.
func (s *site) newestError(query string) described.ErrorAnswer {
	s.t.Helper()
	page := report[described.Page[described.ErrorAnswer]](s, "/admin/errors?each=true"+query)
	if len(page.Value) == 0 {
		s.t.Fatal("there is no error")
	}
	return page.Value[0]
}

// Operators see who is to blame for an error, and what the client got.
func TestBlameForErrors(t *testing.T) {
	s := newSite(t, setup{})
	s.group("g")
	m, east := s.machine("g", "m", "westus"), s.machine("g", "e", "eastus")
	blames := func(who, message string) {
		t.Helper()
		if got := s.newestError(""); got.Blame != who || !strings.Contains(got.Message, message) || message == "" {
			t.Errorf("%s: %+v", who, got)
		}
	}
	s.want(404, "ResourceGroupNotFound", "GET", groupPath("nothing")+own, "")
	blames("caller", "Resource group 'nothing' could not be found.")
	s.want(409, "InvalidResourceLocation", "PUT", m+api, eastus)
	blames("caller", "already exists in location 'westus'")
	s.rule("westus", "GET", "virtualMachines/m", "status=500", 1)
	s.want(500, "ContosoFault", "GET", m+api, "")
	blames("provider", "answered with 500 as asked")
	if got := s.newestError(""); got.Code != "" || got.Cause != "service" {
		t.Errorf("%+v", got)
	}
	s.rule("eastus", "GET", "Compute/virtualMachines", "status=500", 4)
	s.want(503, "ServiceUnavailable", "GET", machines+api, "")
	blames("provider", "1 of 2 regions of 'Contoso.Compute'")
	s.at("eastus").server.Close()
	s.want(502, "BadGatewayConnection", "GET", east+api, "")
	blames("unreachable", "in the location 'eastus'")
	s.want(503, "ServiceUnavailable", "GET", machines+api, "")
	blames("unreachable", "1 of 2 regions")
	must(t, s.store.Close())
	s.want(503, "ServerTimeout", "GET", groupPath("other")+own, "")
	blames("Portico", "The request timed out.")

	for _, who := range []string{"provider", "UNREACHABLE"} {
		if got := s.newestError("&blame=" + who); !strings.EqualFold(got.Blame, who) {
			t.Errorf("%+v", got)
		}
	}
}

// Lists that fail for all callers because of one region are a problem, until that region
// answers one, and part of its outage.
func TestListsThatFailForAll(t *testing.T) {
	base := newSite(t, setup{})
	contact := strings.Replace(fmt.Sprintf(declarations, endpointsOf(base)), "namespace: Contoso.Compute", "namespace: Contoso.Compute\n    contact: '#compute'", 1)
	s := newSite(t, setup{beside: base, types: contact})
	s.group("g")
	s.machine("g", "a", "westus")
	s.machine("g", "b", "eastus")
	fails := func(n int, header ...string) {
		t.Helper()
		for range n {
			s.do("GET", machines+api, "", header...)
		}
	}
	s.rule("eastus", "GET", "Compute/virtualMachines", "status=500", 1000)
	fails(5, "x-ms-portico-on-region-failure", "partial")
	fails(2)
	s.wantProblems()
	fails(1)
	p := s.wantProblems(described.ListsFail)[described.ListsFail]
	if p.Subject != "eastus" || p.Severity != described.Critical || p.Advice != "ask #compute" || p.Summary != "Contoso.Compute in eastus answers lists with errors or too late." || p.Detail != "Lists of Contoso.Compute/virtualMachines that include it fail; with onRegionFailure: partial they would leave it out." {
		t.Errorf("%+v", p)
	}
	s.at("eastus").do("DELETE", "/contoso/faults", "", 204)
	fails(1)
	s.wantProblems()
}
