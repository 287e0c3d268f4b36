package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"portico/internal/failpoint"
	"portico/test/harness"
)

// module is a nested deployment as Bicep writes one: by its symbol, with parameters, and what it
// holds beside its parameters.
func module(symbol, more, parameters, holds string) string {
	return fmt.Sprintf(`%q: {"type": "Microsoft.Resources/deployments", "apiVersion": "2025-04-01", %s "properties": {"mode": "Incremental", "expressionEvaluationOptions": {"scope": "inner"},
		"parameters": {%s}, "template": {%s, "languageVersion": "2.0", %s}}}`, symbol, more, parameters, templateSchema, holds)
}

// secureMachine is a machine by its symbol and name, with its properties.
func secureMachine(name, more, properties string) string {
	return fmt.Sprintf(`%q: {"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": %q, "location": "westus", %s "properties": {%s}}`, name, name, more, properties)
}

// secureOutputs is a template whose modules return secrets: those that they were given, what a
// provider lists, and what one answers. late is unfolded once a has answered; so is later, for
// the count, and it is given a secret of late.
func secureOutputs() string {
	const secure = `{"type": "securestring"}`
	given := `"parameters": {"word": ` + secure + `, "count": {"type": "int", "defaultValue": 1}}`
	resources := []string{
		secureMachine("a", "", `"count": 1, "token": "[parameters('token')]"`),
		module("mod", `"name": "mod", "dependsOn": ["a"],`, `"word": {"value": "[parameters('word')]"}`, given+`, "definitions": {"holder": {"type": "object", "properties": {"token": `+secure+`, "next": {"$ref": "#/definitions/holder", "nullable": true}}}}, "resources": {
			"a": {"type": "Contoso.Compute/virtualMachines", "existing": true, "apiVersion": "2024-01-01", "name": "a"}},
			"outputs": {"word": {"type": "securestring", "value": "[parameters('word')]"},
				"key": {"type": "securestring", "value": "[listKeys('a', '2024-01-01').keys[0].value]"},
				"token": {"type": "securestring", "value": "[reference('a').token]"},
				"both": {"type": "object", "properties": {"name": {"type": "string"}, "token": `+secure+`}, "value": {"name": "pair", "token": "[reference('a').token]"}},
				"whole": {"$ref": "#/definitions/holder", "value": "[reference('a')]"},
				"plain": {"type": "string", "value": "nothing-secret"}}`),
		module("loop", `"copy": {"name": "loop", "count": 2}, "name": "[format('loop{0}', copyIndex())]",`, `"word": {"value": "[format('{0}-{1}', parameters('word'), copyIndex())]"}`,
			given+`, "resources": {}, "outputs": {"word": {"type": "securestring", "value": "[parameters('word')]"}}`),
		module("off", `"name": "off", "condition": "[parameters('wanted')]",`, `"word": {"value": "[parameters('word')]"}`,
			given+`, "resources": {}, "outputs": {"word": {"type": "securestring", "value": "[parameters('word')]"}}`),
		module("second", `"name": "second",`, `"word": {"value": "[listOutputsWithSecureValues('mod', '2025-04-01').key]"}`, given+`, "resources": {
			`+secureMachine("inner", "", `"key": "[parameters('word')]"`)+`}, "outputs": {"word": {"type": "securestring", "value": "[parameters('word')]"}}`),
		module("late", `"name": "late",`, `"word": {"value": "[format('{0}-late', parameters('word'))]"}, "count": {"value": "[reference('a').count]"}`, given+`, "resources": {
			`+secureMachine("l", `"copy": {"name": "l", "count": "[parameters('count')]"},`, `"word": "[parameters('word')]"`)+`},
			"outputs": {"word": {"type": "securestring", "value": "[parameters('word')]"},
				"key": {"type": "securestring", "value": "[listKeys(resourceId('Contoso.Compute/virtualMachines', 'a'), '2024-01-01').keys[1].value]"}}`),
		module("later", `"name": "later",`, `"word": {"value": "[listOutputsWithSecureValues('late', '2025-04-01').key]"}, "count": {"value": "[reference('a').count]"}`, given+`, "resources": {
			`+secureMachine("r", `"copy": {"name": "r", "count": "[parameters('count')]"},`, `"key": "[parameters('word')]"`)+`}, "outputs": {"word": {"type": "securestring", "value": "[parameters('word')]"}}`),
		secureMachine("used", "", `"word": "[listOutputsWithSecureValues('mod', '2025-04-01').word]", "key": "[listOutputsWithSecureValues('mod', '2025-04-01').key]",
			"token": "[listOutputsWithSecureValues('mod', '2025-04-01').token]", "part": "[listOutputsWithSecureValues('mod', '2025-04-01').both.token]", "whole": "[listOutputsWithSecureValues('mod', '2025-04-01').whole.token]", "plain": "[listOutputsWithSecureValues('mod', '2025-04-01').plain]",
			"loop": "[listOutputsWithSecureValues(format('loop[{0}]', 1), '2025-04-01').word]", "second": "[listOutputsWithSecureValues('second', '2025-04-01').word]",
			"none": "[tryGet(if(parameters('wanted'), listOutputsWithSecureValues('off', '2025-04-01'), null()), 'word')]",
			"late": "[listOutputsWithSecureValues('late', '2025-04-01').word]", "lateKey": "[listOutputsWithSecureValues('late', '2025-04-01').key]", "later": "[listOutputsWithSecureValues('later', '2025-04-01').word]"`),
	}
	outer := `"outputs": {"word": {"type": "securestring", "value": "[listOutputsWithSecureValues('mod', '2025-04-01').word]"}, "late": {"type": "securestring", "value": "[listOutputsWithSecureValues('late', '2025-04-01').key]"},
		"loose": {"type": "string", "value": "[listOutputsWithSecureValues('mod', '2025-04-01').word]"}, "all": {"type": "secureObject", "value": "[listOutputsWithSecureValues('mod', '2025-04-01')]"}`
	parameters := `"parameters": {"word": ` + secure + `, "token": ` + secure + `, "wanted": {"type": "bool", "defaultValue": false}}`
	outermost := module("outer", `"name": "outer",`, `"word": {"value": "[parameters('word')]"}, "token": {"value": "[parameters('token')]"}`,
		parameters+`, "resources": {`+strings.Join(resources, ",\n")+`}, `+outer+`}`)
	return `{` + templateSchema + `, "languageVersion": "2.0", "parameters": {"word": ` + secure + `, "token": ` + secure + `},
		"resources": {` + outermost + `, ` + secureMachine("behind", "", `"word": "[listOutputsWithSecureValues('outer', '2025-04-01').word]", "late": "[listOutputsWithSecureValues('outer', '2025-04-01').late]"`) + `},
		"outputs": {"word": {"type": "securestring", "value": "[listOutputsWithSecureValues('outer', '2025-04-01').all.word]"}, "plain": {"type": "string", "value": "[listOutputsWithSecureValues('outer', '2025-04-01').all.plain]"}}}`
}

// propertiesOf are a machine's properties as its provider got them.
func propertiesOf(t *testing.T, w *harness.World, name string) (properties map[string]any) {
	t.Helper()
	var machine struct{ Properties map[string]any }
	harness.OK(t, json.Unmarshal([]byte(machineText(t, w, name)), &machine))
	delete(machine.Properties, "provisioningState")
	return machine.Properties
}

// A module's secure outputs get to what uses them, wherever its gateway is killed, and nowhere
// else: into no record, log, event, span or error, also if a provider quotes what it was sent.
func TestSecureOutputsOfModules(t *testing.T) {
	t.Parallel()
	collector := harness.StartCollector(t)
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Failpoints: true, Extra: batchSettings + traced(collector)}})
	w.PutGroup(t, "rg")
	p := w.Portico
	const word, token = `p<w"d/+?é&w1`, "token-of-a-provider"
	body := content(t, secureOutputs(), map[string]any{"word": word, "token": token})
	secrets := []string{word, token}
	for _, action := range []string{"validate", "whatIf"} {
		a := p.Do(t, harness.Request{Method: http.MethodPost, Path: deploymentPath(w, "d") + "/" + action + "?api-version=2021-04-01", Body: body}).Want(t, 200)
		wantNoSecret(t, action, string(a.Body), secrets...)
	}
	for i, steps := range []int{2, 5, 8, 0} {
		name := fmt.Sprint("d", i)
		if steps > 0 {
			p.SetPoint(t, []failpoint.Point{failpoint.DeploySettleBefore, failpoint.DeploySettleAfter}[i%2], fmt.Sprint("kill,once,after=", steps))
			killDeployment(t, w, name, body)
			wantNoSecretKept(t, p, secrets...)
			p.Restart(t)
		} else {
			misbehave(t, w, "PUT", "/virtualMachines/used", "quote", -1)
			putDeployment(t, w, p, name, body, 201)
		}
		end, d := endOf(t, w, name)
		if fault := string(d.Properties.Error); i == 3 && (end != "Failed" || !strings.Contains(fault, "ContosoQuote") || !strings.Contains(fault, "*******")) || i < 3 && end != "Succeeded" {
			t.Errorf("%d: %s: %s", i, end, fault)
		}
		if i == 0 {
			var keys struct{ Keys []struct{ Value string } }
			listed := p.Do(t, harness.Request{Method: http.MethodPost, Path: w.ResourcePath("rg", "Contoso.Compute/virtualMachines/a") + "/listKeys?api-version=" + harness.Version, Body: "{}"}).Want(t, 200)
			harness.OK(t, json.Unmarshal(listed.Body, &keys))
			secrets = append(secrets, keys.Keys[0].Value, keys.Keys[1].Value)
		}
		if o := d.Properties.Outputs; i < 3 && (len(o) != 2 || o["word"].Value != nil || o["plain"].Value != nil) {
			t.Errorf("%+v", o)
		}
		wantNoSecretShown(t, w, p, secrets...)
		wantNoSecretKept(t, p, secrets...)
	}
	first, second := secrets[2], secrets[3]
	for name, want := range map[string]map[string]any{
		"inner": {"key": first}, "l": {"word": word + "-late"}, "r": {"key": second}, "behind": {"word": word, "late": second},
		"used": {"word": word, "key": first, "token": token, "part": token, "whole": token, "plain": "nothing-secret", "loop": word + "-1", "second": first, "none": nil, "late": word + "-late", "lateKey": second, "later": second},
	} {
		if got := propertiesOf(t, w, name); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s: %v", name, got)
		}
	}
	for name, change := range whatIf(t, w, body) {
		if change != "NoChange" && !strings.HasPrefix(change, "Unsupported") && !strings.HasPrefix(change, "Ignore") {
			t.Errorf("%s: it would be %s", name, change)
		}
	}
	for _, name := range deploymentNames(t, w, "rg") {
		wantNoSecretAnswered(t, w, p, name, body, secrets...)
		a := p.Do(t, harness.Request{Method: http.MethodPost, Path: deploymentPath(w, name) + "/listOutputsWithSecureValues?api-version=2025-04-01", Body: "{}"}).Want(t, 400)
		if !strings.Contains(string(a.Body), "Secure outputs of deployments are not kept") {
			t.Errorf("%s", a.Body)
		}
		wantNoSecret(t, "the action", string(a.Body), secrets...)
	}
	wantNoSecret(t, "a span", fmt.Sprint(collector.Spans()), secrets...)
}
