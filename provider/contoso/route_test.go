package contoso

import (
	"strings"
	"testing"
)

func TestPathsAndVersions(t *testing.T) {
	s := newSite(t, "westus")
	long := strings.Repeat("n", 261)
	for _, c := range []struct {
		status               int
		code, method, target string
	}{
		{400, "MissingApiVersionParameter", "GET", vm},
		{400, "InvalidApiVersionParameter", "GET", vm + "?api-version=2024-01-02"},
		{400, "InvalidApiVersionParameter", "GET", vm + "?api-version="},
		{400, "InvalidApiVersionParameter", "GET", vm + version + "&API-version=2024-01-01"},
		{400, "InvalidQuery", "GET", vm + "?api-version=1;a=1"},
		{400, "InvalidSubscriptionId", "GET", "/subscriptions/x/resourceGroups/rg/providers/Contoso.Compute/virtualMachines/v" + version},
		{400, "InvalidSubscriptionId", "GET", "/subscriptions/%7B00000000-0000-0000-0000-00000000001%7D/providers/Contoso.Compute/virtualMachines" + version},
		{400, "InvalidResourceGroup", "GET", sub + "/resourceGroups/rg./providers/Contoso.Compute/virtualMachines" + version},
		{400, "InvalidResourceGroup", "GET", sub + "/resourceGroups/a%20b/providers/Contoso.Compute/virtualMachines" + version},
		{400, "InvalidResourceName", "GET", compute + "/virtualMachines/a%2Fb" + version},
		{400, "InvalidResourceName", "GET", compute + "/virtualMachines/%2e%2e" + version},
		{400, "InvalidResourceName", "GET", compute + "/virtualMachines/a%3Ab" + version},
		{400, "InvalidResourceName", "GET", compute + "/virtualMachines/" + long + version},
		{400, "InvalidResourceName", "GET", compute + "//virtualMachines" + version},
		{404, "InvalidResourceNamespace", "GET", sub + "/providers/Contoso.Other/virtualMachines" + version},
		{404, "InvalidResourceType", "GET", compute + "/nothings/n" + version},
		{404, "InvalidResourceType", "GET", compute + "/nothings" + version},
		{404, "InvalidResourceType", "GET", sub + "/providers/Contoso.Compute/virtualMachines/v" + version},
		{404, "InvalidResourceType", "GET", vm + "/providers/Contoso.Compute/networkInterfaces/n" + version},
		{404, "ResourceTypeNotServed", "GET", sub + "/resourceGroups/rg/providers/Contoso.Insight/profiles/p" + version},
		{404, "ResourceTypeNotServed", "GET", vm + "/providers/Contoso.Insight/annotations/a" + version},
		{404, "NotFound", "GET", "/" + version},
		{404, "NotFound", "GET", "/subscriptions" + version},
		{404, "NotFound", "GET", sub + "/resourceGroups/rg" + version},
		{404, "NotFound", "GET", sub + "/providers" + version},
		{404, "NotFound", "GET", sub + "/providers/Contoso.Compute" + version},
		{404, "NotFound", "GET", sub + "/providers/Contoso.Compute/providers/Contoso.Insight/diagnosticSettings" + version},
		{404, "NotFound", "GET", "/providers/Contoso.Compute/virtualMachines" + version},
		{404, "NotFound", "POST", compute + "/start" + version},
		{405, "MethodNotAllowed", "POST", vm + version},
		{405, "MethodNotAllowed", "PUT", compute + "/virtualMachines" + version},
		{405, "MethodNotAllowed", "DELETE", sub + "?api-version=2.0"},
		{405, "MethodNotAllowed", "GET", sub + "/providers/Contoso.Compute/checkNameAvailability" + version},
		{405, "MethodNotAllowed", "POST", sub + "/providers/Contoso.Compute/locations/westus/usages" + version},
		{405, "MethodNotAllowed", "POST", "/providers/Contoso.Compute/operations" + version},
		{404, "NotFound", "GET", sub + "/providers/Contoso.Compute/locations/westus/others" + version},
		{404, "NotFound", "GET", sub + "/providers/Contoso.Compute/locations" + version},
	} {
		s.refused(c.status, c.code, c.method, c.target, "")
	}
	s.get(compute + "/virtualMachines/?Api-Version=2024-06-01-PREVIEW").wantIDs()
}

func TestEveryTypeIsServedWhereItBelongs(t *testing.T) {
	west, global := newSite(t, "West US"), newSite(t, "global")
	insight := "/providers/Contoso.Insight"
	for _, c := range []struct {
		at           *site
		target, body string
	}{
		{west, compute + "/networkInterfaces/n", westVM},
		{west, sub + "/resourceGroups/rg" + insight + "/workspaces/w", westVM},
		{west, sub + insight + "/diagnosticSettings/d", `{}`},
		{west, sub + "/resourceGroups/rg" + insight + "/diagnosticSettings/d", `{}`},
		{west, sub + "/resourceGroups/rg/providers/Other.Namespace/t/n" + insight + "/diagnosticSettings/d", `{}`},
		{global, sub + "/resourceGroups/rg" + insight + "/profiles/p", `{"location":"global"}`},
		{global, vm + insight + "/annotations/a", `{}`},
	} {
		c.at.do(201, "PUT", c.target+version, c.body).want(c.target, "id")
		c.at.get(c.target + version)
		c.at.get(c.target[:strings.LastIndex(c.target, "/")] + version).wantIDs(c.target)
	}
	global.refused(404, "ResourceTypeNotServed", "PUT", vm+version, westVM)
}

func TestNamesUsagesAndOperations(t *testing.T) {
	s := newSite(t, "westus")
	s.do(201, "PUT", vm+version, westVM)
	check := func(path, name, kind string) reply {
		return s.do(200, "POST", sub+"/providers/Contoso.Compute/"+path+version, `{"name":"`+name+`","type":"`+kind+`"}`)
	}
	const machines = "contoso.compute/virtualMachines"
	check("checkNameAvailability", "VM1", machines).want("AlreadyExists", "reason")
	check("locations/West%20US/checkNameAvailability", "vm2", machines).want(true, "nameAvailable")
	check("checkNameAvailability", "a/b", machines).want("Invalid", "reason")
	check("checkNameAvailability", "vm1", "Contoso.Compute/networkInterfaces").want(true, "nameAvailable")
	s.do(202, "PUT", vm+"3"+version, westVM, "x-contoso-async: accepted")
	taken := check("locations/westus/checkNameAvailability", "VM13", machines)
	taken.want(false, "nameAvailable")
	taken.want("AlreadyExists", "reason")
	taken.want("The name 'VM13' is already in use. Choose another.", "message")
	for _, body := range []string{``, `{}`, `{"type":"` + machines + `"}`, `{"name":7,"type":"` + machines + `"}`} {
		s.refused(400, "InvalidRequestContent", "POST", sub+"/providers/Contoso.Compute/checkNameAvailability"+version, body)
	}
	s.refused(400, "InvalidResourceType", "POST", sub+"/providers/Contoso.Compute/checkNameAvailability"+version, `{"name":"x","type":"Contoso.Insight/workspaces"}`)
	s.refused(404, "LocationNotServed", "POST", sub+"/providers/Contoso.Compute/locations/eastus/checkNameAvailability"+version, `{}`)

	a := s.get(sub + "/providers/Contoso.Compute/locations/westus/usages" + version)
	first := a.at("value").([]any)[0].(map[string]any)
	if first["name"].(map[string]any)["value"] != "virtualMachines" || first["currentValue"].(interface{ String() string }).String() != "1" {
		t.Errorf("usages: %s", a.body)
	}

	a = s.get("/providers/contoso.compute/operations" + version)
	for _, name := range []string{"virtualMachines/restart/action", "virtualMachines/disks/write", "networkInterfaces/delete"} {
		if !strings.Contains(a.body, `"Contoso.Compute/`+name+`","isDataAction":false,"display":{"provider":"Contoso.Compute"`) {
			t.Errorf("no operation %s: %s", name, a.body)
		}
	}
	if strings.Contains(a.body, "testResults/write") || !strings.Contains(a.body, "testResults/read") {
		t.Error("operations that no client has")
	}
	if strings.Contains(a.body, "Contoso.Insight") {
		t.Error("another namespace's operations")
	}
}
