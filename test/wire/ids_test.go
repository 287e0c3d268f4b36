package wire

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// at returns a check that a JSON body's top-level members have these values.
func body(members ...string) func(*testing.T, reply, []received) {
	return func(t *testing.T, got reply, _ []received) {
		t.Helper()
		var v map[string]any
		if err := json.Unmarshal(got.body, &v); err != nil {
			t.Fatalf("%v\n%s", err, got)
		}
		for i := 0; i+1 < len(members); i += 2 {
			if v[members[i]] != members[i+1] {
				t.Errorf("%s is %v, want %q", members[i], v[members[i]], members[i+1])
			}
		}
	}
}

// listed is a check that the body is a collection.
func listed(t *testing.T, got reply, _ []received) {
	t.Helper()
	var v struct {
		Value []json.RawMessage `json:"value"`
	}
	if err := json.Unmarshal(got.body, &v); err != nil || v.Value == nil {
		t.Errorf("no collection: %v\n%s", err, got)
	}
}

// notFound is the answer to a well-formed path that is no route.
func notFound(target string) want {
	path, _, _ := strings.Cut(target, "?")
	return want{status: 404, code: "HttpResourceNotFound",
		text: "No HTTP resource was found that matches the request URI '" + path + "'."}
}

func testIDs(t *testing.T, w *world) {
	const q = "?" + V
	g := w.group(t, "ids")
	const c = "/providers/Contoso.Compute/virtualMachines"
	vm := w.machine(t, g, "n", "eastus")
	w.must(t, message{method: "PUT", target: vm + "/disks/n2" + q, body: `{"properties":{}}`}, 200, 201)
	const settings = "/providers/Contoso.Insight/diagnosticSettings"
	w.must(t, message{method: "PUT", target: vm + settings + "/en" + q, body: `{"properties":{}}`}, 200, 201)

	get := func(target string) message { return message{target: target} }
	w.table(t, []row{
		// Read by net/http, whose own 400 is not an ARM error.
		{`""`, get(""), want{status: 400}},
		{`invalid`, get("invalid"), want{status: 400}},
		{`subscriptions/x`, get("subscriptions/x" + q), want{status: 400}},

		{`/ without a version`, get("/"), want{status: 400, code: "MissingApiVersionParameter",
			text: "The api-version query parameter (?api-version=) is required for all requests."}},
		{`/`, get("/" + q), notFound("/")},
		{`//`, get("//" + q), notFound("/")},
		{`//example.com`, get("//example.com" + q), notFound("/example.com")},
		{`S`, get(S + q), want{status: 200, check: body("subscriptionId", subscription, "id", S)}},
		{`S/`, get(S + "/" + q), want{status: 200, check: body("subscriptionId", subscription)}},
		{`S//`, get(S + "//" + q), want{status: 200, check: body("subscriptionId", subscription)}},
		{`/SUBSCRIPTIONS/<id>`, get("/SUBSCRIPTIONS/" + subscription + q), want{status: 200, check: body("subscriptionId", subscription)}},
		{`/subscriptions`, get("/subscriptions" + q), want{status: 200, check: listed}},
		{`/subscriptions/`, get("/subscriptions/" + q), want{status: 200, check: listed}},
		{`/subscriptions/not-a-guid`, get("/subscriptions/not-a-guid" + q), want{status: 400, code: "InvalidSubscriptionId",
			text: "The provided subscription identifier 'not-a-guid' is malformed or invalid."}},
		{`S/resourceGroups`, get(S + "/resourceGroups" + q), want{status: 200, check: listed}},
		{`S/resourceGroups/`, get(S + "/resourceGroups/" + q), want{status: 200, check: listed}},
		{`S/RESOURCEGROUPS/Rg put`, message{method: "PUT", target: S + "/RESOURCEGROUPS/Ids-Rg" + q, body: `{"location":"westus"}`},
			want{status: 201, check: body("name", "Ids-Rg", "id", S+"/resourceGroups/Ids-Rg")}},
		{`S/RESOURCEGROUPS/Rg read by another casing`, get(S + "/resourcegroups/IDS-RG" + q),
			want{status: 200, check: body("name", "Ids-Rg", "id", S+"/resourceGroups/Ids-Rg")}},
		{`S/resourceGroups/rg/resources`, get(g + "/resources" + q), want{status: 200, check: listed}},
		{`S/resources`, get(S + "/resources" + q), want{status: 200, check: listed}},
		{`S/resourceGroups/rg/providers`, get(g + "/providers" + q), notFound(g + "/providers")},
		{`S/resourceGroups/rg/providers/NS`, get(g + "/providers/Contoso.Compute" + q), notFound(g + "/providers/Contoso.Compute")},
		{`S/resourceGroups/rg/providers/NS/t`, get(g + c + q), want{status: 200, reaches: "eastus", check: listed}},
		{`.../NS/t/n`, get(vm + q), want{status: 200, reaches: "eastus", check: body("name", "n")}},
		{`.../NS/t/n/`, get(vm + "/" + q), want{status: 200, reaches: "eastus", as: vm + q, check: body("name", "n")}},
		{`.../NS/t/n/t2`, get(vm + "/disks" + q), want{status: 200, reaches: "eastus", check: listed}},
		{`.../NS/t/n/t2/n2`, get(vm + "/disks/n2" + q), want{status: 200, reaches: "eastus", check: body("name", "n2")}},
		{`S/resourceGroups//providers/NS/t/n`, get(S + "/resourceGroups/" + c + "/n" + q), want{status: 400, code: "InvalidResourceGroup", text: "The provided resource group name '' is empty.", about: "resourceGroupName"}},
		{`S/resourceGroups/providers/NS/t/n`, get(S + "/resourceGroups" + c + "/n" + q), want{status: 404, code: "ResourceGroupNotFound", text: "Resource group 'providers' could not be found.", about: "resourceGroupName"}},
		{`S/.../PROVIDERS/NS/T/N`, get(g + "/PROVIDERS/CONTOSO.COMPUTE/VIRTUALMACHINES/N" + q), want{status: 200, reaches: "eastus"}},
		{`S/providers/NS/locations/eastus/operationStatuses/1`, get(S + "/providers/Contoso.Compute/locations/eastus/operationStatuses/1" + q),
			want{status: 404, reaches: "eastus"}},
		{`S/providers/NS/locations/East US/operationResults/1`, get(S + "/providers/Contoso.Compute/locations/East%20US/operationResults/1" + q),
			want{status: 404, reaches: "eastus"}},
		{`S/providers/NS/locations/nowhere/operationResults/1`, get(S + "/providers/Contoso.Compute/locations/nowhere/operationResults/1" + q),
			want{status: 400, code: "NoRegisteredProviderFound", about: "location",
				text: "No registered resource provider found for location 'nowhere' and API version '2024-01-01' for type 'locations/operationResults'. The supported api-versions are '2024-06-01-preview, 2024-01-01, 2023-01-01'. The supported locations are 'westus, eastus, northeurope'."}},
		{`S/providers/NS/locations/eastus/usages`, get(S + "/providers/Contoso.Compute/locations/eastus/usages" + q), want{status: 200, reaches: "eastus"}},
		{`S/providers/NS/checkNameAvailability`, message{method: "POST", target: S + "/providers/Contoso.Compute/checkNameAvailability" + q,
			body: `{"name":"x","type":"Contoso.Compute/nothing"}`}, want{status: 400, reaches: "global"}},
		{`S/providers/NS/locations/westus/checkNameAvailability`, message{method: "POST",
			target: S + "/providers/Contoso.Compute/locations/westus/checkNameAvailability" + q,
			body:   `{"name":"x","type":"Contoso.Compute/virtualMachines"}`}, want{status: 200, reaches: "westus"}},
		{`/providers/NS/t/n`, get("/providers/Contoso.Insight/annotations/n" + q), want{status: 404, reaches: "global"}},
		{`/providers/NS/t`, get("/providers/Contoso.Insight/annotations" + q), want{status: 404, reaches: "global"}},
		{`/providers/NS/t/n of a type that lives in groups`, get("/providers/Contoso.Compute/virtualMachines/n" + q), notFound("/providers/Contoso.Compute/virtualMachines/n")},
		{`/providers/NS`, get("/providers/Contoso.Compute" + q), want{status: 200, check: body("namespace", "Contoso.Compute")}},
		{`/providers`, get("/providers" + q), want{status: 200, check: listed}},
		{`S/providers/NS`, get(S + "/providers/contoso.compute" + q), want{status: 200, check: body("namespace", "Contoso.Compute")}},
		{`/providers/NS/operations`, get("/providers/Contoso.Compute/operations" + q), want{status: 200, reaches: "global", check: listed}},
		{`.../t/n/providers/NS2/e/en`, get(vm + settings + "/en" + q), want{status: 200, reaches: "eastus", check: body("name", "en")}},
		{`.../t/n/providers/NS2/e`, get(vm + settings + q), want{status: 200, reaches: "eastus", check: listed}},
		{`.../t/n/providers/NS2`, get(vm + "/providers/Contoso.Insight" + q), notFound(vm + "/providers/Contoso.Insight")},
		{`.../t/n/providers`, get(vm + "/providers" + q), notFound(vm + "/providers")},
		{`ext. of ext., served by the host's region`, message{method: "PUT", target: vm + settings + "/en" + settings + "/fn" + q, body: `{"properties":{}}`},
			want{status: 201, reaches: "eastus", check: body("type", "Contoso.Insight/diagnosticSettings")}},
		{`ext. of ext., served globally`, message{method: "PUT", target: vm + settings + "/en/providers/Contoso.Insight/annotations/fn" + q, body: `{"properties":{}}`},
			want{status: 201, reaches: "global", check: body("type", "Contoso.Insight/annotations")}},
		{`.../NS/t/providers put`, message{method: "PUT", target: g + c + "/providers" + q, body: located("northeurope")},
			want{status: 201, reaches: "northeurope", check: body("name", "providers")}},
		{`.../NS/t/providers`, get(g + c + "/providers" + q), want{status: 200, reaches: "northeurope", check: body("name", "providers")}},
		{`.../NS/t/providers/t2`, get(g + c + "/providers/disks" + q), want{status: 200, reaches: "northeurope", check: listed}},
		{`.../NS/providers/n`, get(g + "/providers/Contoso.Compute/providers/n" + q),
			want{status: 400, code: "InvalidResourceType", text: "The resource type 'providers' is malformed: it has ASCII letters and digits only.", about: "resourceType"}},
		{`POST .../t/n/listKeys`, message{method: "POST", target: vm + "/listKeys" + q}, want{status: 200, reaches: "eastus"}},
		{`POST .../t/n/t2/n2/unknownAction`, message{method: "POST", target: vm + "/disks/n2/unknownAction" + q}, want{status: 404, reaches: "eastus"}},
		{`POST .../t/absent/listKeys`, message{method: "POST", target: g + c + "/absent/listKeys" + q}, want{status: 404, code: "ResourceNotFound",
			text: "The Resource 'Contoso.Compute/virtualMachines/absent' under resource group 'ids' was not found. For more details please go to https://aka.ms/ARMResourceNotFoundFix"}},
		{`HEAD by id`, message{method: http.MethodHead, target: vm + q}, want{status: 204}},
		{`HEAD by id, absent`, message{method: http.MethodHead, target: g + c + "/absent" + q}, want{status: 404, code: "ResourceNotFound"}},
		{`HEAD of a group`, message{method: http.MethodHead, target: g + q}, want{status: 204}},
		{`HEAD of a group, absent`, message{method: http.MethodHead, target: S + "/resourceGroups/ids-absent" + q}, want{status: 404, code: "ResourceGroupNotFound"}},
		{`DELETE by id, absent`, message{method: "DELETE", target: g + c + "/absent" + q}, want{status: 204}},
		{`DELETE below what is absent`, message{method: "DELETE", target: g + c + "/absent/disks/d" + q}, want{status: 204}},
		{`DELETE of an extension of what is absent`, message{method: "DELETE", target: g + c + "/absent" + settings + "/en" + q}, want{status: 204}},
		{`DELETE of an extension that is absent`, message{method: "DELETE", target: vm + settings + "/absent" + q}, want{status: 204, reaches: "eastus"}},
		{`PATCH of an extension of what is absent`, message{method: "PATCH", target: g + c + "/absent" + settings + "/en" + q, body: `{"properties":{}}`}, want{status: 404, code: "ResourceNotFound"}},
		{`/x`, get("/x" + q), notFound("/x")},
		{`/subscriptions/<id>/x`, get(S + "/x" + q), notFound(S + "/x")},
		{`S/resourceGroups/rg/x`, get(g + "/x" + q), notFound(g + "/x")},
	})

	// An instance's path is the decoded scope: real SDKs send a whole id as one escaped
	// segment.
	encoded := "/" + strings.ReplaceAll(vm[1:], "/", "%2F")
	w.table(t, []row{
		{`an id escaped whole`, get(encoded + q), want{status: 200, reaches: "eastus", as: vm + q, check: body("name", "n")}},
	})
}
