package routing

import (
	"strings"
	"testing"

	"portico/arm"
)

func TestClassify(t *testing.T) {
	m := sample(t)
	for _, c := range []struct {
		method, path string
		class        Class
		typeName     string
		location     string
	}{
		// The front door's own.
		{"GET", "/", Own, "", ""},
		{"GET", "/subscriptions", Own, "", ""},
		{"GET", sub, Own, "", ""},
		{"GET", sub + "/resources", Own, "", ""},
		{"PUT", rg, Own, "", ""},
		{"GET", rg + "/resources", Own, "", ""},
		{"GET", "/metadata/endpoints", Own, "", ""},
		{"GET", sub + "/providers", Own, "", ""},
		{"GET", "/providers", Own, "", ""},
		{"GET", sub + compute, Own, "", ""},
		{"GET", compute, Own, "", ""},
		{"GET", sub + "/providers/Nobody.Knows", Own, "", ""},
		{"POST", sub + compute + "/register", Own, "", ""},
		{"POST", sub + "/PROVIDERS/contoso.COMPUTE/UnRegister", Own, "", ""},
		{"GET", sub + compute + "/RESOURCEtypes", Own, "", ""},
		{"GET", rg + "/providers/microsoft.RESOURCES/tags/default", Own, "", ""},
		{"PUT", vms + "/a/providers/Microsoft.Authorization/locks/l", Own, "", ""},
		{"GET", "/providers/Microsoft.Features", Own, "", ""},

		// Nothing is there.
		{"GET", rg + "/providers", NoRoute, "", ""},
		{"GET", rg + compute, NoRoute, "", ""},
		{"GET", vms + "/a/providers", NoRoute, "", ""},
		{"GET", vms + "/a" + guard, NoRoute, "", ""},

		// Even tails are instances, whatever the method.
		{"GET", vms + "/a", Instance, "virtualMachines", ""},
		{"GET", vms + "/a/", Instance, "virtualMachines", ""},
		{"POST", vms + "/a", Instance, "virtualMachines", ""},
		{"PUT", rg + "/providers/CONTOSO.compute/VIRTUALMACHINES/a/DISKS/d", Instance, "virtualMachines/disks", ""},
		{"GET", vms + "/providers", Instance, "virtualMachines", ""},
		{"GET", vms + "/providers/disks/providers", Instance, "virtualMachines/disks", ""},
		{"GET", vms + "/a/nothings/n", Instance, "", ""},
		{"GET", rg + "/providers/Nobody.Knows/things/n", Instance, "", ""},
		{"GET", compute + "/quotas/q", Instance, "quotas", ""},
		{"GET", vms + "/a" + guard + "/guards/g", Instance, "guards", ""},
		{"GET", rg + guard + "/guards/g", Instance, "guards", ""},
		{"GET", vms + "/a" + guard + "/guards/g" + guard + "/marks/m", Instance, "marks", ""},
		{"GET", rg + "/providers/Microsoft.Authorization/locks/l" + guard + "/marks/m", Instance, "marks", ""},

		// Odd tails are declared types, or actions if posted.
		{"GET", vms, Collection, "virtualMachines", ""},
		{"GET", sub + compute + "/virtualmachines", Collection, "virtualMachines", ""},
		{"GET", vms + "/a/disks", Collection, "virtualMachines/disks", ""},
		{"GET", vms + "/a" + guard + "/guards", Collection, "guards", ""},
		{"POST", sub + compute + "/checkNames", Collection, "checkNames", ""},
		{"POST", vms + "/a/disks", Collection, "virtualMachines/disks", ""},
		{"GET", vms + "/a/start", Collection, "", ""},
		{"GET", sub + compute + "/nothings", Collection, "", ""},
		{"GET", sub + compute + "/register", Collection, "", ""},
		{"GET", sub + compute + "/operations", Collection, "", ""},
		{"POST", vms + "/a/start", Below, "virtualMachines", ""},
		{"POST", vms + "/a/disks/d/LIST", Below, "virtualMachines/disks", ""},
		{"POST", vms + "/a/register", Below, "virtualMachines", ""},
		{"POST", vms + "/a/providers/disks/x", AtProvider, "", ""}, // a namespace called disks
		{"GET", vms + "/a/SKUs", Below, "virtualMachines", ""},
		{"POST", vms + "/a" + guard + "/guards/g/raise", Below, "guards", ""},
		{"POST", vms + "/a/nothings/n/start", Below, "", ""},
		{"POST", sub + compute + "/checkQuota", AtProvider, "", ""},
		{"POST", compute + "/checkQuota", AtProvider, "", ""},
		{"POST", compute + "/register", AtProvider, "", ""},
		{"POST", rg + compute + "/register", AtProvider, "", ""},
		{"GET", compute + "/operations", AtProvider, "", ""},
		{"GET", "/providers/contoso.compute/OPERATIONS", AtProvider, "", ""},

		// Locations.
		{"GET", sub + compute + "/locations/westus", Located, "", "westus"},
		{"GET", sub + compute + "/Locations/West%20US/usages", Located, "", "westus"},
		{"POST", sub + compute + "/locations/westus/checkName", Located, "", "westus"},
		{"GET", compute + "/locations/eastus/sizes/s", Located, "", "eastus"},
		{"GET", sub + compute + "/locations", Collection, "", ""},
		{"GET", rg + compute + "/locations/westus", Instance, "", ""},
		{"GET", vms + "/a" + guard + "/locations/westus", Instance, "", ""},

		// Operations.
		{"GET", sub + compute + "/locations/west%20us/operationResults/o", Poll, "", "westus"},
		{"GET", sub + compute + "/locations/eastus/OPERATIONSTATUSES/o", Poll, "", "eastus"},
		{"GET", sub + compute + "/operationsStatus/o", Poll, "", ""},
		{"GET", sub + compute + "/operationsStatuses/o", Poll, "", ""},
		{"GET", compute + "/operationStatus/o", Poll, "", ""},
		{"GET", vms + "/a/operationresults/o", Poll, "", ""},
		{"GET", vms + "/a" + guard + "/guards/g/operationStatuses/o", Poll, "", ""},
		{"DELETE", vms + "/a/operationresults/o", Poll, "", ""},
		{"GET", sub + compute + "/locations/westus/operations/o", Poll, "", "westus"},
		{"GET", compute + "/Operations/o", Poll, "", ""},
		{"GET", vms + "/a/operations/o", Poll, "", ""},
		{"GET", vms + "/operations", Instance, "virtualMachines", ""},
		{"DELETE", sub + compute + "/locations/westus/operations/o", Located, "", "westus"},
		{"POST", sub + compute + "/locations/westus/operations/o/cancel", Located, "", "westus"},
		{"PUT", vms + "/a/operations/o", Instance, "", ""},
		{"GET", vms + "/a/operationresults", Collection, "", ""},
		{"GET", vms + "/operationresults", Instance, "virtualMachines", ""},
	} {
		r, fault := Classify(m, c.method, c.path, "")
		if fault != nil {
			t.Errorf("%s %s: %v", c.method, c.path, fault)
			continue
		}
		typeName := ""
		if r.Type != nil {
			typeName = r.Type.Name
		}
		if r.Class != c.class || typeName != c.typeName || r.Location != c.location || r.Method != c.method {
			t.Errorf("%s %s: got %s %q %q, want %s %q %q", c.method, c.path, r.Class, typeName, r.Location, c.class, c.typeName, c.location)
		}
	}
}

func TestClassifyRefusals(t *testing.T) {
	m := sample(t)
	for _, c := range []struct {
		path, query string
		code        arm.Code
		target      string
	}{
		{"", "", arm.InvalidRequestURI, ""},
		{rg + "/../x", "", arm.InvalidRequestURI, ""},
		{"/subscriptions//resourceGroups/g", "", arm.InvalidSubscriptionID, "subscriptionId"},
		{sub + "/resourceGroups//providers/N/t", "", arm.InvalidResourceGroup, "resourceGroupName"},
		{vms + "//disks", "", arm.InvalidResourceName, "resourceName"},
		{vms + "/a", "api-version=1;admin=1", arm.InvalidAPIVersionParameter, "api-version"},
		{vms + "/a", "x=%zz", arm.InvalidQueryParameter, "x"},
	} {
		r, fault := Classify(m, "GET", c.path, c.query)
		if fault == nil || fault.Code != c.code || fault.Status != 400 || fault.Target != c.target || r == nil {
			t.Errorf("%q?%q: got %+v, want %s about %q", c.path, c.query, fault, c.code, c.target)
		}
	}
	// A fault in the query alone leaves the request classified, for the log.
	if r, _ := Classify(m, "GET", vms+"/a", "x=%zz"); r.Class != Instance || r.Type == nil {
		t.Errorf("class %s", r.Class)
	}
}

func TestClassNames(t *testing.T) {
	seen := map[string]bool{}
	for c := Own; c <= Poll; c++ {
		if name := c.String(); name == "unknown" || seen[name] {
			t.Errorf("class %d is called %q", c, name)
		}
		seen[c.String()] = true
	}
	if Class(200).String() != "unknown" {
		t.Error("a class that is none has a name")
	}
}

func TestIDs(t *testing.T) {
	m := sample(t)
	for _, c := range []struct{ path, id, name string }{
		{
			"/SUBSCRIPTIONS/00000000-0000-0000-0000-00000000000a/RESOURCEGROUPS/Rg/PROVIDERS/contoso.COMPUTE/VIRTUALMACHINES/Vm1/DISKS/Dé",
			"/subscriptions/00000000-0000-0000-0000-00000000000a/resourceGroups/Rg/providers/Contoso.Compute/virtualMachines/Vm1/disks/Dé", "Vm1/Dé",
		},
		{vms + "/a%20B/", vms + "/a B", "a B"},
		{sub + "/Providers/contoso.compute/ZONES/Z", sub + compute + "/zones/Z", "Z"},
		{"/PROVIDERS/contoso.compute/QUOTAS/Q", compute + "/quotas/Q", "Q"},
		{vms + "/providers/disks/Providers", vms + "/providers/disks/Providers", "providers/Providers"},
		// The host of an extension keeps the client's spelling.
		{rg + "/Providers/CONTOSO.compute/virtualmachines/A/PROVIDERS/contoso.guard/GUARDS/G", rg + "/Providers/CONTOSO.compute/virtualmachines/A" + guard + "/guards/G", "G"},
		{rg + "/providers/Nobody.knows/THINGS/N", rg + "/providers/Nobody.knows/THINGS/N", "N"},
	} {
		r, fault := Classify(m, "GET", c.path, "")
		if fault != nil {
			t.Errorf("%s: %v", c.path, fault)
			continue
		}
		if r.ID() != c.id || r.Name() != c.name || r.Key() != arm.Fold(c.id) {
			t.Errorf("%s:\n got %s %s %s\nwant %s %s", c.path, r.ID(), r.Name(), r.Key(), c.id, c.name)
		}
	}
	if GroupID("S", "g") != "/subscriptions/S/resourceGroups/g" {
		t.Error(GroupID("S", "g"))
	}
}

func TestReads(t *testing.T) {
	for _, method := range []string{"GET", "HEAD"} {
		if !(&Request{Method: method}).Reads() {
			t.Errorf("%s changes nothing", method)
		}
	}
	for _, method := range []string{"PUT", "PATCH", "POST", "DELETE"} {
		if (&Request{Method: method}).Reads() {
			t.Errorf("%s changes something", method)
		}
	}
}

const (
	typicalPath  = vms + "/vm-with-a-name/disks/data-disk-01"
	typicalQuery = "api-version=2024-01-01"
)

// Only the request itself is allocated.
func TestClassifyAllocatesOnce(t *testing.T) {
	m := sample(t)
	for _, path := range []string{typicalPath, strings.ToUpper(typicalPath), vms, vms + "/a" + guard + "/guards/g"} {
		if n := testing.AllocsPerRun(100, func() {
			if _, fault := Classify(m, "GET", path, typicalQuery); fault != nil {
				t.Fatal(fault)
			}
		}); n > 1 {
			t.Errorf("%s: %v allocations", path, n)
		}
	}
}

func BenchmarkClassify(b *testing.B) {
	m := sample(b)
	b.ReportAllocs()
	for b.Loop() {
		if _, fault := Classify(m, "GET", typicalPath, typicalQuery); fault != nil {
			b.Fatal(fault)
		}
	}
}
