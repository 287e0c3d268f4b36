package e2e

import (
	"encoding/json"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"portico/test/harness"
)

// farSubscription is a second one of the tenant.
const farSubscription = "00000000-0000-0000-0000-0000000000b2"

// asked is a template that assigns a role to who deploys it, and outputs what context functions
// return; its module lies in another subscription.
const asked = `{` + templateSchema + `,
  "resources": [
    {"type": "Microsoft.Authorization/roleAssignments", "apiVersion": "2022-04-01", "name": "[guid(resourceGroup().id, deployer().objectId)]",
      "properties": {"principalId": "[deployer().objectId]", "roleDefinitionId": "[subscriptionResourceId('Microsoft.Authorization/roleDefinitions', '` + readerRole + `')]",
        "description": "[format('by {0} in {1}', if(contains(deployer(), 'userPrincipalName'), deployer().userPrincipalName, 'an application'), subscription().displayName)]"}},
    {"type": "Microsoft.Resources/deployments", "apiVersion": "2022-09-01", "name": "there", "subscriptionId": "` + farSubscription + `", "resourceGroup": "far",
      "properties": {"mode": "Incremental", "expressionEvaluationOptions": {"scope": "inner"}, "template": {` + templateSchema + `,
        "resources": [{"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "m", "location": "westus", "tags": {"of": "[subscription().displayName]"}}],
        "outputs": {"name": {"type": "string", "value": "[subscription().displayName]"}}}}}],
  "outputs": {
    "deployer": {"type": "object", "value": "[deployer()]"},
    "subscription": {"type": "object", "value": "[subscription()]"},
    "tenant": {"type": "object", "value": "[tenant()]"},
    "environment": {"type": "object", "value": "[environment()]"},
    "issuer": {"type": "string", "value": "[concat(environment().authentication.loginEndpoint, tenant().tenantId, '/v2.0')]"},
    "id": {"type": "string", "value": "[guid(resourceGroup().id, deployer().objectId)]"},
    "there": {"type": "string", "value": "[reference(resourceId('` + farSubscription + `', 'far', 'Microsoft.Resources/deployments', 'there')).outputs.name.value]"}}}`

// Context functions return the caller's own values, whichever way it signed in, and this
// cloud's addresses; a what-if shows the same.
func TestContextFunctionsOfDeployments(t *testing.T) {
	t.Parallel()
	subscriptions := []harness.Subscription{
		{ID: harness.SubscriptionID, TenantID: harness.TenantID, DisplayName: "Near"}, {ID: farSubscription, TenantID: harness.TenantID, DisplayName: "Far away"},
	}
	issuer := harness.NewIssuer(t)
	signedIn := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{
		TLS: true, Extra: batchSettings, Subscriptions: subscriptions, Tokens: []harness.Token{alice}, Auth: issuer.Auth("", ""),
		Metadata: "  graphEndpoint: https://graph.example/\n  suffixes: {storage: core.example}",
	}})
	open := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: batchSettings, Subscriptions: subscriptions}})
	for name, c := range map[string]struct {
		w           *harness.World
		token       string
		object, upn string
	}{
		"a static token":         {signedIn, alice.Raw, alice.ObjectID, alice.Name},
		"an issuer's user":       {signedIn, issuer.Token(t, "upn", "carol@contoso.example", "scp", "user_impersonation"), harness.IssuedTo, "carol@contoso.example"},
		"a user without a name":  {signedIn, issuer.Token(t, "name", "Carol", "scp", "user_impersonation"), harness.IssuedTo, ""},
		"an issuer's app":        {signedIn, issuer.Token(t, "idtyp", "app"), harness.IssuedTo, ""},
		"without authentication": {open, "", "00000000-0000-0000-0000-00000000a110", "anyone@localhost"},
	} {
		t.Run(name, func(t *testing.T) {
			w, header := c.w, http.Header{}
			if c.token != "" {
				header = harness.Header("Authorization", "Bearer "+c.token)
			}
			group := "g" + strings.ReplaceAll(strings.ReplaceAll(name, " ", "-"), "'", "")
			w.PutGroup(t, group)
			w.Portico.Do(t, harness.Request{Method: http.MethodPut, Path: "/subscriptions/" + farSubscription + "/resourceGroups/far?api-version=2021-04-01", Body: `{"location":"westus"}`})
			do := func(method, action string) harness.Answer {
				t.Helper()
				return w.Portico.Do(t, harness.Request{Method: method, Path: deploymentPath(w, group+"/d") + action + "?api-version=2021-04-01", Body: content(t, asked, nil), Header: header})
			}
			do(http.MethodPost, "/validate").Want(t, 200)
			whatIf := string(do(http.MethodPost, "/whatIf").Want(t, 200).Body)
			do(http.MethodPut, "").Want(t, 201)
			d := endedDeployment(t, w, group+"/d")
			if d.Properties.ProvisioningState != "Succeeded" {
				t.Fatalf("%s", d.Properties.Error)
			}
			who := map[string]any{"objectId": c.object, "tenantId": harness.TenantID}
			by := "an application"
			if c.upn != "" {
				by, who["userPrincipalName"] = c.upn, c.upn
			}
			for output, want := range map[string]any{
				"deployer":     who,
				"tenant":       map[string]any{"id": "/tenants/" + harness.TenantID, "tenantId": harness.TenantID},
				"subscription": map[string]any{"id": "/subscriptions/" + harness.SubscriptionID, "subscriptionId": harness.SubscriptionID, "tenantId": harness.TenantID, "displayName": "Near"},
				"issuer":       "https://login.example/" + harness.TenantID + "/v2.0",
				"there":        "Far away",
			} {
				if got := d.Properties.Outputs[output].Value; !reflect.DeepEqual(got, want) {
					t.Errorf("%s is %v, want %v", output, got, want)
				}
			}
			wantEnvironment(t, w, d.Properties.Outputs["environment"].Value)
			id, _ := d.Properties.Outputs["id"].Value.(string)
			a := w.Portico.Do(t, harness.Request{Path: w.GroupPath(group) + "/providers/Microsoft.Authorization/roleAssignments/" + id + "?api-version=2022-04-01"}).Want(t, 200)
			for _, part := range []string{`"principalId":"` + c.object + `"`, `"description":"by ` + by + ` in Near"`} {
				if !strings.Contains(string(a.Body), part) || !strings.Contains(whatIf, part) {
					t.Errorf("%s is not in %s, or not in %s", part, a.Body, whatIf)
				}
			}
			machine := w.Portico.Do(t, harness.Request{Path: "/subscriptions/" + farSubscription + "/resourceGroups/far/providers/Contoso.Compute/virtualMachines/m?api-version=" + harness.Version}).Want(t, 200)
			if !strings.Contains(string(machine.Body), `"of":"Far away"`) {
				t.Errorf("%s", machine.Body)
			}
		})
	}
}

// endedDeployment waits for the end of a deployment that another caller than the operator may
// have begun.
func endedDeployment(t *testing.T, w *harness.World, name string) deployment {
	t.Helper()
	return eventually(t, "the end of a deployment", func() (d deployment, ended bool) {
		harness.OK(t, json.Unmarshal(w.Portico.Do(t, harness.Request{Path: deploymentPath(w, name) + "?api-version=2021-04-01"}).Want(t, 200).Body, &d))
		return d, d.Properties.ProvisioningState != "Running" && d.Properties.ProvisioningState != "Accepted"
	})
}

// wantEnvironment compares environment() with what clients are told of the cloud.
func wantEnvironment(t *testing.T, w *harness.World, got any) {
	t.Helper()
	of, _ := got.(map[string]any)
	var told map[string]any
	harness.OK(t, json.Unmarshal(w.Portico.Do(t, harness.Request{Path: "/metadata/endpoints?api-version=2022-09-01"}).Want(t, 200).Body, &told))
	slashed := func(in map[string]any, name string) {
		text, _ := in[name].(string)
		in[name] = strings.TrimSuffix(text, "/") + "/"
	}
	slashed(told, "resourceManager")
	login, _ := told["authentication"].(map[string]any)
	slashed(login, "loginEndpoint")
	if graph, has := told["microsoftGraphResourceId"]; has {
		told["graph"] = graph
	}
	if !reflect.DeepEqual(of, told) {
		t.Errorf("environment() is %v, and clients are told %v", of, told)
	}
}

// What a context function cannot know is an error, in each way to ask for a deployment.
func TestWhatContextFunctionsCannotKnow(t *testing.T) {
	t.Parallel()
	issuer := harness.NewIssuer(t)
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{TLS: true, Extra: batchSettings, Tokens: []harness.Token{alice}, Auth: issuer.Auth("", "")}})
	w.PutGroup(t, "rg")
	application := harness.Header("Authorization", "Bearer "+issuer.Token(t, "idtyp", "app"))
	for expression, says := range map[string]string{
		"deployer().userPrincipalName":      "deployer() has no property 'userPrincipalName'",
		"deployer()['userPrincipalName']":   "deployer() has no property 'userPrincipalName'",
		"tenant().displayName":              "tenant() has no property 'displayName'",
		"tenant().countryCode":              "tenant() has no property 'countryCode'",
		"environment().portal":              "environment() has no property 'portal'",
		"environment().suffixes.storage":    "environment().suffixes has no property 'storage'",
		"environment().graph":               "environment() has no property 'graph'",
		"subscription().subscriptionPolicy": "subscription() has no property 'subscriptionPolicy'",
	} {
		text := content(t, `{`+templateSchema+`, "resources": [], "outputs": {"o": {"type": "string", "value": "[`+expression+`]"}}}`, nil)
		for action, method := range map[string]string{"": http.MethodPut, "/validate": http.MethodPost, "/whatIf": http.MethodPost} {
			a := w.Portico.Do(t, harness.Request{Method: method, Path: deploymentPath(w, "d") + action + "?api-version=2021-04-01", Body: text, Header: application}).WantError(t, 400, "InvalidTemplate")
			if !strings.Contains(string(a.Body), says) {
				t.Errorf("%s%s: %s", expression, action, a.Body)
			}
		}
	}
}
