package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"portico/test/harness"
)

// innerModule is a nested deployment of inner scope, as compilers write it.
func innerModule(name, rest, parameters, inner string) string {
	return fmt.Sprintf(`{"type": "Microsoft.Resources/deployments", "apiVersion": "2022-09-01", "name": %q, %s "properties": {"mode": "Incremental",
		"expressionEvaluationOptions": {"scope": "inner"}, "parameters": {%s}, "template": {%s, %s}}}`, name, rest, parameters, templateSchema, inner)
}

func machineAt(name, rest string) string {
	return `{"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "` + name + `", ` + rest + `, "properties": {}}`
}

// ofItsGroup is the commonest default of modules.
const ofItsGroup = `"parameters": {"location": {"type": "string", "defaultValue": "[resourceGroup().location]"}}, "resources": [` +
	`{"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "m", "location": "[parameters('location')]", "properties": {}}]`

// pendingDeployment is a deployment of what is not known before it runs, and where that puts
// a machine.
type pendingDeployment struct {
	name         string
	atScope      bool // it is the subscription's
	resources    string
	group        string // of the machine
	subscription string // of that; the world's if empty
	machine      string
	region       string
	holds        string // of the machine's answer
}

func pendingDeployments(regions []string, elsewhere string) []pendingDeployment {
	first := machineAt("first", `"location": "`+regions[2]+`", "tags": {"of": "first"}`)
	const ofFirst = `[reference(resourceId('Contoso.Compute/virtualMachines', 'first'), '2024-01-01', 'full')`
	reader := `"resources": [], "outputs": {"location": {"type": "string", "value": "` + `[reference(resourceId('rg', 'Contoso.Compute/virtualMachines', 'first'), '2024-01-01', 'full').location]"}}`
	deeper := `"parameters": {"location": {"type": "string"}}, "resources": [` + machineAt("m", `"location": "[parameters('location')]"`) + `]`
	group := `{"type": "Microsoft.Resources/resourceGroups", "apiVersion": "2021-04-01", "name": "made", "location": "[reference(subscriptionResourceId('Microsoft.Resources/resourceGroups', 'other'), '2021-04-01', 'full').location]"}`
	return []pendingDeployment{
		{name: "a group's own", atScope: true, resources: group + "," + innerModule("inner", `"resourceGroup": "made", "dependsOn": ["made"],`, "", ofItsGroup), group: "made", machine: "m", region: regions[1]},
		{name: "another group", resources: innerModule("inner", `"resourceGroup": "other",`, "", ofItsGroup), group: "other", machine: "m", region: regions[1]},
		{name: "a group of a subscription", atScope: true, resources: innerModule("inner", `"resourceGroup": "other",`, "", ofItsGroup), group: "other", machine: "m", region: regions[1]},
		{name: "another subscription's group", resources: innerModule("inner", `"subscriptionId": "`+elsewhere+`", "resourceGroup": "far",`, "", ofItsGroup), subscription: elsewhere, group: "far", machine: "m", region: regions[2]},
		{name: "a deeper module", resources: innerModule("inner", `"resourceGroup": "other",`, "",
			`"resources": [`+innerModule("deeper", "", `"location": {"value": "[resourceGroup().location]"}`, deeper)+`]`), group: "other", machine: "m", region: regions[1]},
		{name: "a resource", resources: first + "," + machineAt("m", `"location": "`+ofFirst+`.location]"`), group: "rg", machine: "m", region: regions[2]},
		{name: "an output", resources: first + "," + innerModule("reader", `"dependsOn": ["first"],`, "", reader) + "," +
			machineAt("m", `"location": "[reference('reader').outputs.location.value]"`), group: "rg", machine: "m", region: regions[2]},
		{name: "an output of another module", resources: first + "," + innerModule("reader", `"dependsOn": ["first"],`, "", reader) + "," +
			innerModule("inner", `"resourceGroup": "other",`, `"location": {"value": "[reference('reader').outputs.location.value]"}`, deeper), group: "other", machine: "m", region: regions[2]},
		{name: "all tags", resources: first + "," + machineAt("m", `"location": "`+regions[0]+`", "tags": "`+ofFirst+`.tags]"`), group: "rg", machine: "m", region: regions[0], holds: `"tags":{"of":"first"}`},
	}
}

// ended waits for the end of a deployment at a path, and returns its state and text.
func ended(t *testing.T, p *harness.Portico, path string) (state, text string) {
	t.Helper()
	return eventually(t, "the end of a deployment", func() (string, bool) {
		var d struct {
			Properties struct{ ProvisioningState string }
		}
		a := p.Do(t, harness.Request{Path: path}).Want(t, 200)
		harness.OK(t, json.Unmarshal(a.Body, &d))
		state, text = d.Properties.ProvisioningState, string(a.Body)
		return state, state != "Running" && state != "Accepted"
	}), text
}

// What is not known before a deployment runs refuses nothing, whoever judges: by PUT,
// validate and what-if the same. When it is known, it goes where it says.
func TestLocationsThatNeedAnAnswer(t *testing.T) {
	t.Parallel()
	regions := harness.RegionNames()
	const elsewhere = "22222222-0000-0000-0000-0000000000aa"
	for _, c := range pendingDeployments(regions, elsewhere) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: batchSettings}})
			w.PutGroup(t, "rg")
			w.Portico.Do(t, harness.Request{Method: http.MethodPut, Path: w.GroupPath("other") + "?api-version=2021-04-01", Body: `{"location":"` + regions[1] + `"}`}).Want(t, 201)
			w.Portico.Admin(t, harness.Request{Method: http.MethodPut, Path: "/admin/subscriptions/" + elsewhere, Body: fmt.Sprintf(`{"tenantId":%q,"state":"Enabled"}`, harness.TenantID)}).Want(t, 200, 201)
			w.Portico.Do(t, harness.Request{Method: http.MethodPut, Path: "/subscriptions/" + elsewhere + "/resourceGroups/far?api-version=2021-04-01", Body: `{"location":"` + regions[2] + `"}`}).Want(t, 201)
			path, body := w.GroupPath("rg"), `{`
			if c.atScope {
				path, body = w.SubscriptionPath(), `{"location": "`+regions[0]+`", `
			}
			path += "/providers/Microsoft.Resources/deployments/d"
			body += `"properties": {"mode": "Incremental", "template": {` + templateSchema + `, "resources": [` + c.resources + `]}}}`
			for _, of := range []string{"validate", "whatIf"} {
				w.Portico.Do(t, harness.Request{Method: http.MethodPost, Path: path + "/" + of + "?api-version=2022-09-01", Body: body}).Want(t, 200)
			}
			path += "?api-version=2022-09-01"
			w.Portico.Do(t, harness.Request{Method: http.MethodPut, Path: path, Body: body}).Want(t, 201)
			if state, text := ended(t, w.Portico, path); state != "Succeeded" {
				t.Fatalf("%s: %s", state, text)
			}
			again := w.Portico.Do(t, harness.Request{Method: http.MethodPost, Path: strings.Replace(path, "?", "/whatIf?", 1), Body: body}).Want(t, 200)
			if text := string(again.Body); strings.Contains(text, `"Create"`) || strings.Contains(text, `"Modify"`) || !strings.Contains(text, `"NoChange"`) {
				t.Errorf("what-if again: %s", text)
			}
			subscription := w.SubscriptionID
			if c.subscription != "" {
				subscription = c.subscription
			}
			id := "/subscriptions/" + subscription + "/resourceGroups/" + c.group + "/providers/Contoso.Compute/virtualMachines/" + c.machine
			w.WantOnlyIn(t, c.region, id)
			if a := w.Portico.Do(t, harness.Request{Path: id + "?api-version=" + harness.Version}).Want(t, 200); !strings.Contains(string(a.Body), c.holds) {
				t.Errorf("%s", a.Body)
			}
		})
	}
}

// A location that turns out wrong is refused by the step that has it, as its own PUT would be.
func TestLocationsThatTurnOutWrong(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: batchSettings}})
	w.PutGroup(t, "rg")
	region := harness.RegionNames()[1]
	w.PutResource(t, "rg", "Contoso.Compute/virtualMachines/first", `{"location": "`+region+`", "tags": {"to": "mars", "here": "East US", "group": "later"}, "properties": {}}`)
	ofFirst := "[reference('" + w.ResourcePath("rg", "Contoso.Compute/virtualMachines/first") + "', '2024-01-01', 'full').tags"
	inner := func(name, location string) string {
		return `"location": "westus", "properties": {"mode": "Incremental", "template": {` + templateSchema + `, "resources": [` +
			innerModule(name, `"location": "`+ofFirst+location+`]",`, "", `"resources": [], "outputs": {"at": {"type": "string", "value": "[deployment().location]"}}`) + `]}}}`
	}
	unfolded := `"location": "westus", "properties": {"mode": "Incremental", "template": {` + templateSchema + `, "resources": [` + innerModule("unfolded", `"location": "`+ofFirst+`.here]",`, `"name": {"value": "`+ofFirst+`.group]"}`,
		`"parameters": {"name": {"type": "string"}}, "resources": [{"type": "Microsoft.Resources/resourceGroups", "apiVersion": "2021-04-01", "name": "[parameters('name')]", "location": "[deployment().location]"}]`) + `]}}}`
	inGroup, atSubscription := w.GroupPath("rg")+"/providers/Microsoft.Resources/deployments/", w.SubscriptionPath()+"/providers/Microsoft.Resources/deployments/"
	for path, c := range map[string]struct{ body, state, says string }{
		inGroup + "machine": {`{"properties": {"mode": "Incremental", "template": {` + templateSchema + `, "resources": [` + machineAt("m", `"location": "`+ofFirst+`.to]"`) + `]}}}`,
			"Failed", `"LocationNotAvailableForResourceType","message":"The provided location 'mars' is not available`},
		atSubscription + "wrong": {`{` + inner("astray", ".to"), "Failed", `"LocationNotAvailableForDeployment","message":"The provided location 'mars' is not available`},
		atSubscription + "other": {`{` + inner("numbered", ""), "Failed", `a deployment's location is a string, and this is Object`},
		atSubscription + "late":  {`{` + unfolded, "Succeeded", ``},
		atSubscription + "right": {`{` + inner("placed", ".here"), "Succeeded", ``},
	} {
		path += "?api-version=2022-09-01"
		w.Portico.Do(t, harness.Request{Method: http.MethodPut, Path: path, Body: c.body}).Want(t, 201)
		if state, text := ended(t, w.Portico, path); state != c.state || !strings.Contains(text, c.says) {
			t.Errorf("%s: %s: %s", path, state, text)
		}
	}
	for _, path := range []string{w.GroupPath("later") + "?api-version=2021-04-01", atSubscription + "unfolded?api-version=2022-09-01"} {
		if a := w.Portico.Do(t, harness.Request{Path: path}).Want(t, 200); !strings.Contains(string(a.Body), `"location":"`+region+`"`) {
			t.Errorf("%s", a.Body)
		}
	}
	a := w.Portico.Do(t, harness.Request{Path: atSubscription + "placed?api-version=2022-09-01"}).Want(t, 200)
	if text := string(a.Body); !strings.Contains(text, `"location":"`+region+`"`) || !strings.Contains(text, `"value":"East US"`) {
		t.Errorf("%s", text)
	}
}
