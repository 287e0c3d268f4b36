package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"portico/internal/failpoint"
	"portico/test/harness"
)

// unregistered is a template of a machine, of what is only read, and of two modules in group
// far of the subscription %[1]s: one's workspaces are known once the machine is there, the
// other's machine is then left out.
const unregistered = `{` + templateSchema + `, "languageVersion": "2.0",
  "resources": {
    "a": {"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "a", "location": "westus", "properties": {"count": 1, "make": false}},
    "e": {"existing": true, "type": "Contoso.Insight/workspaces", "apiVersion": "2024-01-01", "name": "none"},
    "late": {"type": "Microsoft.Resources/deployments", "apiVersion": "2022-09-01", "name": "late", "subscriptionId": "%[1]s", "resourceGroup": "far",
      "properties": {"mode": "Incremental", "expressionEvaluationOptions": {"scope": "inner"}, "parameters": {"count": {"value": "[reference('a').count]"}},
        "template": {` + templateSchema + `, "parameters": {"count": {"type": "int"}}, "resources": [
          {"type": "Contoso.Insight/workspaces", "apiVersion": "2024-01-01", "name": "[format('w{0}', copyIndex())]", "location": "westus", "tags": {"in": "[subscription().displayName]"}, "properties": {}, "copy": {"name": "all", "count": "[parameters('count')]"}}]}}},
    "never": {"type": "Microsoft.Resources/deployments", "apiVersion": "2022-09-01", "name": "never", "subscriptionId": "%[1]s", "resourceGroup": "far",
      "properties": {"mode": "Incremental", "expressionEvaluationOptions": {"scope": "inner"}, "parameters": {"make": {"value": "[reference('a').make]"}},
        "template": {` + templateSchema + `, "parameters": {"make": {"type": "bool"}}, "resources": [
          {"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "m", "location": "westus", "condition": "[parameters('make')]", "properties": {}}]}}}
  }}`

// registering returns a world whose namespaces have to be registered, with two subscriptions.
// Dora may deploy everything, and register nothing.
func registering(t *testing.T) *harness.World {
	t.Helper()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{
		Extra: batchSettings, ComputeRegistration: "required", InsightRegistration: "required", Tokens: []harness.Token{alice, dora}, Owners: []string{alice.ObjectID},
		Subscriptions: []harness.Subscription{{ID: harness.SubscriptionID, TenantID: harness.TenantID, DisplayName: "Near"}, {ID: farSubscription, TenantID: harness.TenantID, DisplayName: "Far"}},
	}})
	const deploying = "00000000-0000-0000-0000-0000000000f1"
	w.Portico.Do(t, harness.Request{
		Method: http.MethodPut, Path: w.SubscriptionPath() + "/providers/Microsoft.Authorization/roleDefinitions/" + deploying + "?api-version=2022-04-01",
		Body: `{"properties":{"roleName":"Deployer","assignableScopes":["` + w.SubscriptionPath() + `"],"permissions":[{"actions":["Microsoft.Resources/*","Contoso.Compute/virtualMachines/*","Contoso.Insight/workspaces/*"]}]}}`,
	}).Want(t, 201)
	role(t, w.Portico, w.SubscriptionPath(), "00000000-0000-0000-0000-00000000d0a1", deploying)
	w.PutGroup(t, "rg")
	for _, in := range []string{harness.SubscriptionID, farSubscription} {
		w.Portico.Do(t, harness.Request{Method: http.MethodPut, Path: "/subscriptions/" + in + "/resourceGroups/far?api-version=2021-04-01", Body: `{"location":"westus"}`}).Want(t, 201)
	}
	return w
}

// registrationsOf are the states of Compute and Insight, near and far.
func registrationsOf(t *testing.T, w *harness.World) (states []string) {
	t.Helper()
	for _, subscription := range []string{harness.SubscriptionID, farSubscription} {
		for _, namespace := range []string{"Contoso.Compute", "Contoso.Insight"} {
			var p struct{ RegistrationState string }
			a := w.Portico.Do(t, harness.Request{Path: "/subscriptions/" + subscription + "/providers/" + namespace + "?api-version=2021-04-01"}).Want(t, 200)
			harness.OK(t, json.Unmarshal(a.Body, &p))
			states = append(states, p.RegistrationState)
		}
	}
	return states
}

// A template registers the namespaces of what it sends, in each subscription, before its
// providers get anything; as its caller, whose event that is; once.
func TestTemplatesRegisterTheirNamespaces(t *testing.T) {
	t.Parallel()
	w := registering(t)
	body := content(t, fmt.Sprintf(unregistered, farSubscription), nil)
	for _, action := range []string{"validate", "whatIf"} {
		w.Portico.Do(t, harness.Request{Method: http.MethodPost, Path: deploymentPath(w, "d") + "/" + action + "?api-version=2021-04-01", Body: body}).Want(t, 200)
	}
	if got := registrationsOf(t, w); slices.ContainsFunc(got, func(s string) bool { return s != "NotRegistered" }) {
		t.Errorf("a rehearsal registers: %q", got)
	}
	for range 2 {
		if end, d := deployed(t, w, w.Portico, "d", putAs(t, w, alice, "d", body)); end != "Succeeded" {
			t.Fatalf("%s", d.Properties.Error)
		}
		if got, want := registrationsOf(t, w), []string{"Registered", "NotRegistered", "NotRegistered", "Registered"}; !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	late := w.Portico.Do(t, harness.Request{Path: "/subscriptions/" + farSubscription + "/resourceGroups/far/providers/Contoso.Insight/workspaces/w0?api-version=" + harness.Version}).Want(t, 200)
	if !strings.Contains(string(late.Body), `"in":"Far"`) {
		t.Errorf("what is unfolded late is of %s", late.Body)
	}
	for subscription, namespace := range map[string]string{harness.SubscriptionID: "Contoso.Compute", farSubscription: "Contoso.Insight"} {
		var registered []string
		for _, line := range words(storyIn(t, w, alice, subscription, "")) {
			if strings.Contains(line, "register/action") {
				registered = append(registered, line)
			}
		}
		want := []string{namespace + "/register/action Accepted by " + alice.Name, namespace + "/register/action Succeeded by " + alice.Name} // as a client's own
		if !slices.Equal(registered, want) {
			t.Errorf("%q, want %q", registered, want)
		}
		wantNoticeFirst(t, w, subscription)
	}
}

// wantNoticeFirst checks that a provider knew of a subscription when it got its first request.
func wantNoticeFirst(t *testing.T, w *harness.World, subscription string) {
	t.Helper()
	journal, requests := w.Contoso("westus").Notifications(t)[subscription].Journal, w.Contoso("westus").Requests(t)
	first := slices.IndexFunc(requests, func(r harness.Received) bool { return strings.HasPrefix(r.Path, "/subscriptions/"+subscription+"/") })
	if len(journal) == 0 || first < 0 || requests[first].Time.Before(journal[0].Time) {
		t.Errorf("the provider is notified of %s by %+v, and gets %+v", subscription, journal, requests)
	}
}

// putAs begins a deployment on behalf of a caller, and returns where its status is.
func putAs(t *testing.T, w *harness.World, by harness.Token, name, body string) string {
	t.Helper()
	a := w.Portico.Do(t, harness.Request{Method: http.MethodPut, Path: deploymentPath(w, name) + "?api-version=2021-04-01", Body: body, Header: bearer(by.Raw)}).Want(t, 200, 201)
	return pollOf(t, a, "Azure-AsyncOperation").RequestURI()
}

// Who may not register is refused for that, by the name of the namespace: at once if it is
// known then, else by the step that needs it.
func TestTemplatesThatMayNotRegister(t *testing.T) {
	t.Parallel()
	w := registering(t)
	body := content(t, fmt.Sprintf(unregistered, harness.SubscriptionID), nil)
	asDora := func(method, action string) harness.Answer {
		return w.Portico.Do(t, harness.Request{Method: method, Path: deploymentPath(w, "d") + action + "?api-version=2021-04-01", Body: body, Header: bearer(dora.Raw)})
	}
	for _, c := range [][2]string{{"PUT", ""}, {"POST", "/validate"}, {"POST", "/whatIf"}} {
		var refused struct {
			Error struct {
				Details []struct{ Code, Message, Target string }
			}
		}
		harness.OK(t, json.Unmarshal(asDora(c[0], c[1]).WantError(t, 400, "InvalidTemplateDeployment").Body, &refused))
		if d := refused.Error.Details; len(d) != 1 || d[0].Code != "AuthorizationFailed" || d[0].Target != w.SubscriptionPath()+"/providers/Contoso.Compute" ||
			!strings.Contains(d[0].Message, "'Contoso.Compute/register/action' over scope '"+w.SubscriptionPath()+"'") {
			t.Errorf("%v: %+v", c, d)
		}
	}
	asDora("GET", "").Want(t, 404)
	if got := registrationsOf(t, w); slices.ContainsFunc(got, func(s string) bool { return s != "NotRegistered" }) {
		t.Errorf("%q", got)
	}
	w.Portico.Do(t, harness.Request{Method: http.MethodPost, Path: w.SubscriptionPath() + "/providers/Contoso.Compute/register?api-version=2021-04-01"}).Want(t, 200)
	asDora("PUT", "").Want(t, 201)
	d := endedDeployment(t, w, "d")
	if fault := string(d.Properties.Error); d.Properties.ProvisioningState != "Failed" || !strings.Contains(fault, "AuthorizationFailed") || !strings.Contains(fault, "'Contoso.Insight/register/action'") {
		t.Errorf("%s: %s", d.Properties.ProvisioningState, fault)
	}
	wantOperations(t, w, "far", "late", "workspaces w0: Failed")
	w.Portico.Do(t, harness.Request{Method: http.MethodPost, Path: w.SubscriptionPath() + "/providers/Contoso.Insight/register?api-version=2021-04-01"}).Want(t, 200)
	asDora("PUT", "").Want(t, 200)
	if d := endedDeployment(t, w, "d"); d.Properties.ProvisioningState != "Succeeded" {
		t.Errorf("%s", d.Properties.Error)
	}
}

// Whoever takes a deployment over goes on for the same caller, and registers nothing anew.
func TestContextOutlivesAGateway(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Failpoints: true, Extra: batchSettings, ComputeRegistration: "required", Tokens: []harness.Token{alice}}})
	w.PutGroup(t, "rg")
	for name, point := range map[string]failpoint.Point{"before": failpoint.DeployBeginBefore, "after": failpoint.DeploySettleAfter} {
		w.Portico.SetPoint(t, point, "kill,once")
		killDeployment(t, w, name, content(t, `{`+templateSchema+`, "resources": [
			{"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "`+name+`", "location": "westus", "properties": {}},
			{"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "behind-`+name+`", "location": "westus", "dependsOn": ["`+name+`"],
				"tags": {"by": "[deployer().objectId]", "in": "[subscription().displayName]", "at": "[environment().name]"}, "properties": {}}]}`, nil))
		w.Portico.Restart(t)
		if end, d := endOf(t, w, name); end != "Succeeded" {
			t.Fatalf("%s: %s", name, d.Properties.Error)
		}
		a := w.Portico.Do(t, harness.Request{Path: w.ResourcePath("rg", "Contoso.Compute/virtualMachines/behind-"+name) + "?api-version=" + harness.Version}).Want(t, 200)
		if want := `"by":"` + alice.ObjectID + `","in":"Demo","at":"Portico test"`; !strings.Contains(string(a.Body), want) {
			t.Errorf("%s is not in %s", want, a.Body)
		}
	}
	if n := strings.Count(strings.Join(words(story(t, w, alice, "")), "\n"), "register/action Accepted"); n != 1 {
		t.Errorf("%d registrations", n)
	}
}
