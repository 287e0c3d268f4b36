package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"portico/arm"
	"portico/test/harness"
)

// refusedMachines are refused at once, by the status of an operation, by its result, and in a
// module. %[1]s is the region.
const refusedMachines = `{` + templateSchema + `, "parameters": {"word": {"type": "secureString"}}, "resources": [
	{"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "one", "location": "%[1]s", "properties": {"size": "small"}},
	{"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "two", "location": "%[1]s", "properties": {"size": "small", "word": "[parameters('word')]"}},
	{"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "three", "location": "%[1]s", "properties": {"size": "small", "word": "[parameters('word')]"}},
	{"type": "Microsoft.Resources/deployments", "apiVersion": "2022-09-01", "name": "module", "properties": {"mode": "Incremental",
		"expressionEvaluationOptions": {"scope": "inner"}, "parameters": {"word": {"value": "[parameters('word')]"}}, "template": {` + templateSchema + `, "parameters": {"word": {"type": "secureString"}}, "resources": [
		{"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "four", "location": "%[1]s", "properties": {"size": "small", "word": "[parameters('word')]"}}]}}}]}`

// wholeError is the error of contoso's fault refuse.
type wholeError struct {
	Code, Message, Target, TraceID string
	Details                        []wholeError
	AdditionalInfo                 []struct{ Type string }
	InnerError                     struct {
		Code, Quoted string
		InnerError   struct{ Code string }
	}
}

func wantWhole(t *testing.T, where string, e wholeError) {
	t.Helper()
	if e.Code != "ContosoRefusal" || e.Target != "properties.refused" || e.TraceID != "contoso-trace" || len(e.AdditionalInfo) == 0 || e.AdditionalInfo[0].Type != "PolicyViolation" ||
		e.InnerError.InnerError.Code != "Inmost" || len(e.Details) != 1 || len(e.Details[0].Details) != 1 || e.Details[0].Details[0].InnerError.Code != "Deep" {
		t.Errorf("%s is not whole: %+v", where, e)
	}
}

// What a provider says of a refusal is all in the deployment's error, in its operations and in
// those of a module, as a direct PUT passes it on: without secrets, and within a bound.
func TestErrorsOfProvidersAreWhole(t *testing.T) {
	t.Parallel()
	spec := filepath.Join(t.TempDir(), "compute.json")
	harness.OK(t, os.WriteFile(spec, []byte(machineDocument), 0o600))
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{ComputeSpec: spec, Extra: batchSettings}})
	w.PutGroup(t, "rg")
	p := w.Portico
	for name, fault := range map[string]string{"one": "refuse=400", "two": "refuse=400,0,azure-async", "three": "refuse=400,0,accepted", "four": "refuse=409"} {
		misbehave(t, w, "PUT", "/virtualMachines/"+name, fault, -1)
	}
	body := content(t, fmt.Sprintf(refusedMachines, harness.RegionNames()[0]), map[string]any{"word": hiddenWord})
	poll := putDeployment(t, w, p, "d", body, 201)
	end, d := deployed(t, w, p, "d", poll)
	var fault wholeError
	harness.OK(t, json.Unmarshal(d.Properties.Error, &fault))
	if end != "Failed" || fault.Code != "DeploymentFailed" || len(fault.Details) != 4 || len(fault.Details[3].Details) != 1 {
		t.Fatalf("%s: %s", end, d.Properties.Error)
	}
	for i := range 3 {
		wantWhole(t, fmt.Sprint("detail ", i), fault.Details[i])
	}
	wantWhole(t, "the module's detail", fault.Details[3].Details[0])
	wantNoSecretKept(t, p, hiddenWord)

	var shown struct{ Details []any }
	harness.OK(t, json.Unmarshal(d.Properties.Error, &shown))
	var direct struct{ Error any }
	harness.OK(t, json.Unmarshal(p.Do(t, harness.Request{Method: http.MethodPut, Path: w.ResourcePath("rg", "Contoso.Compute/virtualMachines/one") + "?api-version=" + harness.Version,
		Body: fault.Details[0].InnerError.Quoted}).Want(t, 400).Body, &direct))
	if !reflect.DeepEqual(direct.Error, shown.Details[0]) {
		t.Errorf("the deployment has\n%v\na PUT\n%v", shown.Details[0], direct.Error)
	}

	for of, want := range map[string]int{deploymentPath(w, "d"): 4, deploymentPath(w, "module"): 1} {
		a := p.Do(t, harness.Request{Path: of + "/operations?api-version=2021-04-01"}).Want(t, 200)
		var list struct {
			Value []struct {
				Properties struct{ StatusMessage struct{ Error wholeError } }
			}
		}
		harness.OK(t, json.Unmarshal(a.Body, &list))
		wantNoSecret(t, of, string(a.Body), hiddenWord)
		if len(list.Value) != want {
			t.Errorf("%s", a.Body)
		}
		for _, o := range list.Value {
			if e := o.Properties.StatusMessage.Error; e.Code == "DeploymentFailed" && len(e.Details) == 1 {
				wantWhole(t, "the module's operation", e.Details[0])
			} else {
				wantWhole(t, "an operation of "+of, e)
			}
		}
	}
	var status struct{ Error any }
	harness.OK(t, json.Unmarshal(p.Do(t, harness.Request{Path: poll}).Want(t, 200).Body, &status))
	if got := status.Error.(map[string]any)["details"]; !reflect.DeepEqual(got, any(shown.Details)) {
		t.Errorf("the status has %v", got)
	}
}

// A long error is cut to valid JSON that says so.
func TestLongErrorsOfProvidersAreCut(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: batchSettings}})
	w.PutGroup(t, "rg")
	misbehave(t, w, "PUT", "/virtualMachines/", "refuse=400,900", -1)
	misbehave(t, w, "PUT", "/virtualMachines/", "refuse=400,900,azure-async", -1)
	end, d := deployed(t, w, w.Portico, "d", putDeployment(t, w, w.Portico, "d", content(t, fmt.Sprintf(refusedMachines, harness.RegionNames()[0]), map[string]any{"word": hiddenWord}), 201))
	var fault wholeError
	harness.OK(t, json.Unmarshal(d.Properties.Error, &fault))
	if end != "Failed" || len(fault.Details) != 4 || len(d.Properties.Error) > 5*arm.ErrorBytes {
		t.Fatalf("%s: %d bytes, %+v", end, len(d.Properties.Error), fault)
	}
	for _, e := range append(fault.Details[:3], fault.Details[3].Details...) {
		if n := len(e.Details); n < 50 || n > 900 || !strings.Contains(e.Message, "This is a part of an error of ") || e.Details[n-1].Code != fmt.Sprint("Detail", n-2) || e.TraceID == "" {
			t.Errorf("%d details, %s", n, e.Message)
		}
	}
}

// Those who judge a template before it is deployed say all that a provider says.
func TestErrorsOfJudgesAreWhole(t *testing.T) {
	t.Parallel()
	spec := filepath.Join(t.TempDir(), "compute.json")
	harness.OK(t, os.WriteFile(spec, []byte(machineDocument), 0o600))
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{ComputeSpec: spec, Extra: batchSettings}})
	w.PutGroup(t, "rg")
	body := content(t, fmt.Sprintf(refusedMachines, harness.RegionNames()[0]), map[string]any{"word": hiddenWord})
	w.Portico.Do(t, harness.Request{Method: http.MethodPut, Path: w.ResourcePath("rg", "Contoso.Compute/virtualMachines/one") + "?api-version=" + harness.Version, Body: `{"location": "westus"}`}).Want(t, 201)
	misbehave(t, w, "POST", "/preflight", "refuse=400,20", -1)
	misbehave(t, w, "GET", "/virtualMachines/one", "refuse=403", -1)
	a := w.Portico.Do(t, harness.Request{Method: http.MethodPost, Path: deploymentPath(w, "d") + "/validate?api-version=2021-04-01", Body: body}).Want(t, 400)
	var refusal struct{ Error wholeError }
	harness.OK(t, json.Unmarshal(a.Body, &refusal))
	if len(refusal.Error.Details) != 4 {
		t.Fatalf("%s", a.Body)
	}
	for _, e := range refusal.Error.Details {
		if !strings.Contains(e.Target, "/virtualMachines/") || len(e.AdditionalInfo) != 2 || e.AdditionalInfo[1].Type != "target" || e.TraceID == "" || len(e.Details) != 21 || e.InnerError.InnerError.Code != "Inmost" {
			t.Errorf("%+v", e)
		}
	}
	wantNoSecret(t, "validate", string(a.Body), hiddenWord)
	a = w.Portico.Do(t, harness.Request{Method: http.MethodPost, Path: deploymentPath(w, "d") + "/whatIf?api-version=2021-04-01", Body: body}).Want(t, 200)
	for _, part := range []string{"ContosoRefusal: ", "(properties.refused)", "Outer: ", `\"code\":\"Inmost\"`, "PolicyViolation: ", "contoso-trace"} {
		if !strings.Contains(string(a.Body), part) {
			t.Errorf("it lacks %s: %s", part, a.Body)
		}
	}
}

// The operations of a deployment come in pages of the size that is asked for, also by the old
// path; what a deployment did not make, and did not answer, is empty; the hash of a template is
// that in the record.
func TestAnswersAboutDeployments(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: batchSettings}})
	w.PutGroup(t, "rg")
	p := w.Portico
	end, _ := deployed(t, w, p, "d", putDeployment(t, w, p, "d", content(t, fmt.Sprintf(refusedMachines, harness.RegionNames()[0]), map[string]any{"word": "w"}), 201))
	if end != "Succeeded" {
		t.Fatal(end)
	}
	for _, path := range []string{deploymentPath(w, "d"), w.GroupPath("rg") + "/deployments/d"} {
		var sizes []int
		seen := map[string]bool{}
		for next := path + "/operations?api-version=2021-04-01&$top=2"; next != ""; {
			var page struct {
				Value    []struct{ OperationID string }
				NextLink string
			}
			harness.OK(t, json.Unmarshal(p.Do(t, harness.Request{Path: next}).Want(t, 200).Body, &page))
			for _, o := range page.Value {
				seen[o.OperationID] = true
			}
			sizes = append(sizes, len(page.Value))
			link, err := url.Parse(page.NextLink)
			harness.OK(t, err)
			if next = ""; page.NextLink != "" {
				next = link.RequestURI()
			}
		}
		if !reflect.DeepEqual(sizes, []int{2, 2}) || len(seen) != 4 {
			t.Errorf("%s: %v, %v", path, sizes, seen)
		}
		p.Do(t, harness.Request{Path: path + "/operations?api-version=2021-04-01&$top=0"}).WantError(t, 400, "InvalidQueryParameter")
		p.Do(t, harness.Request{Path: path + "/operations?api-version=2021-04-01&$skipToken=x"}).WantError(t, 400, "InvalidSkipToken")
	}

	const empty = `{` + templateSchema + `, "resources": [ ], "variables": {"a": "<é>", "n": 1.50}}`
	deployed(t, w, p, "empty", putDeployment(t, w, p, "empty", content(t, empty, nil), 201))
	var record struct{ Properties map[string]any }
	harness.OK(t, json.Unmarshal(p.Do(t, harness.Request{Path: deploymentPath(w, "empty") + "?api-version=2021-04-01"}).Want(t, 200).Body, &record))
	if made, has := record.Properties["outputResources"].([]any); !has || len(made) > 0 {
		t.Errorf("%v", record)
	}
	if outputs, has := record.Properties["outputs"].(map[string]any); !has || len(outputs) > 0 {
		t.Errorf("%v", record)
	}
	hash := harness.Request{Method: http.MethodPost, Path: "/providers/Microsoft.Resources/calculateTemplateHash?api-version=2021-04-01"}
	hash.Body = "// as az sends it\n" + strings.Replace(empty, `"resources"`, "resources", 1)
	var hashed struct{ MinifiedTemplate, TemplateHash string }
	harness.OK(t, json.Unmarshal(p.Do(t, hash).Want(t, 200).Body, &hashed))
	if hashed.TemplateHash != record.Properties["templateHash"] || strings.ContainsAny(hashed.MinifiedTemplate, " \n") && !strings.Contains(hashed.MinifiedTemplate, `"resources":[]`) {
		t.Errorf("%+v, and the record has %v", hashed, record.Properties["templateHash"])
	}
	for _, malformed := range []string{"", "[]", `{"a":`} {
		hash.Body = malformed
		if a := p.Do(t, hash); a.Status != 400 {
			t.Errorf("%q: %d %s", malformed, a.Status, a.Body)
		}
	}
}
