package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"portico/test/harness"
)

// quotedMachines are refused with what they were sent: at once, by an operation's status and by
// its result, by an action that is sent a secret, and by Portico itself. %[1]s is the region.
const quotedMachines = `{` + templateSchema + `, "parameters": {"word": {"type": "secureString"}, "lacking": {"type": "secureString"}}, "variables": {"made": "[toUpper(parameters('word'))]"}, "resources": [
	{"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "base", "location": "%[1]s", "properties": {"size": "small"}},
	{"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "one", "location": "%[1]s", "properties": {"word": "[parameters('word')]", "made": "[variables('made')]"}},
	{"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "two", "location": "%[1]s", "properties": {"word": "[parameters('word')]", "made": "[variables('made')]"}},
	{"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "three", "location": "%[1]s", "properties": {"word": "[parameters('word')]", "made": "[variables('made')]"}},
	{"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "four", "location": "%[1]s", "dependsOn": ["base"],
		"properties": {"key": "[listKeys(resourceId('Contoso.Compute/virtualMachines', 'base'), '2024-01-01', createObject('word', toUpper(parameters('word')))).keys[0].value]"}},
	{"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "five", "location": "[parameters('lacking')]", "properties": {"made": "[variables('made')]"}}]}`

// lateWord is a secret parameter, lacking another one that Portico refuses as a location.
const lateWord, lacking = "a-s3cret w0rd", "no-s3cret-place"

// What a step's request leaves elsewhere than in its deployment tells none of its secrets: in the
// activity log, for operators, in webhooks, and in the log. The activity log still says what has
// failed.
func TestSecretsOfStepsAreInNoOtherRecord(t *testing.T) {
	t.Parallel()
	postgres := harness.StartPostgres(t)
	for _, database := range []string{"", postgres.CreateDatabase(t, "secrets")} {
		hook := newHook(t)
		w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Postgres: database, Extra: batchSettings + "events: {sinks: [" + strings.TrimPrefix(strings.TrimSpace(hook.sink("all", "")), "- ") + "]}\n"}})
		w.PutGroup(t, "rg")
		p := w.Portico
		for name, fault := range map[string]string{"one": "refuse=400", "two": "refuse=400,0,azure-async", "three": "refuse=400,0,accepted"} {
			misbehave(t, w, "PUT", "/virtualMachines/"+name, fault, -1)
		}
		misbehave(t, w, "POST", "/listKeys", "refuse=403", -1)
		body := content(t, fmt.Sprintf(quotedMachines, harness.RegionNames()[0]), map[string]any{"word": lateWord, "lacking": lacking})
		body = strings.Replace(body, `"properties":{`, `"properties":{"validationLevel":"Template",`, 1)
		end, d := deployed(t, w, p, "d", putDeployment(t, w, p, "d", body, 201))
		var fault wholeError
		harness.OK(t, json.Unmarshal(d.Properties.Error, &fault))
		if end != "Failed" || len(fault.Details) != 5 {
			t.Fatalf("%s: %s", end, d.Properties.Error)
		}
		secrets := []string{lateWord, strings.ToUpper(lateWord), lacking}
		wantNoSecretAnswered(t, w, p, "d", body, secrets...)
		failed := map[string]bool{}
		eventually(t, "the events of the failures", func() (string, bool) {
			for _, e := range story(t, w, alice, "") {
				if message := e.Properties["statusMessage"]; message != "" {
					failed[e.ResourceID[strings.LastIndexByte(e.ResourceID, '/')+1:]] = true
					wantNoSecret(t, "the activity log of "+e.ResourceID, message, secrets...)
				}
			}
			return fmt.Sprint(failed), failed["one"] && failed["two"] && failed["base"]
		})
		log := p.Do(t, harness.Request{Path: w.SubscriptionPath() + "/providers/Microsoft.Insights/eventtypes/management/values?api-version=2015-04-01&$top=1000"}).Want(t, 200)
		wantNoSecret(t, "the activity log", string(log.Body), secrets...)
		if !strings.Contains(string(log.Body), "ContosoRefusal") {
			t.Errorf("the activity log does not say what has failed: %s", log.Body)
		}
		wantNoSecretShown(t, w, p, secrets...)
		for _, e := range hook.got() {
			wantNoSecret(t, "a webhook", fmt.Sprint(e), secrets...)
		}
		if database == "" {
			wantNoSecretKept(t, p, secrets...)
		} else {
			wantNoSecret(t, "the log", p.Logs(), secrets...)
		}
	}
}

// keyMachines give c a key of a's by way of b, so that nothing in c's body says that it is one.
// %[1]s is the region.
const keyMachines = `{` + templateSchema + `, "resources": [
	{"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "a", "location": "%[1]s", "properties": {"size": "small"}},
	{"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "b", "location": "%[1]s", "dependsOn": ["a"],
		"properties": {"of": "[listKeys(resourceId('Contoso.Compute/virtualMachines', 'a'), '2024-01-01').keys[0].value]"}},
	{"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "c", "location": "%[1]s", "dependsOn": ["b"],
		"properties": {"of": "[reference(resourceId('Contoso.Compute/virtualMachines', 'b')).of]"}}]}`

// A key that one step got is hidden in the failure of another one, also by a process that has never
// seen the key.
func TestKeysOfStepsAreHiddenAfterARestart(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: batchSettings}})
	w.PutGroup(t, "rg")
	p := w.Portico
	misbehave(t, w, "PUT", "/virtualMachines/c", "refuse=400,0,azure-async", -1)
	misbehave(t, w, "GET", "/operationStatuses/", "status=503", -1)
	poll := putDeployment(t, w, p, "d", content(t, fmt.Sprintf(keyMachines, harness.RegionNames()[0]), nil), 201)
	machine := w.ResourcePath("rg", "Contoso.Compute/virtualMachines/a")
	eventually(t, "the last step is under way", func() (string, bool) {
		a := p.Do(t, harness.Request{Path: deploymentPath(w, "d") + "/operations?api-version=2021-04-01"}).Want(t, 200)
		return string(a.Body), strings.Contains(string(a.Body), "virtualMachines/c")
	})
	var keys struct{ Keys []struct{ Value string } }
	harness.OK(t, json.Unmarshal(p.Do(t, harness.Request{Method: http.MethodPost, Path: machine + "/listKeys?api-version=" + harness.Version, Body: "{}"}).Want(t, 200).Body, &keys))
	eventually(t, "the last step is accepted", func() (string, bool) {
		a := p.Do(t, harness.Request{Path: w.SubscriptionPath() + "/providers/Microsoft.Insights/eventtypes/management/values?api-version=2015-04-01&$top=1000"}).Want(t, 200)
		return string(a.Body), strings.Contains(string(a.Body), "Accepted")
	})
	p.Kill(t)
	behave(t, w)
	p.Restart(t)
	end, d := deployed(t, w, p, "d", poll)
	var fault wholeError
	harness.OK(t, json.Unmarshal(d.Properties.Error, &fault))
	if end != "Failed" || len(fault.Details) != 1 {
		t.Fatalf("%s: %s", end, d.Properties.Error)
	}
	wantWhole(t, "the detail", fault.Details[0])
	secret := keys.Keys[0].Value
	wantNoSecret(t, "the deployment", string(d.Properties.Error), secret)
	wantNoSecret(t, "the operations", string(p.Do(t, harness.Request{Path: deploymentPath(w, "d") + "/operations?api-version=2021-04-01"}).Want(t, 200).Body), secret)
	wantNoSecretKept(t, p, secret)
}

// Who guesses what another caller's deployment has sent of secrets learns nothing by a what-if; the
// caller who sent them sees whether they change.
func TestWhatIfTellsNoGuessOfAnothersSecret(t *testing.T) {
	t.Parallel()
	postgres := harness.StartPostgres(t)
	for _, database := range []string{"", postgres.CreateDatabase(t, "guesses")} {
		w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Postgres: database, Extra: batchSettings, Tokens: []harness.Token{alice, dora}, Owners: []string{alice.ObjectID, dora.ObjectID}}})
		w.PutGroup(t, "rg")
		p := w.Portico
		of := func(word, key string) string {
			return content(t, fmt.Sprintf(`{`+templateSchema+`, "parameters": {"word": {"type": "secureString"}, "keys": {"type": "secureObject"}}, "resources": [
				{"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "a", "location": "%s",
					"properties": {"size": "small", "adminPassword": "[parameters('word')]", "keys": "[parameters('keys')]", "list": [{"name": "x", "value": "[parameters('word')]"}]}}]}`,
				harness.RegionNames()[0]), map[string]any{"word": word, "keys": map[string]any{"key": key}})
		}
		if end, d := deployed(t, w, p, "d", putDeployment(t, w, p, "d", of(hiddenWord, "a-hidden-key"), 201)); end != "Succeeded" {
			t.Fatalf("%s", d.Properties.Error)
		}
		ask := func(by harness.Token, body string) string {
			t.Helper()
			a := p.Do(t, harness.Request{Method: http.MethodPost, Path: deploymentPath(w, "d") + "/whatIf?api-version=2021-04-01", Body: body, Header: harness.Header("Authorization", "Bearer "+by.Raw)}).Want(t, 200)
			var answer struct {
				Properties struct{ Changes json.RawMessage }
			}
			harness.OK(t, json.Unmarshal(a.Body, &answer))
			if strings.Contains(string(a.Body), "digest") {
				t.Errorf("it shows a digest: %s", a.Body)
			}
			return string(answer.Properties.Changes)
		}
		right, wrong := of(hiddenWord, "a-hidden-key"), of("another-guess", "another-key")
		if got := ask(alice, right); !strings.Contains(got, `"NoChange"`) {
			t.Errorf("to who sent them, the same: %s", got)
		}
		if got := ask(alice, wrong); !strings.Contains(got, `"Modify"`) {
			t.Errorf("to who sent them, others: %s", got)
		}
		if yes, no := ask(dora, right), ask(dora, wrong); yes != no || !strings.Contains(yes, `"NoChange"`) {
			t.Errorf("a right guess:\n%s\na wrong one:\n%s", yes, no)
		}
	}
}

// A refusal of a template tells none of the secrets that it was given, nor what its expressions
// made of them: wherever in the template they stand, for all who work it out.
func TestRefusedTemplatesTellNoSecret(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: batchSettings}})
	w.PutGroup(t, "rg")
	p := w.Portico
	machine := func(members string) string {
		return `"resources": [{"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "a", "location": "` + harness.RegionNames()[0] + `", ` + members + `}]`
	}
	resource := func(members string) string {
		return `"resources": [{"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "location": "` + harness.RegionNames()[0] + `", ` + members + `}]`
	}
	refused := map[string]string{}
	for _, of := range []string{"parameters('word')", "toUpper(parameters('word'))", "variables('made')", "base64(parameters('word'))"} {
		for where, rest := range map[string]string{
			"function":      machine(`"properties": {"x": "[lambdaVariables(` + of + `)]"}`),
			"number":        machine(`"properties": {"x": "[int(` + of + `)]"}`),
			"variable":      machine(`"properties": {"x": "[variables(` + of + `)]"}`),
			"parameter":     machine(`"properties": {"x": "[parameters(` + of + `)]"}`),
			"loop's index":  machine(`"properties": {"x": "[copyIndex(` + of + `)]"}`),
			"dependency":    machine(`"dependsOn": ["[` + of + `]"]`),
			"reference":     machine(`"properties": {"x": "[reference(` + of + `).x]"}`),
			"name":          resource(`"name": "[concat(` + of + `, '/', ` + of + `)]"`),
			"type":          `"resources": [{"type": "[` + of + `]", "apiVersion": "2024-01-01", "name": "a"}]`,
			"scope":         machine(`"scope": "[` + of + `]"`),
			"condition":     machine(`"condition": "[` + of + `]"`),
			"location":      resource(`"name": "a", "location": "[` + of + `]"`),
			"api-version":   `"resources": [{"type": "Contoso.Compute/virtualMachines", "apiVersion": "[` + of + `]", "name": "a", "location": "westus"}]`,
			"asked version": machine(`"properties": {"x": "[listKeys(resourceId('Contoso.Compute/virtualMachines', 'b'), ` + of + `).keys[0].value]"}`),
			"loop":          machine(`"copy": {"name": "l", "count": "[` + of + `]"}`),
			"subscription":  `"resources": [{"type": "Microsoft.Resources/deployments", "apiVersion": "2022-09-01", "name": "n", "subscriptionId": "[` + of + `]", "properties": {"mode": "Incremental", "template": {` + templateSchema + `, "resources": []}}}]`,
			"nested":        `"resources": [{"type": "Microsoft.Resources/deployments", "apiVersion": "2022-09-01", "name": "n", "properties": {"mode": "Incremental", "expressionEvaluationOptions": {"scope": "inner"}, "parameters": {"x": {"value": "[` + of + `]"}}, "template": {` + templateSchema + `, "parameters": {"x": {"type": "string"}}, "resources": [], "outputs": {"o": {"type": "string", "value": "[variables(parameters('x'))]"}}}}}]`,
			"output":        `"resources": [], "outputs": {"o": {"type": "int", "value": "[` + of + `]"}}`,
			"needed answer": machine(`"copy": {"name": "l", "count": "[length(listKeys('/subscriptions/x', '1', createObject('x', ` + of + `)).keys)]"}`),
		} {
			refused[where+" of "+of] = content(t, `{`+templateSchema+`, "parameters": {"word": {"type": "secureString"}}, "variables": {"made": "[concat(toUpper(parameters('word')), '!')]"}, `+rest+`}`,
				map[string]any{"word": lateWord})
		}
	}
	secrets := []string{lateWord, strings.ToUpper(lateWord)}
	refusals := 0
	for name, body := range refused {
		for _, r := range []harness.Request{{Method: http.MethodPut}, {Method: http.MethodPost, Path: "/validate"}, {Method: http.MethodPost, Path: "/whatIf"}} {
			r.Path, r.Body = deploymentPath(w, "d")+r.Path+"?api-version=2021-04-01", body
			a := p.Do(t, r)
			if a.Status >= 500 {
				t.Errorf("%s: %d %s", name, a.Status, a.Body)
			}
			if a.Status >= 400 {
				refusals++
			} else if r.Method == http.MethodPut {
				_, _ = deployed(t, w, p, "d", pollIn(t, a))
			}
			if strings.HasPrefix(name, "name ") && a.Status < 400 {
				continue // the names of resources are shown
			}
			wantNoSecret(t, name+": "+r.Method+" "+r.Path, string(a.Body), secrets...)
		}
	}
	if refusals < len(refused) {
		t.Errorf("%d refusals of %d templates", refusals, len(refused))
	}
	wantNoSecret(t, "the log", p.Logs(), secrets...)
}

// pollOf is where an accepted request is polled.
func pollIn(t *testing.T, a harness.Answer) string {
	t.Helper()
	u, err := url.Parse(a.Header.Get("Azure-AsyncOperation"))
	harness.OK(t, err)
	return u.RequestURI()
}
