package gateway_test

import (
	"testing"
)

// What a deletion learns is there for the next, and for operators to see.
func TestDeletionsLearn(t *testing.T) {
	s := newSite(t, setup{})
	s.work()
	for range 2 {
		g := s.group("g")
		nic := g + "/providers/Contoso.Compute/networkInterfaces/a"
		s.ok(201, "PUT", nic+api, westus)
		m := s.machine("g", "m", "westus")
		s.rule("westus", "DELETE", "networkInterfaces/a", "refuse-until="+m, -1)
		s.rule("westus", "DELETE", "virtualMachines/m", "delay=300ms", 1) // so that the other is refused meanwhile
		s.at("westus").requests()
		s.removed(g)
		s.at("westus").do("DELETE", "/contoso/faults", "", 204)
	}
	tries := 0
	for _, r := range s.at("westus").requests() {
		if r.Method == "DELETE" {
			tries++
		}
	}
	if tries != 2 {
		t.Errorf("%d calls for two resources in a known order", tries)
	}
	orders := decode[struct {
		Value []struct{ Before, After string }
	}](t, s.request(200, "", "GET", "/admin/deleteOrder?subscription="+subscription, "")).Value
	if len(orders) != 1 || orders[0].Before != "contoso.compute/virtualmachines" || orders[0].After != "contoso.compute/networkinterfaces" {
		t.Errorf("%+v", orders)
	}
	s.request(400, "InvalidSubscriptionId", "GET", "/admin/deleteOrder", "")
}
