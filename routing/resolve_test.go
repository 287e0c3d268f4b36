package routing

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"portico/access"
	"portico/arm"
	"portico/inventory"
	"portico/inventory/index"
	"portico/inventory/polls"
)

// resolve classifies, checks and resolves a request, with an api-version.
func resolve(t *testing.T, known *mapIndex, method, path, content string) (*Decision, error) {
	t.Helper()
	m := sample(t)
	path, query, _ := strings.Cut(path, "?")
	r, fault := Classify(m, method, path, query+"&api-version=2024-01-01")
	if fault == nil {
		fault = r.Check(m, "")
	}
	if fault != nil {
		t.Fatalf("%s %s: %v", method, path, fault)
	}
	body := Body{}
	if content != "" {
		if body, fault = ReadObject([]byte(content)); fault != nil {
			t.Fatalf("%s: %v", content, fault)
		}
	}
	rt := Router{Map: m, Index: known}
	return rt.Resolve(context.Background(), r, access.Principal{TenantID: tenant}, body)
}

// describe puts a decision into words.
func describe(d *Decision, err error) string {
	var fault *arm.Error
	switch {
	case errors.As(err, &fault):
		return fmt.Sprintf("%d %s", fault.Status, fault.Code)
	case errors.Is(err, errDown):
		return errDown.Error()
	case err != nil:
		return err.Error()
	}
	switch d.Mode {
	case Merge:
		var all []string
		for _, e := range d.Endpoints {
			all = append(all, e.String())
		}
		return "merge " + strings.Join(all, " ")
	case EmptyList:
		return "empty"
	case Absent:
		return "absent"
	case Present:
		return "present"
	case Forward:
	}
	if d.Endpoint == nil || d.Endpoint.Region != d.Region {
		return fmt.Sprintf("%q is served by %+v", d.Region, d.Endpoint)
	}
	return d.Endpoint.String()
}

const (
	westCompute   = "https://westus.compute"
	eastCompute   = "https://eastus.compute"
	northCompute  = "https://northeurope.compute"
	globalCompute = "https://global.compute"
	westGuard     = "https://westus.guard"
	globalGuard   = "https://global.guard"
)

type route struct{ method, path, content, want string }

func checkRoutes(t *testing.T, known *mapIndex, routes []route) {
	t.Helper()
	for _, c := range routes {
		if got := describe(resolve(t, known, c.method, c.path, c.content)); got != c.want {
			t.Errorf("%s %s %s\n got %s\nwant %s", c.method, c.path, c.content, got, c.want)
		}
	}
}

func TestTrackedInstances(t *testing.T) {
	known := newMapIndex()
	known.add(vms+"/doubtful", "contoso.compute/virtualmachines", "eastus")
	known.change(vms+"/doubtful", func(r *inventory.Resource) { r.Verify = true })
	known.add(vms+"/pending", "contoso.compute/virtualmachines", "eastus")
	known.change(vms+"/pending", func(r *inventory.Resource) { r.Phase = index.Pending })
	checkRoutes(t, known, []route{
		// The region is that of the row, whatever the casing of the ID.
		{"GET", vms + "/west", "", westCompute},
		{"GET", strings.ToUpper(vms + "/east"), "", eastCompute},
		{"PATCH", vms + "/east", `{"location":"westus"}`, eastCompute},
		{"DELETE", vms + "/east", "", eastCompute},
		{"GET", rg + compute + "/zones/z", "", globalCompute},

		// HEAD is answered by a row that needs no verification, else by the provider.
		{"HEAD", vms + "/east", "", "present"},
		{"HEAD", vms + "/doubtful", "", eastCompute},
		{"HEAD", vms + "/pending", "", eastCompute},

		// Resources that do not exist.
		{"GET", vms + "/none", "", "404 ResourceNotFound"},
		{"HEAD", vms + "/none", "", "404 ResourceNotFound"},
		{"PATCH", vms + "/none", "{}", "404 ResourceNotFound"},
		{"DELETE", vms + "/none", "", "absent"},
		{"DELETE", vms + "/none/disks/d", "", "absent"},
		{"GET", vms + "/west/disks/none", "", "404 ResourceNotFound"},
		{"GET", vms + "/none/disks/d", "", "404 ParentResourceNotFound"},
		{"HEAD", vms + "/none/disks/d", "", "404 ParentResourceNotFound"},
		{"PATCH", vms + "/none/disks/d", "{}", "404 ParentResourceNotFound"},
		{"GET", sub + compute + "/virtualMachines/a", "", "404 HttpResourceNotFound"}, // in no group

		// A PUT of what is there.
		{"PUT", vms + "/west", `{"location":"West US"}`, westCompute},
		{"PUT", vms + "/west", `{}`, "400 LocationRequired"},
		{"PUT", vms + "/west", `{"location":"mars"}`, "400 LocationNotAvailableForResourceType"},
		{"PUT", vms + "/west", `{"location":"eastus"}`, eastCompute}, // not the row's: the recording of the intent refuses it
		{"PUT", vms + "/west/disks/d", `{}`, westCompute},
		{"PUT", vms + "/west/disks/d", `{"location":"WEST us"}`, westCompute},
		{"PUT", vms + "/west/disks/d", `{"location":"eastus"}`, "400 LocationNotAvailableForResourceType"},

		// A PUT of a new resource.
		{"PUT", vms + "/new", `{"location":"East US"}`, eastCompute},
		{"PUT", vms + "/new", ``, "400 LocationRequired"},
		{"PUT", vms + "/new", `{"location":null}`, "400 LocationRequired"},
		{"PUT", vms + "/new", `{"location":" \t"}`, "400 LocationRequired"},
		{"PUT", vms + "/new", `{"location":"northeurope"}`, "400 LocationNotAvailableForResourceType"},
		{"PUT", rg + compute + "/zones/new", `{"location":"Global"}`, globalCompute},
		{"PUT", rg + compute + "/zones/new", `{"location":"westus"}`, "400 LocationNotAvailableForResourceType"},
		{"PUT", rg + compute + "/zones/z/records/new", `{}`, globalCompute},
		{"PUT", rg + compute + "/zones/none/records/new", `{}`, "404 ParentResourceNotFound"},
		{"PUT", vms + "/east/disks/new", `{}`, eastCompute},
		{"PUT", vms + "/east/disks/new", `{"location":"eastus"}`, eastCompute},
		{"PUT", vms + "/east/disks/new", `{"location":"westus"}`, "400 LocationNotAvailableForResourceType"},
		{"PUT", vms + "/none/disks/new", `{"location":"westus"}`, "404 ParentResourceNotFound"},

		// Below a proxy-only resource, the nearest tracked one decides.
		{"GET", vms + "/west/agents/a/snapshots/s", "", westCompute},
		{"PUT", vms + "/east/agents/a/snapshots/new", `{"location":"eastus"}`, eastCompute},
		{"PUT", vms + "/east/agents/a/snapshots/new", `{"location":"westus"}`, "400 LocationNotAvailableForResourceType"},
		{"PUT", vms + "/none/agents/a/snapshots/new", `{}`, "404 ParentResourceNotFound"},
		{"GET", vms + "/east/agents/a/snapshots/none", "", "404 ResourceNotFound"},
		{"GET", vms + "/none/agents/a/snapshots/none", "", "404 ParentResourceNotFound"},
		{"PUT", rg + compute + "/catalogs/c/items/new", `{"location":"North Europe"}`, northCompute},
		{"PUT", rg + compute + "/catalogs/c/items/new", `{}`, northCompute},
		{"PUT", rg + compute + "/catalogs/c/items/new", `{"location":"westus"}`, "400 LocationNotAvailableForResourceType"},
		{"GET", rg + compute + "/catalogs/c/items/none", "", "404 ResourceNotFound"},
	})
}

func TestDecisionsOfInstances(t *testing.T) {
	known := newMapIndex()
	known.cache(vms+"/east", "westus")
	decide := func(method, path, content string) *Decision {
		t.Helper()
		d, err := resolve(t, known, method, path, content)
		if err != nil {
			t.Fatalf("%s %s: %v", method, path, err)
		}
		return d
	}
	if d := decide("GET", vms+"/west", ""); d.Memory.Location || d.NeedsVerify || d.Row != nil || d.Generation != [16]byte{1} || d.Parent != "" {
		t.Errorf("read: %+v", d)
	}
	// A cached location may be wrong, and is marked; only reads use it.
	if d := decide("GET", vms+"/east", ""); !d.Memory.Location || d.Region != "westus" || d.Generation != [16]byte{99} {
		t.Errorf("cached: %+v", d)
	}
	for _, method := range []string{"PUT", "PATCH", "DELETE"} {
		if d := decide(method, vms+"/east", `{"location":"eastus"}`); d.Memory.Location || d.Region != "eastus" || d.Row == nil || d.Generation != d.Row.Generation {
			t.Errorf("%s: %+v", method, d)
		}
	}
	known.change(vms+"/west", func(r *inventory.Resource) { r.Phase = index.Deleting })
	if d := decide("GET", vms+"/west", ""); !d.NeedsVerify {
		t.Errorf("a resource that is being deleted: %+v", d)
	}
	// What a write would record in the row.
	if d := decide("PUT", vms+"/new", `{"location":"East US"}`); d.Location != "eastus" || d.Row != nil || d.Parent != "" || d.Group.Name != "rG" || d.Subscription.ID != subID {
		t.Errorf("new: %+v", d)
	}
	if d := decide("PUT", vms+"/East/disks/New", `{}`); d.Location != "eastus" || d.Parent != arm.Fold(vms+"/east") {
		t.Errorf("nested: %+v", d)
	}
	if d := decide("PUT", vms+"/east/agents/a/snapshots/new", `{}`); d.Location != "eastus" || d.Parent != arm.Fold(vms+"/east") {
		t.Errorf("below a proxy-only resource: %+v", d)
	}
	if d := decide("PUT", rg+compute+"/catalogs/c/items/new", `{}`); d.Location != "northeurope" || d.Parent != "" {
		t.Errorf("below a proxy-only resource at the top: %+v", d)
	}
	if d := decide("PUT", vms+"/west", `{"location":"eastus"}`); d.Location != "eastus" || d.Row.Location != "westus" {
		t.Errorf("another location: %+v", d)
	}
}

func TestUntrackedInstances(t *testing.T) {
	known := newMapIndex()
	known.cache(vms+"/east", "westus")
	checkRoutes(t, known, []route{
		{"GET", rg + compute + "/catalogs/c", "", northCompute},
		{"PUT", sub + compute + "/catalogs/c", `{"location":"westus"}`, northCompute},
		{"GET", sub + compute + "/quotas/q", "", globalCompute},
		{"GET", compute + "/quotas/q", "", globalCompute},
		{"PUT", compute + "/quotas/q/steps/s", "", globalCompute},
		{"GET", vms + "/west/agents/a", "", westCompute},
		{"GET", vms + "/east/agents/a", "", westCompute}, // from the cache
		{"PUT", vms + "/east/agents/a", "{}", eastCompute},
		{"GET", vms + "/none/agents/a", "", "404 ParentResourceNotFound"},
		{"PUT", vms + "/none/agents/a", "{}", "404 ParentResourceNotFound"},
		{"DELETE", vms + "/none/agents/a", "", "absent"},
	})
	if d, err := resolve(t, known, "GET", vms+"/east/agents/a", ""); err != nil || !d.Memory.Location {
		t.Errorf("got %+v, %v: the region came from memory", d, err)
	}
}

func TestExtensions(t *testing.T) {
	known := newMapIndex()
	const lock = rg + "/providers/Microsoft.Authorization/locks/l"
	checkRoutes(t, known, []route{
		{"PUT", vms + "/west" + guard + "/guards/g", "{}", westGuard},
		{"GET", vms + "/west" + guard + "/guards", "", westGuard},
		{"GET", vms + "/west/disks/d" + guard + "/guards/g", "", westGuard},
		{"GET", vms + "/west/agents/a" + guard + "/guards/g", "", westGuard},
		{"GET", vms + "/east" + guard + "/guards/g", "", globalGuard}, // no endpoint in eastus
		{"GET", vms + "/east" + guard + "/stamps/s", "", "https://eastus.stamps"},
		{"GET", vms + "/west" + guard + "/marks/m", "", globalGuard}, // a global type
		{"GET", rg + guard + "/guards/g", "", globalGuard},
		{"GET", sub + guard + "/guards/g", "", globalGuard},
		{"GET", guard + "/guards/g", "", globalGuard},
		{"GET", rg + compute + "/zones/z" + guard + "/guards/g", "", globalGuard},
		{"GET", compute + "/quotas/q" + guard + "/stamps/g", "", globalGuard},
		{"GET", lock + guard + "/guards/g", "", globalGuard}, // the front door's own resources have no region
		{"GET", rg + compute + "/catalogs/c" + guard + "/guards/g", "", globalGuard},

		// The host of an extension may be an extension.
		{"GET", vms + "/west" + guard + "/guards/g" + guard + "/stamps/s", "", "https://westus.stamps"},
		{"GET", vms + "/east" + guard + "/stamps/s" + guard + "/stamps/t", "", "https://eastus.stamps"},
		{"GET", vms + "/east" + guard + "/guards/g" + guard + "/stamps/s", "", globalGuard}, // that host lies in global
		{"GET", vms + "/west" + guard + "/marks/m" + guard + "/guards/g", "", globalGuard},

		// Actions go where the extension lies.
		{"POST", vms + "/west" + guard + "/guards/g/raise", "", westGuard},
		{"POST", vms + "/east" + guard + "/guards/g/raise", "", globalGuard},
		{"POST", rg + guard + "/guards/g/raise", "", globalGuard},

		{"GET", vms + "/none" + guard + "/guards/g", "", "404 ResourceNotFound"},
		{"DELETE", vms + "/none" + guard + "/guards/g", "", "absent"},
		{"DELETE", vms + "/none/agents/a" + guard + "/stamps/s", "", "absent"},
		{"DELETE", vms + "/none" + guard + "/stamps/s" + guard + "/guards/g", "", "absent"},
		{"DELETE", vms + "/none" + guard + "/marks/m", "", globalGuard}, // whatever its host
		{"PATCH", vms + "/none" + guard + "/guards/g", "{}", "404 ResourceNotFound"},
		{"GET", vms + "/none/disks/d" + guard + "/guards", "", "404 ResourceNotFound"},
		{"GET", rg + lonely + "/charms/c", "", "400 NoRegisteredProviderFound"}, // a scope without region, no global endpoint
	})
}

func TestBelowAndBeside(t *testing.T) {
	known := newMapIndex()
	known.cache(vms+"/east", "westus")
	checkRoutes(t, known, []route{
		{"POST", vms + "/east/start", "", eastCompute}, // actions use the store
		{"GET", vms + "/east/skus", "", westCompute},   // reads use the cache
		{"POST", vms + "/west/agents/a/restart", "", westCompute},
		{"POST", vms + "/none/start", "", "404 ResourceNotFound"},
		{"POST", vms + "/none/disks/d/start", "", "404 ResourceNotFound"},
		{"POST", vms + "/none/agents/a/restart", "", "404 ParentResourceNotFound"},
		{"POST", rg + compute + "/catalogs/c/refresh", "", northCompute},
		{"POST", compute + "/quotas/q/raise", "", globalCompute},

		{"GET", compute + "/operations", "", globalCompute},
		{"POST", sub + compute + "/checkQuota", "", globalCompute},
		{"POST", sub + compute + "/checkNames", "", globalCompute},
		{"GET", lonely + "/operations", "", "400 NoRegisteredProviderFound"},

		{"GET", sub + compute + "/locations/westus/usages", "", westCompute},
		{"POST", sub + compute + "/locations/North%20Europe/checkName", "", northCompute},
		{"GET", compute + "/locations/eastus", "", eastCompute},
		{"GET", sub + compute + "/locations/global/x", "", globalCompute},
		{"GET", sub + guard + "/locations/eastus/x", "", "https://eastus.stamps"}, // of a type, where the provider has none
		{"GET", sub + compute + "/locations/mars/usages", "", "400 NoRegisteredProviderFound"},
		{"GET", rg + compute, "", "404 HttpResourceNotFound"},
		{"GET", rg + "/resources", "", "404 HttpResourceNotFound"}, // own routes are not resolved here
	})
	_, err := resolve(t, known, "GET", sub+compute+"/locations/mars/orchestrators/o", "")
	if err == nil || !strings.Contains(err.Error(), "for location 'mars' and API version '2024-01-01' for type 'locations/orchestrators'. The supported api-versions are '2024-01-01, 2023-01-01-preview'. The supported locations are 'westus, eastus, northeurope, global'.") {
		t.Errorf("got %v", err)
	}
}

func TestCollections(t *testing.T) {
	known := newMapIndex()
	known.groups["one"] = inventory.Group{Subscription: subID, Name: "one", Key: "one"}
	known.add(sub+"/resourceGroups/one"+compute+"/virtualMachines/a", "contoso.compute/virtualmachines", "eastus")
	known.cache(vms+"/east", "westus")
	checkRoutes(t, known, []route{
		{"GET", vms, "", "merge " + eastCompute + " " + westCompute},
		{"GET", sub + compute + "/virtualMachines", "", "merge " + eastCompute + " " + westCompute},
		{"GET", sub + "/resourceGroups/ONE" + compute + "/virtualMachines", "", "merge " + eastCompute},
		{"GET", sub + "/resourceGroups/empty" + compute + "/virtualMachines", "", "empty"},
		{"GET", "/subscriptions/" + moonSub + compute + "/virtualMachines", "", "empty"},
		{"GET", compute + "/virtualMachines", "", globalCompute}, // a tenant's call
		{"GET", rg + compute + "/zones", "", globalCompute},
		{"GET", rg + compute + "/catalogs", "", northCompute},
		{"GET", sub + compute + "/quotas", "", globalCompute},
		{"GET", vms + "/east/disks", "", westCompute}, // from the cache
		{"GET", vms + "/west/agents", "", westCompute},
		{"GET", vms + "/west/agents/a/snapshots", "", westCompute},
		{"GET", rg + compute + "/catalogs/c/items", "", northCompute},
		{"GET", vms + "/none/disks", "", "404 ParentResourceNotFound"},
		{"GET", vms + "/none/agents/a/snapshots", "", "404 ParentResourceNotFound"},
		{"POST", vms, "", "405 MethodNotAllowed"},
		{"POST", sub + "/resourceGroups/empty" + compute + "/virtualMachines", "", "405 MethodNotAllowed"},
	})
	if d, err := resolve(t, known, "GET", vms+"/east/disks", ""); err != nil || !d.Memory.Location {
		t.Errorf("got %+v, %v: the region came from memory", d, err)
	}
	// A further page has the regions of the first one.
	for _, token := range []string{"$skipToken=x", "%24skiptoken=x"} {
		if d, err := resolve(t, known, "GET", sub+"/resourceGroups/empty"+compute+"/virtualMachines?"+token, ""); err != nil || d.Mode != Merge || d.Endpoints != nil {
			t.Errorf("%s: %+v, %v", token, d, err)
		}
	}
	if d, err := resolve(t, known, "GET", rg+compute+"/catalogs?$skipToken=x", ""); err != nil || d.Mode != Forward {
		t.Errorf("a token of the one region that serves a type: %+v, %v", d, err)
	}
	if d, err := resolve(t, known, "GET", vms, ""); err != nil || d.Region != "" || d.Endpoint != nil {
		t.Errorf("a merge has one endpoint of its own: %+v, %v", d, err)
	}
}

// Rows in a region without endpoint are an outage, never an absence.
func TestRegionThatLeftTheMap(t *testing.T) {
	known := newMapIndex()
	known.add(vms+"/moon", "contoso.compute/virtualmachines", "moon")
	checkRoutes(t, known, []route{
		{"GET", vms + "/moon", "", "503 NoRegisteredProviderFound"},
		{"PUT", vms + "/moon", `{"location":"westus"}`, "503 NoRegisteredProviderFound"},
		{"DELETE", vms + "/moon", "", "503 NoRegisteredProviderFound"},
		{"GET", vms + "/moon/disks", "", "503 NoRegisteredProviderFound"},
		{"POST", vms + "/moon/start", "", "503 NoRegisteredProviderFound"},
		{"GET", vms, "", "503 NoRegisteredProviderFound"},
		{"GET", vms + "/moon" + guard + "/guards/g", "", globalGuard},
		{"HEAD", vms + "/moon", "", "present"},
	})
}

func TestPolls(t *testing.T) {
	known := newMapIndex()
	record := func(path, query string, o polls.Operation) {
		known.operations[PollToken(path, Query{Raw: query})] = o
	}
	record(vms+"/gone/operationResults/o", "t=1", polls.Operation{Namespace: "contoso.compute", Type: "virtualMachines", Region: "eastus"})
	record(sub+compute+"/locations/westus/operationStatuses/o", "", polls.Operation{Namespace: "contoso.compute", Type: "left/the/map", Region: "northeurope"})
	record(sub+guard+"/operationResults/o", "", polls.Operation{Namespace: "Contoso.Guard", Type: "stamps", Region: "eastus"})
	record(sub+compute+"/operationResults/moon", "", polls.Operation{Namespace: "contoso.compute", Region: "moon"})
	record(sub+compute+"/operationResults/nobody", "", polls.Operation{Namespace: "nobody.knows", Region: "westus"})
	record(strings.Replace(vms, "/Rg", "/no-such-group", 1)+"/vm/operationResults/o", "", polls.Operation{Namespace: "contoso.compute", Type: "virtualMachines", Region: "eastus"})
	checkRoutes(t, known, []route{
		{"GET", strings.Replace(vms, "/Rg", "/no-such-group", 1) + "/vm/operationResults/o", "", eastCompute},
		{"GET", strings.Replace(vms, "/Rg", "/no-such-group", 1) + "/vm/operationResults/x", "", "404 ResourceGroupNotFound"},

		// By the record, whatever the state of the resource and the path's location.
		{"GET", vms + "/gone/operationResults/o?t=1", "", eastCompute},
		{"GET", strings.ToUpper(vms) + "/gone/OPERATIONRESULTS/o?t=1", "", eastCompute},
		{"GET", sub + compute + "/locations/westus/operationStatuses/o", "", northCompute},
		{"GET", sub + guard + "/operationResults/o", "", "https://eastus.stamps"},
		{"GET", sub + compute + "/operationResults/nobody", "", globalCompute},

		// Without a record: by the location, the resource, or the global endpoint.
		{"GET", sub + compute + "/locations/East%20US/operationResults/x", "", eastCompute},
		{"GET", sub + compute + "/locations/mars/operationResults/x", "", "400 NoRegisteredProviderFound"},
		{"GET", vms + "/west/operationsStatus/x", "", westCompute},
		{"GET", vms + "/west/agents/a/operationStatus/x", "", westCompute},
		{"GET", vms + "/gone/operationResults/o?t=2", "", "404 ResourceNotFound"},
		{"GET", vms + "/gone/agents/a/operationResults/o", "", "404 ParentResourceNotFound"},
		{"GET", vms + "/east" + guard + "/guards/g/operationResults/x", "", globalGuard},
		{"GET", rg + compute + "/nothings/n/operationResults/x", "", globalCompute},
		{"GET", sub + compute + "/operationResults/x", "", globalCompute},
		{"GET", sub + lonely + "/operationResults/x", "", "400 NoRegisteredProviderFound"},

		// At the tenant level no one has a right to read.
		{"GET", compute + "/operationResults/x", "", "404 HttpResourceNotFound"},
		{"GET", lonely + "/operationResults/x", "", "404 HttpResourceNotFound"},
		{"GET", compute + "/locations/westus/operationResults/x", "", "404 HttpResourceNotFound"},
		{"GET", compute + "/locations/westus/operationResults/x/result", "", "404 HttpResourceNotFound"},
		{"GET", compute + "/locations/westus/usages/x", "", westCompute},
	})
	d, err := resolve(t, known, "GET", vms+"/gone/operationResults/o?t=1", "")
	if err != nil || d.Operation == nil || d.Operation.Region != "eastus" {
		t.Errorf("got %+v, %v", d, err)
	}
	// There is a record to be answered by, but no endpoint.
	for _, standsIn := range []bool{false, true} {
		record(sub+compute+"/operationResults/moon", "", polls.Operation{Namespace: "contoso.compute", Region: "moon", Substitute: standsIn})
		if d, err := resolve(t, known, "GET", sub+compute+"/operationResults/moon", ""); err != nil || d.Operation == nil || d.Endpoint != nil || d.Region != "moon" {
			t.Errorf("got %+v, %v", d, err)
		}
	}
	if d, err := resolve(t, known, "GET", vms+"/west/operationResults/x", ""); err != nil || d.Operation != nil {
		t.Errorf("got %+v, %v", d, err)
	}
}

// An operation may be polled under any path that is neither the index's nor the front
// door's own; its record decides, whatever else the path says.
func TestPollsOfAnySpelling(t *testing.T) {
	ann := access.Principal{TenantID: tenant, ObjectID: "ann"}
	known := newMapIndex()
	record := func(path string, o polls.Operation) {
		o.Namespace, o.Type, o.Region = "contoso.compute", "virtualMachines", "eastus"
		known.operations[PollToken(path, Query{})] = o
	}
	anns := polls.Operation{TenantID: tenant, ObjectID: "ann"}
	missing := strings.Replace(vms, "/Rg", "/no-such-group", 1) + "/vm/jobs/o"
	paths := []string{sub + compute + "/locations/westus/jobs/o", sub + compute + "/jobs/o", vms + "/gone/jobs/o", vms + "/west/restart", missing, compute + "/jobs/o"}
	declared := []string{compute + "/quotas/q", vms + "/west/agents/a", vms + "/west/agents"}
	for _, path := range append(paths, declared...) {
		if path == compute+"/jobs/o" || path == compute+"/quotas/q" {
			known.operations[PollToken(path, Query{})] = polls.Operation{Namespace: "contoso.compute", Region: "eastus", TenantID: tenant, ObjectID: "ann"}
			continue
		}
		record(path, anns)
	}
	find := func(method, path, object string) (*Request, *Decision, bool) {
		r, fault := Classify(sample(t), method, path, "")
		if fault != nil {
			t.Fatal(fault)
		}
		router := &Router{Map: sample(t), Index: known}
		caller := access.Principal{TenantID: tenant, ObjectID: object}
		found, err := router.FindOperation(t.Context(), r, caller)
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if !found {
			return r, &Decision{}, false
		}
		d, err := router.Resolve(t.Context(), r, caller, Body{})
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		return r, d, true
	}
	for _, path := range append(paths, declared...) {
		r, d, found := find("GET", path, ann.ObjectID)
		if !found || r.Class != Poll || d.Operation == nil || d.Region != "eastus" {
			t.Errorf("%s: %v %s %+v", path, found, r.Class, d)
		}
		if r, _, found := find("HEAD", path, ann.ObjectID); found || r.Class == Poll {
			t.Errorf("HEAD %s is a poll", path)
		}
		_, _, found = find("GET", path, "bob")
		if alone := !slices.Contains(declared, path); found != alone {
			t.Errorf("%s: found for another caller: %v", path, found)
		}
	}
	// What is kept of an index, or of a type that has named itself.
	record(vms+"/west", anns)
	record(vms, anns)
	self := anns
	self.Origin = vms + "/West/agents/self"
	record(vms+"/west/agents/self", self)
	record(rg, anns)
	record(sub+"/providers/Nobody.Knows/locations/westus/jobs/o", anns)
	for _, path := range []string{vms + "/west", vms, vms + "/west/agents/self", rg, sub + "/providers/Nobody.Knows/locations/westus/jobs/o"} {
		if r, _, found := find("GET", path, ann.ObjectID); found || r.Class == Poll {
			t.Errorf("%s is a poll", path)
		}
	}
	known.failing = "Operation"
	r, _ := Classify(sample(t), "GET", vms+"/west/jobs/o", "")
	if _, err := (&Router{Map: sample(t), Index: known}).FindOperation(t.Context(), r, ann); !errors.Is(err, errDown) {
		t.Errorf("%v", err)
	}
}

// Another spelling of an operation's URL serves the caller that started it, by the
// record if the path does not contradict it; it serves no one else, by any method.
func TestPollsByIdentity(t *testing.T) {
	known := newMapIndex()
	record := func(target, object string, o polls.Operation) {
		path, query, _ := strings.Cut(target, "?")
		r, fault := Classify(sample(t), "GET", path, query)
		if fault != nil {
			t.Fatal(fault)
		}
		o.Namespace, o.Region, o.Identity = "contoso.compute", "eastus", r.OperationIdentity()
		if object != "" {
			o.TenantID, o.ObjectID = tenant, object
		}
		known.operations[PollToken(path, r.Query)] = o
	}
	located := compute + "/locations/eastus/operationResults/"
	record(sub+located+"o?t=1", "ann", polls.Operation{})
	record(sub+located+"stood-in", "ann", polls.Operation{Substitute: true})
	record(sub+located+"learned?t=1", "", polls.Operation{})
	record(located+"learned?t=1", "", polls.Operation{})
	record(sub+located+"both?t=1", "ann", polls.Operation{})
	record(sub+located+"both?t=2", "bob", polls.Operation{})
	record(sub+located+"both?t=3", "", polls.Operation{})
	for _, c := range []struct{ method, target, ann, bob string }{
		{"GET", sub + located + "o?t=2", eastCompute, ""},
		{"GET", sub + compute + "/operationStatuses/o", eastCompute, ""},
		{"GET", sub + compute + "/locations/westus/operations/o", westCompute, ""}, // as the path says
		{"GET", sub + compute + "/locations/eastus/azureAsyncOperations/o", eastCompute, ""},
		{"HEAD", sub + compute + "/locations/eastus/operations/o", eastCompute, ""},
		{"DELETE", sub + compute + "/locations/westus/operations/o", westCompute, ""},
		{"POST", sub + compute + "/locations/eastus/operations/o/cancel", eastCompute, ""},
		{"GET", sub + compute + "/operationResults/stood-in", globalCompute, ""},
		{"GET", located + "learned?t=1", "", ""},
		{"GET", sub + located + "learned?t=1", eastCompute, eastCompute},
		{"GET", sub + located + "learned?t=2", eastCompute, eastCompute},
		{"GET", sub + located + "both?t=4", "", ""},
		{"GET", sub + located + "both?t=3", "", ""},
		{"GET", sub + located + "both?t=1", eastCompute, eastCompute}, // the record says whose it is
	} {
		for object, want := range map[string]string{"ann": c.ann, "bob": c.bob} {
			path, query, _ := strings.Cut(c.target, "?")
			r, fault := Classify(sample(t), c.method, path, query)
			if fault != nil {
				t.Fatal(fault)
			}
			d, err := (&Router{Map: sample(t), Index: known}).Resolve(t.Context(), r, access.Principal{TenantID: tenant, ObjectID: object}, Body{})
			if want == "" {
				want = "404 HttpResourceNotFound"
			}
			if got := describe(d, err); got != want {
				t.Errorf("%s %s by %s: %s, want %s", c.method, c.target, object, got, want)
			}
		}
	}
}

// A failed store is never taken for an absence.
func TestIndexFailures(t *testing.T) {
	for failing, c := range map[string]route{
		"Subscription": {"GET", vms + "/west", "", ""},
		"Group":        {"GET", vms + "/west", "", ""},
		"Registration": {"GET", vms, "", ""},
		"Locate":       {"GET", vms + "/west", "", ""},
		"Resource":     {"DELETE", vms + "/west", "", ""},
		"MayHold":      {"GET", vms, "", ""},
		"Operation":    {"GET", vms + "/west/operationResults/o", "", ""},

		"OperationByIdentity": {"DELETE", sub + compute + "/locations/westus/operations/o", "", ""},
	} {
		known := newMapIndex()
		known.failing = failing
		c.want = errDown.Error()
		checkRoutes(t, known, []route{c})
	}
	known := newMapIndex()
	known.failing = "Resource"
	checkRoutes(t, known, []route{
		{"PUT", vms + "/west/disks/new", "{}", errDown.Error()},
		{"PUT", vms + "/west/agents/a", "{}", errDown.Error()},
		{"GET", vms + "/none/disks/d", "", errDown.Error()}, // whether the parent exists
		{"POST", vms + "/west/start", "", errDown.Error()},
	})
	known.failing = "Locate"
	checkRoutes(t, known, []route{
		{"GET", vms + "/west/agents/a", "", errDown.Error()},
		{"GET", vms + "/west/disks", "", errDown.Error()},
		{"GET", vms + "/west" + guard + "/guards/g", "", errDown.Error()},
	})
}

func TestNotFoundWordings(t *testing.T) {
	for _, c := range []struct{ method, path, content, message, target string }{
		{"GET", vms + "/None", "", "The Resource 'Contoso.Compute/virtualMachines/None' under resource group 'Rg' was not found. For more details please go to https://aka.ms/ARMResourceNotFoundFix", vms + "/None"},
		{"GET", vms + "/None/disks/d", "", "Can not perform requested operation on nested resource. Parent resource 'None' not found.", vms + "/None"},
		{"PUT", vms + "/None/agents/a/snapshots/s", "{}", "Can not perform requested operation on nested resource. Parent resource 'None' not found.", vms + "/None"},
		{"GET", vms + "/None/agents/a", "", "Can not perform requested operation on nested resource. Parent resource 'None' not found.", vms + "/None"},
		{"POST", vms + "/None/disks/d/start", "", "The Resource 'Contoso.Compute/virtualMachines/None/disks/d' under resource group 'Rg' was not found. For more details please go to https://aka.ms/ARMResourceNotFoundFix", vms + "/None/disks/d"},
		{"GET", vms + "/None" + guard + "/guards/g", "", "The Resource 'Contoso.Compute/virtualMachines/None' under resource group 'Rg' was not found. For more details please go to https://aka.ms/ARMResourceNotFoundFix", vms + "/None"},
	} {
		_, err := resolve(t, newMapIndex(), c.method, c.path, c.content)
		var fault *arm.Error
		if !errors.As(err, &fault) || fault.Message != c.message || fault.Target != c.target {
			t.Errorf("%s %s:\n got %+v\nwant %s about %s", c.method, c.path, fault, c.message, c.target)
		}
	}
	r, _ := Classify(sample(t), "GET", sub+compute+"/quotas/q", "")
	if fault := r.NotFound(); !strings.Contains(fault.Message, "under resource group '<null>'") {
		t.Errorf("got %v", fault)
	}
}
