package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"portico/test/harness"
)

// bad is a template that is refused, with its parameters, or for these.
type bad struct{ template, parameters string }

// badTemplates are refused, each for a kind of reason. Those of package template are too.
func badTemplates(t *testing.T) map[string]bad {
	t.Helper()
	all := map[string]bad{}
	for name, text := range map[string]string{
		"not an object": `[]`, "null": `null`, "a number": `7`, "a text": `"x"`, "broken": `{"resources": [}`, "empty": `{}`, "nothing": ``,
		"at management groups": strings.Replace(`{`+templateSchema+`, "resources": []}`, "deploymentTemplate", "managementGroupDeploymentTemplate", 1),
		"at subscriptions":     strings.Replace(`{`+templateSchema+`, "resources": []}`, "deploymentTemplate", "subscriptionDeploymentTemplate", 1),
	} {
		all[name] = bad{template: text}
	}
	inner := `"resources": []`
	for name, resource := range map[string]string{
		"no location":                  module("d", `"subscriptionId": "[subscription().subscriptionId]",`, "", inner),
		"a location that is no string": module("d", `"subscriptionId": "[subscription().subscriptionId]", "location": {"of": "it"},`, "", inner),
		"a location that is a number":  module("d", `"subscriptionId": "[subscription().subscriptionId]", "location": "[length('abc')]",`, "", inner),
		"another mode":                 strings.Replace(module("d", "", "", inner), "Incremental", "Complete", 1),
		"a link":                       strings.Replace(module("d", "", "", inner), `"mode"`, `"templateLink": {"uri": "https://x"}, "mode"`, 1),
		"an error's deployment":        strings.Replace(module("d", "", "", inner), `"mode"`, `"onErrorDeployment": {"type": "LastSuccessful"}, "mode"`, 1),
		"a nested schema":              strings.Replace(module("d", "", "", inner), "deploymentTemplate", "tenantDeploymentTemplate", 1),
		"a nested parameter":           module("d", "", `"p": {"value": 1}`, inner),
		"a vault in it":                module("d", "", `"p": {"reference": {"keyVault": {"id": "x"}, "secretName": "y"}}`, `"parameters": {"p": {"type": "secureString"}}, `+inner),
		"a version that is missing":    `{"type": "Contoso.Compute/virtualMachines", "name": "a"}`,
		"a type that is not one":       machineAt("a/b", `"location": "westus"`),
	} {
		all[name] = bad{template: `{` + templateSchema + `, "resources": [` + resource + `]}`}
	}
	for name, parameters := range map[string]string{
		"not an object of parameters": `[]`, "a number of parameters": `5`, "broken parameters": `{"p": {"value": 1}`, "no such parameter": `{"q": {"value": 1}}`,
		"a parameter of another type": `{"p": {"value": "one"}}`, "no value": `{"p": {}}`, "a bare value": `{"p": 1}`, "twice": `{"p": {"value": 1}, "P": {"value": 1}}`,
		"a vault":           `{"p": {"reference": {"keyVault": {"id": "x"}, "secretName": "y"}}}`,
		"an external input": `{"p": {"expression": "[externalInputs('x')]"}}`,
		"a wrapped fault":   `{"$schema": "x", "contentVersion": "1.0.0.0", "parameters": {"p": {"value": []}}}`,
	} {
		all[name] = bad{`{` + templateSchema + `, "parameters": {"p": {"type": "int"}}, "resources": []}`, parameters}
	}
	folder := filepath.Join("..", "..", "template", "testdata", "faults")
	files, err := os.ReadDir(folder)
	harness.OK(t, err)
	for _, file := range files {
		if name := file.Name(); strings.Count(name, ".") == 1 && strings.HasSuffix(name, ".json") {
			text, err := os.ReadFile(filepath.Join(folder, name))
			harness.OK(t, err)
			parameters, err := os.ReadFile(filepath.Join(folder, strings.TrimSuffix(name, ".json")+".parameters.json"))
			if !errors.Is(err, os.ErrNotExist) {
				harness.OK(t, err)
			}
			all[name] = bad{string(text), string(parameters)}
		}
	}
	return all
}

// localRefusal is what the command says of a template: a line for each fault, without its file.
func localRefusal(t *testing.T, scope string, of bad) []string {
	t.Helper()
	folder := t.TempDir()
	file, parameters := filepath.Join(folder, "main.json"), filepath.Join(folder, "parameters.json")
	harness.OK(t, os.WriteFile(file, []byte(of.template), 0o600))
	args := []string{"template", file, "--scope", scope}
	if of.parameters != "" {
		harness.OK(t, os.WriteFile(parameters, []byte(of.parameters), 0o600))
		args = append(args, "-p", parameters)
	}
	c := exec.CommandContext(t.Context(), harness.Build(t).Portico, args...)
	var complaints bytes.Buffer
	c.Stderr = &complaints
	if err := c.Run(); err == nil {
		return nil
	}
	lines := strings.Split(strings.TrimSuffix(strings.NewReplacer(file+":", "", parameters+":", "").Replace(complaints.String()), "\n"), "\n")
	slices.Sort(lines)
	return lines
}

// remoteRefusal is what the service says of a template, in the form of the command's lines.
func remoteRefusal(t *testing.T, w *harness.World, method, scope, action string, of bad) (lines []string) {
	t.Helper()
	properties := map[string]string{"mode": "Incremental", "template": of.template} // in strings, whose places are those of files
	if of.parameters != "" {
		properties["parameters"] = of.parameters
	}
	content := map[string]any{"properties": properties}
	if scope == w.SubscriptionPath() {
		content["location"] = "westus"
	}
	body, err := json.Marshal(content)
	harness.OK(t, err)
	a := w.Portico.Do(t, harness.Request{Method: method, Path: scope + "/providers/Microsoft.Resources/deployments/main" + action + "?api-version=2022-09-01", Body: string(body)})
	if a.Status < 300 {
		return nil
	}
	type fault struct{ Code, Message, Target string }
	var refusal struct {
		Error struct {
			fault
			Details []fault
		}
	}
	harness.OK(t, json.Unmarshal(a.Body, &refusal))
	faults := refusal.Error.Details
	if len(faults) == 0 {
		faults = []fault{refusal.Error.fault}
	}
	for _, f := range faults {
		message := strings.TrimPrefix(f.Message, "Deployment template validation failed: '") // as in ARM
		sentence, place, _ := strings.Cut(message, ". Path '"+f.Target+"'")
		var line, column int
		_, _ = fmt.Sscanf(place, ", line %d, column %d", &line, &column)
		lines = append(lines, fmt.Sprintf("%d:%d: %s: %s: %s", line, column, f.Target, f.Code, sentence))
	}
	slices.Sort(lines)
	return lines
}

// The command refuses the templates that the service refuses, with the same words.
func TestTheCommandRefusesWhatTheServiceRefuses(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: batchSettings}})
	w.PutGroup(t, "rg")
	taken := 0
	for _, scope := range []string{w.GroupPath("rg"), w.SubscriptionPath()} {
		for name, of := range badTemplates(t) {
			local := localRefusal(t, scope, of)
			if len(local) == 0 { // it is made for the other scope
				taken++
			}
			for action, method := range map[string]string{"": http.MethodPut, "/validate": http.MethodPost, "/whatIf": http.MethodPost} {
				if remote := remoteRefusal(t, w, method, scope, action, of); !slices.Equal(local, remote) {
					t.Errorf("%s at %s: %s %s\nthe command: %s\nthe service: %s", name, scope, method, action, strings.Join(local, "\n"), strings.Join(remote, "\n"))
				}
			}
		}
	}
	if taken > 1 {
		t.Errorf("the command takes %d of the bad templates", taken)
	}
}
