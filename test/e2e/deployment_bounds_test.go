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

// large is an expression of 512 KiB of text.
var large = `join(map(range(0, 512), lambda('i', '` + strings.Repeat("x", 1024) + `')), '')`

// largeText is a variable s of that.
var largeText = `"variables": {"s": "[` + large + `]"}`

// recordBound is how refusals name the bound of a deployment.
const recordBound = "have more than 4 MiB"

// twoLoops is a template of 2*n machines, of which each of the second half depends on all of
// the first.
func twoLoops(n int) string {
	return fmt.Sprintf(`{%s, "resources": [
		{"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "[concat('a', copyIndex())]", "location": "westus", "copy": {"name": "first", "count": %[2]d}, "properties": {}},
		{"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "[concat('b', copyIndex())]", "location": "westus", "copy": {"name": "second", "count": %[2]d}, "dependsOn": ["first"], "properties": {}}]}`, templateSchema, n)
}

// largeOutputs is a template with n outputs of 512 KiB.
func largeOutputs(n int) string {
	var outputs []string
	for i := range n {
		outputs = append(outputs, fmt.Sprintf(`"o%d": {"type": "string", "value": "[variables('s')]"}`, i))
	}
	return fmt.Sprintf(`{%s, %s, "resources": [], "outputs": {%s}}`, templateSchema, largeText, strings.Join(outputs, ","))
}

// A deployment that is too large is refused at once, by all that judge it, as far as that is
// known; else it fails, and what is kept of it is within the bound.
func TestDeploymentsAreBounded(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: batchSettings}})
	w.PutGroup(t, "rg")
	p := w.Portico
	var parameters []string
	for i := range 10 {
		parameters = append(parameters, fmt.Sprintf(`"p%d": {"type": "string", "defaultValue": "[%s]"}`, i, large))
	}
	for of, template := range map[string]string{"dependencies": twoLoops(400), "parameters": fmt.Sprintf(`{%s, "parameters": {%s}, "resources": []}`, templateSchema, strings.Join(parameters, ","))} {
		body := content(t, template, nil)
		for _, request := range []harness.Request{
			{Method: http.MethodPut, Path: deploymentPath(w, of)},
			{Method: http.MethodPost, Path: deploymentPath(w, of) + "/validate"},
			{Method: http.MethodPost, Path: deploymentPath(w, of) + "/whatIf"},
		} {
			request.Path, request.Body = request.Path+"?api-version=2021-04-01", body
			if a := p.Do(t, request).WantError(t, 400, "DeploymentSizeExceeded"); !strings.Contains(string(a.Body), recordBound) {
				t.Errorf("%s of %s: %s", request.Method, request.Path, a.Body)
			}
		}
		p.Do(t, harness.Request{Path: deploymentPath(w, of) + "?api-version=2021-04-01"}).Want(t, 404)
	}
	for n, want := range map[int]string{7: "Succeeded", 20: "Failed"} {
		name := fmt.Sprint("outputs", n)
		end, d := deployed(t, w, p, name, putDeployment(t, w, p, name, content(t, largeOutputs(n), nil), 201))
		if end != want || want == "Failed" && (len(d.Properties.Outputs) > 0 || !strings.Contains(string(d.Properties.Error), "DeploymentOutputEvaluationFailed") || !strings.Contains(string(d.Properties.Error), recordBound)) {
			t.Errorf("%d outputs: %s, %d of them, %.1000s", n, end, len(d.Properties.Outputs), d.Properties.Error)
		}
	}
	for _, name := range []string{"a", "b", "c"} {
		deployed(t, w, p, name, putDeployment(t, w, p, name, content(t, largeOutputs(7), nil), 201))
	}
	var pages [][]string
	for next := strings.TrimSuffix(deploymentPath(w, ""), "/") + "?api-version=2021-04-01"; next != ""; {
		var page struct {
			Value    []struct{ Name string }
			NextLink string
		}
		a := p.Do(t, harness.Request{Path: next}).Want(t, 200)
		harness.OK(t, json.Unmarshal(a.Body, &page))
		if len(a.Body) > 9<<20 {
			t.Errorf("a page of %d bytes", len(a.Body))
		}
		var names []string
		for _, d := range page.Value {
			names = append(names, d.Name)
		}
		pages = append(pages, names)
		link, err := url.Parse(page.NextLink)
		harness.OK(t, err)
		if next = ""; page.NextLink != "" {
			next = link.RequestURI()
		}
	}
	if fmt.Sprint(pages) != "[[a b] [c outputs20 outputs7]]" {
		t.Errorf("%v", pages)
	}
}

// One caller has a share of the deployments that a subscription may have under way.
func TestDeploymentsOfCallersAreBounded(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{
		Tokens: []harness.Token{alice, dora}, Owners: []string{alice.ObjectID, dora.ObjectID}, Extra: batchSettings + "deployments: {running: 8}\n",
	}})
	w.PutGroup(t, "rg")
	misbehave(t, w, "PUT", "/virtualMachines/", "status=503", -1)
	put := func(by harness.Token, name string) harness.Answer {
		t.Helper()
		return w.Portico.Do(t, harness.Request{Method: http.MethodPut, Path: deploymentPath(w, name) + "?api-version=2021-04-01", Body: content(t, `{`+templateSchema+`, "resources": [`+machineAt(name, `"location": "westus"`)+`]}`, nil), Header: bearer(by.Raw)})
	}
	put(alice, "a1").Want(t, 201)
	put(alice, "a2").Want(t, 201)
	a := put(alice, "a3").WantError(t, 429, "TooManyRequests")
	if !strings.Contains(string(a.Body), "as one caller may have: 2, with templates and parameters of 16 MiB") || a.Header.Get("Retry-After") == "" {
		t.Errorf("%s %v", a.Body, a.Header)
	}
	put(dora, "d1").Want(t, 201)
	behave(t, w)
	eventually(t, "room for another deployment", func() (struct{}, bool) { return struct{}{}, put(alice, "a3").Status == 201 })
}

// What is kept of nested deployments is bounded, for all of them together.
func TestNestedDeploymentsAreBounded(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: batchSettings}})
	w.PutGroup(t, "rg")
	nested := func(count int, parameters string, outputs []string) string {
		inner := `"variables": {}`
		if outputs != nil {
			inner = largeText
		}
		return fmt.Sprintf(`{%s, %s, "resources": [{"type": "Microsoft.Resources/deployments", "apiVersion": "2022-09-01", "name": "[concat('n', copyIndex())]", "copy": {"name": "all", "count": %d},
			"properties": {"mode": "Incremental", "expressionEvaluationOptions": {"scope": "inner"}, "parameters": {%s}, "template": {%s, %s, "parameters": {"p": {"type": "string", "defaultValue": ""}}, "resources": [], "outputs": {%s}}}}]}`,
			templateSchema, largeText, count, parameters, templateSchema, inner, strings.Join(outputs, ","))
	}
	const given = `"p": {"value": "[variables('s')]"}`
	var outputs []string
	for i := range 9 {
		outputs = append(outputs, fmt.Sprintf(`"o%d": {"type": "string", "value": "[variables('s')]"}`, i))
	}
	for of, c := range map[string]struct{ template, says string }{
		"parameters":    {nested(36, given, nil), "have more than 16 MiB"},
		"outputs":       {nested(6, "", outputs[:7]), "have more than 16 MiB"},
		"outputs-alone": {nested(1, "", outputs), recordBound},
	} {
		end, d := deployed(t, w, w.Portico, of, putDeployment(t, w, w.Portico, of, content(t, c.template, nil), 201))
		if end != "Failed" || !strings.Contains(string(d.Properties.Error), "DeploymentSizeExceeded") || !strings.Contains(string(d.Properties.Error), c.says) {
			t.Errorf("%s: %s, %.1000s", of, end, d.Properties.Error)
		}
	}
	if end, d := deployed(t, w, w.Portico, "few", putDeployment(t, w, w.Portico, "few", content(t, nested(12, given, nil), nil), 201)); end != "Succeeded" {
		t.Errorf("%s: %.1000s", end, d.Properties.Error)
	}
}

// The errors of providers are bounded: each, and all of a deployment together.
func TestErrorsOfDeploymentsAreBounded(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: batchSettings}})
	w.PutGroup(t, "rg")
	misbehave(t, w, "PUT", "/virtualMachines/", "refuse=400,60,azure-async", -1)
	template := strings.Replace(twoLoops(60), `"dependsOn": ["first"], `, "", 1)
	end, d := deployed(t, w, w.Portico, "d", putDeployment(t, w, w.Portico, "d", content(t, template, nil), 201))
	var fault wholeError
	harness.OK(t, json.Unmarshal(d.Properties.Error, &fault))
	if end != "Failed" || len(fault.Details) != 120 || len(d.Properties.Error) > 1<<20 {
		t.Errorf("%s: %d details in %d bytes", end, len(fault.Details), len(d.Properties.Error))
	}
	a := w.Portico.Do(t, harness.Request{Path: deploymentPath(w, "d") + "/operations?api-version=2021-04-01"}).Want(t, 200)
	if n := strings.Count(string(a.Body), "This is a part of an error of"); n < 120 || len(a.Body) > 5<<20 {
		t.Errorf("%d operations in %d bytes", n, len(a.Body))
	}
}
