package wire

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// The common arguments are checked in a fixed order: subscription, group, namespace,
// type, names, api-version; the first fault is reported.
func testArguments(t *testing.T, w *world) {
	const q = "?" + V
	const resourcesLack = "The resource type could not be found in the namespace 'Microsoft.Resources' for api version '2024-01-01'."
	g := w.group(t, "arguments")
	long := strings.Repeat("x", 261)
	put := func(target string) message {
		return message{method: http.MethodPut, target: target, body: located("westus")}
	}
	w.table(t, []row{
		{"subscription before group", put("/subscriptions/x/resourceGroups/g./providers/Contoso.Compute/virtualMachines/n" + q),
			want{status: 400, code: "InvalidSubscriptionId", target: false}},
		{"group before namespace", put(S + "/resourceGroups/g./providers/Contoso_Compute/virtualMachines/n" + q), want{status: 400, code: "InvalidResourceGroup"}},
		{"namespace before type", put(g + "/providers/Contoso_Compute/virtual-machines/n" + q), want{status: 400, code: "InvalidResourceNamespace"}},
		{"type before name", put(g + "/providers/Contoso.Compute/virtual-machines/" + long + q), want{status: 400, code: "InvalidResourceType"}},
		{"name before version", put(g + "/providers/Contoso.Compute/virtualMachines/" + long + "?api-version=x"), want{status: 400, code: "InvalidResourceName"}},
		{"version before existence", put(S + "/resourceGroups/arguments-absent/providers/Contoso.Compute/virtualMachines/n?api-version=x"),
			want{status: 400, code: "InvalidApiVersionParameter"}},
		{"a nested name", put(g + "/providers/Contoso.Compute/virtualMachines/n/disks/" + long + q), want{status: 400, code: "InvalidResourceName", target: true}},
		{"a parent's name", put(g + "/providers/Contoso.Compute/virtualMachines/" + long + "/disks/d" + q), want{status: 400, code: "InvalidResourceName", target: true}},
		{"an extension's host", put(g + "/providers/Contoso.Compute/virtualMachines/" + long + "/providers/Contoso.Insight/diagnosticSettings/d" + q),
			want{status: 400, code: "InvalidResourceName", target: true}},
		{"an extension's namespace", put(g + "/providers/Contoso.Compute/virtualMachines/n/providers/Contoso_Insight/diagnosticSettings/d" + q),
			want{status: 400, code: "InvalidResourceNamespace", target: true}},
		{"another type of the namespace", put(g + "/providers/Microsoft.Resources/things/d" + q), want{status: 404, code: "InvalidResourceType", text: resourcesLack, about: "resourceType"}},
		{"absent resource", message{target: g + "/providers/Contoso.Compute/virtualMachines/absent" + q}, want{status: 404, code: "ResourceNotFound",
			text: "The Resource 'Contoso.Compute/virtualMachines/absent' under resource group 'arguments' was not found. For more details please go to https://aka.ms/ARMResourceNotFoundFix"}},
		{"absent resource, patch", message{method: "PATCH", target: g + "/providers/Contoso.Compute/virtualMachines/absent" + q, body: `{"tags":{}}`},
			want{status: 404, code: "ResourceNotFound"}},
		{"nested below an absent parent", message{target: g + "/providers/Contoso.Compute/virtualMachines/absent/disks/d" + q},
			want{status: 404, code: "ParentResourceNotFound", text: "Can not perform requested operation on nested resource. Parent resource 'absent' not found.",
				about: g + "/providers/Contoso.Compute/virtualMachines/absent"}},
	})
}

// What is out of scope is judged by its type, before anything of the content is read: az
// sends a member without quotes. Neither subscription, group nor api-version matters.
func testOutOfScope(t *testing.T, w *world) {
	const (
		elsewhere   = "Deployments to management groups and tenants are out of the scope of this service: deploy to subscriptions and resource groups."
		scripts     = "Deployment scripts are out of the scope of this service."
		specs       = "Template specs are out of the scope of this service."
		export      = "The export of groups as templates is out of the scope of this service: export one of their deployments."
		policies    = "Policies are out of the scope of this service."
		management  = "Management groups are out of the scope of this service: its scopes are '/', subscriptions, resource groups and resources."
		graph       = "Resource Graph is out of the scope of this service: list resources at '/subscriptions/{subscriptionId}/resources'."
		users       = "Microsoft Graph is out of the scope of this service: users, groups and applications are those of the issuer."
		diagnostics = "Diagnostic settings are out of the scope of this service."
		stacks      = "Deployment stacks are out of the scope of this service."
		links       = "Resource links are out of the scope of this service."
		pim         = "Privileged identity management is out of the scope of this service: assign roles by 'Microsoft.Authorization/roleAssignments'."
		quota       = "Quotas of resource providers are out of the scope of this service."
		permissions = "Permissions of resource providers are out of the scope of this service."
		zones       = "Peers of availability zones are out of the scope of this service."
		aliases     = "The creation, renaming and cancellation of subscriptions are out of the scope of this service: its operators do that."
		metrics     = "Metrics are out of the scope of this service."
		alerts      = "Alert rules, and what they call, are out of the scope of this service."

		group   = S + "/resourceGroups/none"
		vm      = group + "/providers/Contoso.Compute/virtualMachines/n"
		mg      = "/providers/Microsoft.Management/managementGroups/mg"
		fromAz  = `{"properties": {"mode": "Incremental", template:{"resources": []}}}`
		deploys = "/providers/Microsoft.Resources/deployments/d"
	)
	var rows []row
	for _, of := range []struct{ sentence, method, target string }{
		{elsewhere, "PUT", deploys},
		{elsewhere, "HEAD", vm + deploys},
		{scripts, "PUT", group + "/providers/Microsoft.Resources/deploymentScripts/s"},
		{specs, "PUT", group + "/providers/Microsoft.Resources/templateSpecs/s/versions/1"},
		{export, "POST", strings.ToUpper(group) + "/EXPORTTEMPLATE"},
		{policies, "PUT", vm + "/providers/Microsoft.Authorization/policyAssignments/a"},
		{policies, "GET", S + "/providers/Microsoft.Authorization/policySetDefinitions"},
		{policies, "GET", "/providers/Microsoft.Authorization/dataPolicyManifests/m"},
		{policies, "POST", S + "/providers/Microsoft.PolicyInsights/policyStates/latest/queryResults"},
		{policies, "POST", S + "/providers/Microsoft.PolicyInsights/register"},
		{management, "PUT", mg},
		{management, "GET", "/providers/Microsoft.Management"},
		{management, "PUT", mg + deploys},
		{management, "PUT", mg + "/providers/Microsoft.Authorization/roleAssignments/00000000-0000-0000-0000-0000000000c1"},
		{management, "POST", "/providers/Microsoft.Management/getEntities"},
		{graph, "POST", "/providers/Microsoft.ResourceGraph/resources"},
		{users, "GET", "/v1.0/users"},
		{users, "POST", "/beta/directoryObjects/getByIds"},
		{users, "PUT", group + "/providers/Microsoft.Graph/groups/g"},
		{diagnostics, "PUT", vm + "/providers/Microsoft.Insights/diagnosticSettings/d"},
		{diagnostics, "GET", vm + "/providers/microsoft.insights/diagnosticSettingsCategories"},
		{stacks, "PUT", S + "/providers/Microsoft.Resources/deploymentStacks/s"},
		{stacks, "POST", group + "/providers/Microsoft.Resources/deploymentStacks/s/validate"},
		{stacks, "PUT", group + "/providers/Microsoft.Resources/deploymentStacksWhatIfResults/s"},
		{links, "PUT", vm + "/providers/Microsoft.Resources/links/l"},
		{links, "GET", S + "/providers/microsoft.resources/links"},
		{pim, "GET", "/providers/Microsoft.Authorization/roleEligibilitySchedules"},
		{pim, "PUT", vm + "/providers/Microsoft.Authorization/roleEligibilityScheduleRequests/r"},
		{pim, "POST", group + "/providers/Microsoft.Authorization/roleAssignmentScheduleRequests/r/cancel"},
		{pim, "GET", S + "/providers/Microsoft.Authorization/roleAssignmentScheduleInstances"},
		{pim, "PATCH", S + "/providers/Microsoft.Authorization/roleManagementPolicies/p"},
		{pim, "GET", S + "/providers/Microsoft.Authorization/eligibleChildResources"},
		{quota, "PATCH", S + "/providers/Contoso.Compute/locations/westus/providers/Microsoft.Quota/quotas/cores"},
		{quota, "GET", "/providers/Microsoft.Quota/operations"},
		{quota, "GET", S + "/providers/Microsoft.Capacity/resourceProviders/Contoso.Compute/locations/westus/serviceLimits"},
		{permissions, "GET", S + "/providers/Contoso.Compute/providerPermissions"},
		{permissions, "GET", S + "/providers/Microsoft.Resources/PROVIDERPERMISSIONS"},
		{zones, "POST", S + "/providers/Microsoft.Resources/checkZonePeers/"},
		{aliases, "PUT", "/providers/Microsoft.Subscription/aliases/a"},
		{aliases, "DELETE", "/providers/Microsoft.Subscription/aliases/a"},
		{aliases, "POST", S + "/providers/Microsoft.Subscription/rename"},
		{metrics, "GET", vm + "/providers/microsoft.insights/metrics"},
		{metrics, "POST", S + "/providers/Microsoft.Insights/metrics"},
		{metrics, "GET", vm + "/providers/Microsoft.Insights/metricDefinitions"},
		{alerts, "PUT", group + "/providers/Microsoft.Insights/metricAlerts/a"},
		{alerts, "GET", S + "/providers/Microsoft.Insights/alertRules"},
		{alerts, "PATCH", group + "/providers/Microsoft.Insights/scheduledQueryRules/a"},
		{alerts, "DELETE", group + "/providers/Microsoft.Insights/activityLogAlerts/a"},
		{alerts, "GET", vm + "/providers/Microsoft.AlertsManagement/alerts"},
	} {
		m := message{method: of.method, target: of.target + "?" + V, body: fromAz}
		expected := want{status: 400, code: "ResourceTypeNotSupported", text: of.sentence, about: "resourceType"}
		switch of.method {
		case "HEAD":
			m.body, expected = "", want{status: 400}
		case "GET", "DELETE":
			m.body = ""
		}
		rows = append(rows, row{of.method + " " + of.target, m, expected})
	}
	noVersion := message{method: "PUT", target: deploys, body: fromAz}
	rows = append(rows,
		row{"without an api-version", noVersion, want{status: 400, code: "ResourceTypeNotSupported", text: elsewhere}},
		row{"a type that only begins so in another namespace", message{target: S + "/providers/Microsoft.ManagementPartner/partners?" + V}, want{status: 404, code: "InvalidResourceNamespace"}},
		row{"a type of the activity log's namespace", message{target: S + "/providers/Microsoft.Insights/components?" + V}, want{status: 404, code: "InvalidResourceNamespace"}},
	)
	w.table(t, rows)
}

// guid is the form of all ids that the gateway makes.
var guid = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

var routing = regexp.MustCompile(`^WESTUS:\d{8}T\d{6}Z:([0-9a-f-]{36})$`)

// ownAnswer checks the headers of the gateway's own answers.
func ownAnswer(t *testing.T, got reply) {
	t.Helper()
	for name, value := range map[string]string{
		"Cache-Control":          "no-cache",
		"Pragma":                 "no-cache",
		"Expires":                "-1",
		"X-Content-Type-Options": "nosniff",
		// The public address uses HTTPS.
		"Strict-Transport-Security": "max-age=31536000; includeSubDomains",
	} {
		if values := got.header.Values(name); len(values) != 1 || values[0] != value {
			t.Errorf("%s: %q, want %q", name, values, value)
		}
	}
	for _, name := range []string{"Server", "X-Powered-By"} {
		if values := got.header.Values(name); len(values) != 0 {
			t.Errorf("%s: %q, want none", name, values)
		}
	}
	ids(t, got)
	if id := got.header.Get("x-ms-request-id"); !guid.MatchString(id) {
		t.Errorf("x-ms-request-id %q is no GUID", id)
	}
}

// ids checks the ids of an answer.
func ids(t *testing.T, got reply) {
	t.Helper()
	for _, name := range []string{"x-ms-request-id", "x-ms-correlation-request-id", "x-ms-routing-request-id", "Date"} {
		if values := got.header.Values(name); len(values) != 1 || values[0] == "" {
			t.Errorf("%s: %q, want one", name, values)
		}
	}
	if id := got.header.Get("x-ms-correlation-request-id"); !guid.MatchString(strings.ToLower(id)) {
		t.Errorf("x-ms-correlation-request-id %q is no GUID", id)
	}
	if id := routing.FindStringSubmatch(got.header.Get("x-ms-routing-request-id")); len(id) != 2 || !guid.MatchString(id[1]) {
		t.Errorf("x-ms-routing-request-id %q has not the form REGION:yyyyMMddTHHmmssZ:guid", got.header.Get("x-ms-routing-request-id"))
	}
}

func testOwnAnswers(t *testing.T, w *world) {
	const q = "?" + V
	g := w.group(t, "own")
	vm := w.machine(t, g, "n", "westus")
	own := func(t *testing.T, got reply, _ []received) {
		t.Helper()
		ownAnswer(t, got)
		if values := got.header.Values("x-ms-failure-cause"); (got.status >= 400) != (len(values) == 1) {
			t.Errorf("x-ms-failure-cause: %q on a %d", values, got.status)
		}
		switch kind := got.header.Get("Content-Type"); {
		case len(got.body) > 0 && kind != "application/json; charset=utf-8":
			t.Errorf("Content-Type: %q", kind)
		case len(got.body) > 0 && got.header.Get("Content-Length") == "":
			t.Error("no Content-Length")
		case got.status == 204 && (kind != "" || len(got.body) != 0):
			t.Errorf("a 204 with a body or its type: %s", got)
		}
		// On the gateway's own answers the three ids are equal.
		id := got.header.Get("x-ms-request-id")
		if c := got.header.Get("x-ms-correlation-request-id"); c != id {
			t.Errorf("x-ms-request-id %q, x-ms-correlation-request-id %q", id, c)
		}
		if r := got.header.Get("x-ms-routing-request-id"); !strings.HasSuffix(r, ":"+id) {
			t.Errorf("x-ms-request-id %q, x-ms-routing-request-id %q", id, r)
		}
	}
	w.table(t, []row{
		{"200", message{target: g + q}, want{status: 200, check: own}},
		{"200, put", message{method: "PUT", target: g + q, body: located("westus")}, want{status: 200, check: own}},
		{"201", message{method: "PUT", target: S + "/resourceGroups/own-new" + q, body: located("westus")}, want{status: 201, check: own}},
		{"204", message{method: "HEAD", target: g + q}, want{status: 204, check: own}},
		{"HEAD 404", message{method: "HEAD", target: S + "/resourceGroups/own-absent" + q}, want{status: 404, code: "ResourceGroupNotFound", check: func(t *testing.T, got reply, x []received) {
			own(t, got, x)
			// The headers equal those of the error of a GET.
			same := w.send(t, message{target: S + "/resourceGroups/own-absent" + q})
			for _, name := range []string{"Content-Type", "Content-Length"} {
				if v := got.header.Get(name); v == "" || v != same.header.Get(name) {
					t.Errorf("%s: %q, of a GET %q", name, v, same.header.Get(name))
				}
			}
		}}},
		{"list", message{target: S + "/resourceGroups" + q}, want{status: 200, check: own}},
		{"metadata", message{target: "/metadata/endpoints?api-version=2022-09-01"}, want{status: 200, check: own}},
		{"400", message{target: g}, want{status: 400, code: "MissingApiVersionParameter", check: own}},
		{"404", message{target: S + "/resourceGroups/own-absent" + q}, want{status: 404, code: "ResourceGroupNotFound", check: own}},
		{"404 of a resource", message{target: g + "/providers/Contoso.Compute/virtualMachines/absent" + q}, want{status: 404, code: "ResourceNotFound", check: own}},
		{"405", message{method: "POST", target: g + q}, want{status: 405, code: "MethodNotAllowed", check: own}},
		{"409", message{method: "PUT", target: g + q, body: located("eastus")}, want{status: 409, code: "InvalidResourceGroupLocation", check: own}},
		{"413", message{method: "PUT", target: g + q, body: sized(4<<20 + 1)}, want{status: 413, code: "RequestContentTooLarge", check: own}},
		{"415", message{method: "PUT", target: g + q, header: []string{"Content-Type: text/plain"}, body: "{}"}, want{status: 415, code: "UnsupportedMediaType", check: own}},
		{"421", message{target: g + q, host: "evil.example"}, want{status: 421, code: "MisdirectedRequest", check: own}},
		{"403", message{target: g + q, header: []string{"Origin: https://evil.example"}}, want{status: 403, code: "Forbidden", check: own}},

		{"a provider's answer", message{target: vm + q}, want{status: 200, reaches: "westus", check: func(t *testing.T, got reply, reached []received) {
			ids(t, got)
			if got.header.Get("x-ms-failure-cause") != "" {
				t.Errorf("x-ms-failure-cause on a good answer: %s", got)
			}
			routed := got.header.Get("x-ms-routing-request-id")
			if id := got.header.Get("x-ms-request-id"); strings.HasSuffix(routed, id) {
				t.Errorf("the provider's own x-ms-request-id %q was lost", id)
			}
			if len(reached) == 1 && reached[0].header.Get("x-ms-routing-request-id") != routed {
				t.Errorf("the provider got routing id %q, the client %q", reached[0].header.Get("x-ms-routing-request-id"), routed)
			}
			if got.header.Get("X-Content-Type-Options") != "nosniff" || got.header.Get("Cache-Control") != "no-cache" ||
				got.header.Get("Strict-Transport-Security") != "max-age=31536000; includeSubDomains" {
				t.Errorf("nosniff, no-cache and HSTS are added to a provider's answer: %s", got)
			}
		}}},
		{"a provider's error", message{method: "POST", target: vm + "/unknownAction" + q}, want{status: 404, reaches: "westus", check: func(t *testing.T, got reply, _ []received) {
			ids(t, got)
			if cause := got.header.Get("x-ms-failure-cause"); cause != "service" {
				t.Errorf("x-ms-failure-cause %q, want service", cause)
			}
		}}},
	})

	t.Run("every answer has a routing id of its own", func(t *testing.T) {
		seen := map[string]bool{}
		for range 20 {
			id := w.send(t, message{target: g + q}).header.Get("x-ms-routing-request-id")
			if seen[id] {
				t.Errorf("%s twice", id)
			}
			seen[id] = true
		}
	})
}
