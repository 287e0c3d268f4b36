package routing

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"portico/access"
	"portico/arm"
)

// scout searches for existing resources, and records its searches.
type scout struct {
	index   *mapIndex
	exists  map[string]string // region by id
	fails   error
	lookups []string
}

func (s *scout) search(sought SearchedResource) error {
	names := make([]string, 0, len(sought.Endpoints))
	for _, e := range sought.Endpoints {
		names = append(names, e.Region)
	}
	s.lookups = append(s.lookups, sought.ID[strings.LastIndex(sought.ID, "/providers/")+len("/providers/"):]+" "+strings.Join(names, ","))
	if s.fails != nil {
		return s.fails
	}
	for id, region := range s.exists {
		if arm.Fold(id) == sought.Key && slices.Contains(names, region) {
			s.index.add(id, sought.Type.Key, region)
		}
	}
	return nil
}

// newScout has a subscription without coverage, whose rows memory holds.
func newScout(holds map[string]string) *scout {
	index := newMapIndex()
	s := index.subscriptions[subID]
	s.Covered = false
	index.subscriptions[subID] = s
	for _, typeKey := range []string{"contoso.compute/virtualmachines", "contoso.compute/virtualmachines/disks"} {
		index.uncovered[typeKey] = []string{"westus", "eastus"}
	}
	index.uncovered["contoso.compute/zones"] = []string{arm.GlobalLocation}
	return &scout{index: index, exists: holds}
}

func (s *scout) resolve(t *testing.T, method, path, content string) string {
	t.Helper()
	m := sample(t)
	r, fault := Classify(m, method, path, "api-version=2024-01-01")
	if fault != nil {
		t.Fatal(fault)
	}
	var body Body
	if content != "" {
		if body, fault = ReadObject([]byte(content)); fault != nil {
			t.Fatal(fault)
		}
	}
	return s.resolveBy(t, Router{Map: m, Index: s.index}, r, body)
}

// resolveBy resolves a request and searches for what that needs, each resource once.
func (s *scout) resolveBy(t *testing.T, rt Router, r *Request, body Body) string {
	t.Helper()
	for searched := []string(nil); ; {
		d, err := rt.Resolve(t.Context(), r, access.Principal{TenantID: tenant}, body, searched...)
		needed, search := errors.AsType[*SearchNeededError](err)
		if !search {
			return describe(d, err)
		}
		if slices.Contains(searched, needed.Resource.Key) {
			t.Fatalf("%s was searched for already", needed.Resource.Key)
		}
		if err := s.search(needed.Resource); err != nil {
			return describe(d, err)
		}
		searched = append(searched, needed.Resource.Key)
	}
}

func TestUnknownResourcesAreLookedFor(t *testing.T) {
	const (
		vm      = "Contoso.Compute/virtualMachines/Old westus,eastus"
		vmDisk  = "Contoso.Compute/virtualMachines/Old/disks/D eastus"
		noVM    = "Contoso.Compute/virtualMachines/none westus,eastus"
		old     = vms + "/Old"
		itsDisk = old + "/disks/D"
	)
	for _, c := range []struct {
		method, path, content string
		want                  string
		lookups               []string
	}{
		{"GET", old, "", eastCompute, []string{vm}},
		{"HEAD", old, "", "present", []string{vm}},
		{"PATCH", old, `{}`, eastCompute, []string{vm}},
		{"DELETE", old, "", eastCompute, []string{vm}},
		{"POST", old + "/start", "", eastCompute, []string{vm}},
		{"PUT", old, `{"location":"eastus"}`, eastCompute, []string{vm}},
		{"PUT", old, `{"location":"westus"}`, westCompute, []string{vm}}, // the recording of the intent refuses it
		{"GET", old + guard + "/stamps/s", "", "https://eastus.stamps", []string{vm}},
		{"GET", old + "/agents/a", "", eastCompute, []string{vm}},
		{"PUT", old + "/agents/a", "{}", eastCompute, []string{vm}},
		{"GET", old + "/disks", "", eastCompute, []string{vm}},
		{"GET", old + "/operationResults/o", "", eastCompute, []string{vm}},
		{"GET", itsDisk, "", eastCompute, []string{vm, vmDisk}},
		{"DELETE", itsDisk, "", eastCompute, []string{vm, vmDisk}},
		{"PUT", old + "/disks/new", "{}", eastCompute, []string{vm, "Contoso.Compute/virtualMachines/Old/disks/new eastus"}},
		{"PUT", rg + compute + "/zones/z/records/new", "{}", globalCompute, nil}, // that type has coverage

		// A resource that exists nowhere is searched for once.
		{"GET", vms + "/none", "", "404 ResourceNotFound", []string{noVM}},
		{"HEAD", vms + "/none", "", "404 ResourceNotFound", []string{noVM}},
		{"DELETE", vms + "/none", "", "absent", []string{noVM}},
		{"PUT", vms + "/none", `{"location":"eastus"}`, eastCompute, []string{noVM}},
		{"GET", vms + "/none/disks/d", "", "404 ParentResourceNotFound", []string{noVM}},
		{"DELETE", vms + "/none/disks/d", "", "absent", []string{noVM}},
		{"PUT", vms + "/none/disks/d", "{}", "404 ParentResourceNotFound", []string{noVM}},
		{"GET", rg + compute + "/zones/none", "", "404 ResourceNotFound", []string{"Contoso.Compute/zones/none global"}},

		// A resource with a row is not searched for.
		{"GET", vms + "/west", "", westCompute, nil},
		{"DELETE", vms + "/west", "", westCompute, nil},
		{"GET", vms + "/west/disks/none", "", "404 ResourceNotFound", []string{"Contoso.Compute/virtualMachines/west/disks/none westus"}},
	} {
		s := newScout(map[string]string{old: "eastus", itsDisk: "eastus"})
		if got := s.resolve(t, c.method, c.path, c.content); got != c.want || !slices.Equal(s.lookups, c.lookups) {
			t.Errorf("%s %s:\n got %s after %q\nwant %s after %q", c.method, c.path, got, s.lookups, c.want, c.lookups)
		}
	}
}

func TestNothingIsLookedForThatWasSeen(t *testing.T) {
	s := newScout(map[string]string{vms + "/old": "eastus"})
	s.index.uncovered["contoso.compute/virtualmachines"] = []string{"westus"}
	if got := s.resolve(t, "GET", vms+"/old", ""); got != "404 ResourceNotFound" || !slices.Equal(s.lookups, []string{"Contoso.Compute/virtualMachines/old westus"}) {
		t.Errorf("%s after %q", got, s.lookups)
	}
	s = newScout(map[string]string{vms + "/old": "eastus"})
	s.index.subscriptions[subID] = newMapIndex().subscriptions[subID]
	for _, method := range []string{"GET", "HEAD", "DELETE"} {
		s.resolve(t, method, vms+"/old", "")
	}
	if len(s.lookups) != 0 {
		t.Errorf("a covered subscription: asked for %q", s.lookups)
	}
}

// A failed search is not an absence, whatever the method.
func TestSearchThatFails(t *testing.T) {
	for _, method := range []string{"GET", "HEAD", "PUT", "PATCH", "DELETE"} {
		for _, path := range []string{vms + "/none", vms + "/none/disks/d"} {
			s := newScout(nil)
			s.fails = errDown
			if got := s.resolve(t, method, path, `{"location":"eastus"}`); got != errDown.Error() {
				t.Errorf("%s %s: %s", method, path, got)
			}
		}
	}
	s := newScout(nil)
	s.index.failing = "Uncovered"
	if got := s.resolve(t, "GET", vms+"/none", ""); got != errDown.Error() {
		t.Errorf("%s", got)
	}
	// A region without an endpoint cannot be asked.
	s = newScout(nil)
	s.index.add(vms+"/away", "contoso.compute/virtualmachines", "mars")
	s.index.uncovered["contoso.compute/virtualmachines/disks"] = []string{"mars"}
	if got := s.resolve(t, "GET", vms+"/away/disks/d", ""); got != "503 NoRegisteredProviderFound" {
		t.Errorf("%s", got)
	}
}

// swept is an index that a sweep completes during the call of Uncovered.
type swept struct {
	*mapIndex
	found func()
}

func (s swept) Uncovered(context.Context, string, string, []string) ([]string, error) {
	s.found()
	return nil, nil
}

func (s swept) MayHold(ctx context.Context, subscription, group, typeKey string, given []string) ([]string, bool, error) {
	s.found()
	return s.mapIndex.MayHold(ctx, subscription, group, typeKey, given)
}

func TestSweepBetweenRowAndCoverage(t *testing.T) {
	s := newScout(nil)
	m := sample(t)
	for _, c := range []route{{"GET", vms + "/new", "", eastCompute}, {"DELETE", vms + "/new", "", eastCompute}, {"GET", vms, "", "merge " + eastCompute + " " + westCompute}} {
		delete(s.index.rows, arm.Fold(vms+"/new"))
		delete(s.index.rows, arm.Fold(vms+"/east"))
		rt := Router{Map: m, Index: swept{s.index, func() { s.index.add(vms+"/new", "contoso.compute/virtualmachines", "eastus") }}}
		r, _ := Classify(m, c.method, c.path, "api-version=2024-01-01")
		if got := s.resolveBy(t, rt, r, Body{}); got != c.want || len(s.lookups) != 0 {
			t.Errorf("%s %s: %s after %q", c.method, c.path, got, s.lookups)
		}
	}
}

// A list omits a region only if it has coverage and no rows.
func TestListsAskWhereAbsenceWasNotSeen(t *testing.T) {
	both := "merge " + eastCompute + " " + westCompute
	for _, c := range []struct {
		unseen []string
		path   string
		want   string
	}{
		{nil, sub + "/resourceGroups/empty" + compute + "/virtualMachines", "empty"},
		{[]string{"eastus"}, sub + "/resourceGroups/empty" + compute + "/virtualMachines", "merge " + eastCompute},
		{[]string{"westus", "eastus"}, sub + "/resourceGroups/empty" + compute + "/virtualMachines", both},
		{[]string{"westus", "eastus"}, sub + compute + "/virtualMachines", both},
	} {
		s := newScout(nil)
		s.index.uncovered["contoso.compute/virtualmachines"] = c.unseen
		for _, registered := range []bool{true, false} {
			if !registered {
				delete(s.index.registrations, "contoso.compute")
			}
			if got := s.resolve(t, "GET", c.path, ""); got != c.want {
				t.Errorf("%s, registered %v, unseen %q: %s", c.path, registered, c.unseen, got)
			}
		}
	}
	s := newScout(nil)
	s.index.failing = "MayHold"
	if got := s.resolve(t, "GET", sub+compute+"/virtualMachines", ""); got != errDown.Error() {
		t.Errorf("%s", got)
	}
}

// HEAD does not answer for a row that a DELETE may have ended.
func TestHeadOfARowBeingRemoved(t *testing.T) {
	index := newMapIndex()
	index.removalOpen[arm.Fold(vms+"/east")] = true
	checkRoutes(t, index, []route{
		{"HEAD", vms + "/east", "", eastCompute},
		{"HEAD", vms + "/west", "", "present"},
	})
	index.failing = "Resource"
	if _, err := resolve(t, index, "HEAD", vms+"/west", ""); !errors.Is(err, errDown) {
		t.Errorf("%v", err)
	}
}

// Nothing that may change something uses the cache, neither for its own region nor for
// its parent's; the decision names the resource that it used.
func TestMemoryServesReadsAlone(t *testing.T) {
	index := newMapIndex()
	index.cache(vms+"/east", "westus")
	index.cache(vms+"/east/disks/d", "westus")
	index.add(vms+"/east/disks/d", "contoso.compute/virtualmachines/disks", "eastus")
	anchor := arm.Fold(vms + "/east")
	disk := arm.Fold(vms + "/east/disks/d")
	for _, c := range []struct{ path, write, read, anchor string }{
		{vms + "/east/agents/a", "PUT PATCH DELETE", "GET HEAD", anchor},
		{vms + "/east/agents/a/restart", "POST", "", anchor},
		{vms + "/east/disks/d", "PATCH DELETE PUT", "GET", ""},
		{vms + "/east/disks/new", "PUT", "", ""},
		{vms + "/east/agents/a/snapshots/new", "PUT", "", ""},
		{vms + "/east/disks/d/attach", "POST", "", disk},
		{vms + "/east/start", "POST", "", anchor},
		{vms + "/east/skus", "", "GET", anchor},
		{vms + "/east/agents", "POST", "GET", anchor},
		{vms + "/east/disks", "POST", "GET", anchor},
		{vms + "/east" + guard + "/stamps/s", "PUT PATCH DELETE", "GET HEAD", anchor},
		{vms + "/east" + guard + "/stamps/s/press", "POST", "", anchor},
		{vms + "/east" + guard + "/stamps", "POST", "GET", anchor},
		{vms + "/east" + guard + "/stamps/s" + guard + "/stamps/t", "PUT DELETE", "GET", anchor},
		{vms + "/east/disks/d" + guard + "/stamps/s", "PUT DELETE", "GET", disk},
		{vms + "/east/operationResults/o", "", "GET", anchor},
	} {
		for method := range strings.FieldsSeq(c.write) {
			if d, err := resolve(t, index, method, c.path, "{}"); err != nil || d.Region != "eastus" || d.Memory.Location || d.Memory.Key != "" {
				t.Errorf("%s %s: %q, cached %v by %q, %v", method, c.path, d.Region, d.Memory.Location, d.Memory.Key, err)
			}
		}
		for method := range strings.FieldsSeq(c.read) {
			if d, err := resolve(t, index, method, c.path, ""); err != nil || d.Region != "westus" || !d.Memory.Location || d.Memory.Key != c.anchor {
				t.Errorf("%s %s: %q, cached %v by %q, %v", method, c.path, d.Region, d.Memory.Location, d.Memory.Key, err)
			}
		}
	}
}
