package routing

import (
	"slices"
	"strings"
	"testing"

	"portico/arm"
)

// check classifies and checks a request whose target can be read.
func check(t *testing.T, method, target string) (*Request, *arm.Error) {
	t.Helper()
	path, query, _ := strings.Cut(target, "?")
	m := sample(t)
	r, fault := Classify(m, method, path, query)
	if fault != nil {
		t.Fatalf("%s %s: %v", method, target, fault)
	}
	fault = r.Check(m, "westus")
	return r, fault
}

func TestCheckAccepts(t *testing.T) {
	for _, c := range []struct{ method, target string }{
		{"GET", vms + v},
		{"POST", sub + compute + "/checkNames" + v},
		{"PUT", vms + "/a" + v},
		{"HEAD", vms + "/a" + v},
		{"GET", vms + "/a?api-version=2023-01-01-PREVIEW"},
		{"GET", vms + "/" + strings.Repeat("é", 260) + v},
		{"GET", vms + "/providers/disks/providers" + v},
		{"GET", sub + "/resourceGroups/" + strings.Repeat("é", 90) + compute + "/virtualMachines" + v},
		{"POST", vms + "/a/start" + v},
		{"GET", vms + "/a/skus" + v},
		{"GET", compute + "/operations" + v},
		{"DELETE", sub + compute + "/locations/westus/anything" + v},
		{"GET", sub + compute + "/locations/westus/operationResults/o"}, // without api-version
		{"GET", sub + compute + "/operationStatuses/o?api-version=whatever"},
		{"GET", vms + "/a" + guard + "/guards/g" + v},
		{"GET", rg + "/providers/Microsoft.Authorization/locks/l" + guard + "/guards/g" + v},
		{"GET", rg + compute}, // no route, but no fault of the arguments
		{"GET", sub + "?api-version=2000-01-01"},
		{"POST", sub + compute + "/register?api-version=2021-04-01"},
	} {
		if _, fault := check(t, c.method, c.target); fault != nil {
			t.Errorf("%s %s: %v", c.method, c.target, fault)
		}
	}
}

func TestCheckRefuses(t *testing.T) {
	const (
		badSub   = "/subscriptions/none"
		badGroup = "/resourceGroups/a%20b"
	)
	long := strings.Repeat("é", 261)
	for _, c := range []struct {
		method, target string
		status         int
		code           arm.Code
		about          string
	}{
		// In the order of the arguments, each fault hides the later ones.
		{"FOO", badSub + badGroup + "/providers/no-namespace/b-d/a%3A/x", 400, arm.InvalidSubscriptionID, "subscriptionId"},
		{"FOO", sub + badGroup + "/providers/no-namespace/b-d/a%3A", 400, arm.InvalidResourceGroup, "resourceGroupName"},
		{"FOO", rg + "/providers/no-namespace/b-d/a%3A", 400, arm.InvalidResourceNamespace, "resourceProviderNamespace"},
		{"FOO", rg + "/providers/Nobody.Knows/b-d/a%3A", 404, arm.InvalidResourceNamespace, "resourceProviderNamespace"},
		{"FOO", rg + compute + "/b-d/a%3A", 400, arm.InvalidResourceType, "resourceType"},
		{"FOO", rg + compute + "/nothings/a%3A", 404, arm.InvalidResourceType, "resourceType"},
		{"FOO", vms + "/a%3A", 400, arm.InvalidResourceName, "resourceName"},
		{"FOO", vms + "/a", 405, arm.MethodNotAllowed, ""},
		{"PUT", vms + "/a", 400, arm.MissingAPIVersionParameter, "api-version"},
		{"PUT", vms + "/a?api-version=2024-1-1", 400, arm.InvalidAPIVersionParameter, "api-version"},
		{"PUT", vms + "/a?api-version=2022-01-01", 400, arm.NoRegisteredProviderFound, "api-version"},

		{"GET", "/subscriptions/{00000000-0000-0000-0000-00000000000a}" + v, 400, arm.InvalidSubscriptionID, "subscriptionId"},
		{"GET", "/subscriptions/x;v=1" + v, 400, arm.InvalidSubscriptionID, "subscriptionId"},
		{"GET", sub + "/resourceGroups/a." + v, 400, arm.InvalidResourceGroup, "resourceGroupName"},
		{"GET", sub + "/resourceGroups/" + strings.Repeat("a", 91) + v, 400, arm.InvalidResourceGroup, "resourceGroupName"},
		{"GET", rg + compute + "/providers/n" + v, 400, arm.InvalidResourceType, "resourceType"},
		{"GET", vms + "/" + long + v, 400, arm.InvalidResourceName, "resourceName"},
		{"GET", vms + "/a/disks/x%3F" + v, 400, arm.InvalidResourceName, "resourceName"},
		{"GET", vms + "/a/start" + v, 404, arm.InvalidResourceType, "resourceType"},
		{"POST", vms + "/a/nothings/n/start" + v, 404, arm.InvalidResourceType, "resourceType"},
		{"GET", vms + "/a/nothings" + v, 404, arm.InvalidResourceType, "resourceType"},
		{"GET", sub + compute + "/operations" + v, 404, arm.InvalidResourceType, "resourceType"},
		{"GET", sub + "?", 400, arm.MissingAPIVersionParameter, "api-version"},
		{"GET", sub + "?api-version=2024-13-01", 400, arm.InvalidAPIVersionParameter, "api-version"},
		{"GET", sub + compute + "/locations/westus/usages", 400, arm.MissingAPIVersionParameter, "api-version"},

		// Hosts of extensions are checked too.
		{"GET", vms + guard + "/guards/g" + v, 400, arm.InvalidResourceType, "resourceType"},
		{"GET", rg + compute + guard + "/guards/g" + v, 400, arm.InvalidResourceType, "resourceType"},
		// Only extensions stand on a resource.
		{"PUT", vms + "/a" + compute + "/virtualMachines/b" + v, 404, arm.InvalidResourceType, "resourceType"},
		{"GET", vms + "/a" + compute + "/virtualMachines" + v, 404, arm.InvalidResourceType, "resourceType"},
		{"POST", vms + "/a" + compute + "/virtualMachines/b/start" + v, 404, arm.InvalidResourceType, "resourceType"},
		{"GET", vms + "/a" + compute + "/virtualMachines/b" + guard + "/guards/g" + v, 404, arm.InvalidResourceType, "resourceType"},
		{"GET", vms + "/a" + compute + "/virtualMachines/b/disks/d" + v, 404, arm.InvalidResourceType, "resourceType"},
		{"GET", rg + compute + "/nothings/n" + guard + "/guards/g" + v, 404, arm.InvalidResourceType, "resourceType"},
		{"GET", vms + "/a%3A" + guard + "/guards/g" + v, 400, arm.InvalidResourceName, "resourceName"},
		{"GET", rg + "/providers/Nobody.Knows/things/n" + guard + "/guards/g" + v, 404, arm.InvalidResourceNamespace, "resourceProviderNamespace"},
		{"GET", vms + "/a" + guard + "/guards/g/providers/no-namespace/x/y" + v, 400, arm.InvalidResourceNamespace, "resourceProviderNamespace"},
		{"GET", rg + "/providers/Microsoft.Authorization/b-d/l" + guard + "/guards/g" + v, 400, arm.InvalidResourceType, "resourceType"},
	} {
		_, fault := check(t, c.method, c.target)
		if fault == nil || fault.Status != c.status || fault.Code != c.code || fault.Target != c.about {
			t.Errorf("%s %s:\n got %+v\nwant %d %s about %q", c.method, c.target, fault, c.status, c.code, c.about)
		}
	}
}

func TestCheckMethods(t *testing.T) {
	for _, c := range []struct{ target, allowed string }{
		{vms + "/a" + v, "GET HEAD PUT PATCH DELETE"},
		{vms + v, "GET POST"},
		{vms + "/a/skus" + v, "GET POST"},
		{compute + "/operations" + v, "GET POST"},
		{sub + compute + "/locations/westus/x" + v, "GET HEAD PUT PATCH POST DELETE"},
		{sub + compute + "/operationResults/o" + v, "GET"},
	} {
		for _, method := range []string{"GET", "HEAD", "PUT", "PATCH", "POST", "DELETE", "TRACE"} {
			_, fault := check(t, method, c.target)
			allowed := slices.Contains(strings.Fields(c.allowed), method)
			switch {
			case allowed && fault != nil:
				t.Errorf("%s %s: %v", method, c.target, fault)
			case !allowed && (fault == nil || fault.Code != arm.MethodNotAllowed || strings.Join(fault.Allow, " ") != c.allowed):
				t.Errorf("%s %s: got %+v, want 405 with %s", method, c.target, fault, c.allowed)
			}
		}
	}
}

func TestCheckWordings(t *testing.T) {
	for _, c := range []struct{ target, message string }{
		{sub + "/resourceGroups/a%20%3Bb" + v, "The provided resource group name 'a ;b' has these invalid characters: ' ;'. The name can only be a letter, digit, '-', '.', '(', ')' or '_'."},
		{sub + "/resourceGroups/a." + v, "The provided resource group name 'a.' ends with a full stop. The last character can only be a letter, digit, '-', '(', ')' or '_'."},
		{vms + "/a?api-version=2022-01-01", "No registered resource provider found for location 'westus' and API version '2022-01-01' for type 'virtualMachines'. The supported api-versions are '2024-01-01, 2023-01-01-preview'. The supported locations are 'westus, eastus'."},
		{vms + "/a?api-version=1", "The api-version '1' is invalid. The supported versions are '2024-01-01,2023-01-01-preview'."},
		{rg + compute + "/nothings/n" + v, "The resource type could not be found in the namespace 'Contoso.Compute' for api version '2024-01-01'."},
		{rg + "/providers/Nobody.Knows/things/n" + v, "The resource namespace 'Nobody.Knows' is invalid."},
	} {
		if _, fault := check(t, "GET", c.target); fault == nil || fault.Message != c.message {
			t.Errorf("%s:\n got %v\nwant %s", c.target, fault, c.message)
		}
	}
	if _, fault := check(t, "GET", sub+"/resourceGroups/"+strings.Repeat("a", 91)+v); fault == nil || !strings.Contains(fault.Message, "longer than 90 characters") {
		t.Errorf("got %v", fault)
	}
	r, _ := check(t, "GET", rg+compute)
	if fault := r.Unroutable(); fault.Status != 404 || fault.Message != "No HTTP resource was found that matches the request URI '"+rg+compute+"'." {
		t.Errorf("got %+v", fault)
	}
}
