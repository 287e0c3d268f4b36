package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"portico/provider/contoso"
	"portico/test/harness"
)

// twoMachines have what providers make something else of: arrays, casing, what they hide, and
// what they fill in. %[1]s and %[2]s are the regions, %[3]s a secret, %[4]s a size.
const twoMachines = `{"properties": {"mode": "Incremental", "parameters": {"word": {"value": "%[3]s"}, "size": {"value": "%[4]s"}}, "template": {
  "$schema": "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#", "contentVersion": "1.0.0.0",
  "parameters": {"word": {"type": "secureString"}, "size": {"type": "string"}},
  "resources": [
    {"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "a", "location": "%[1]s", "tags": {"Of": "Ann"},
      "properties": {"size": "[parameters('size')]", "adminPassword": "[parameters('word')]", "key": "[concat('Key ', parameters('word'))]",
        "disks": [{"lun": 1, "kind": "Fast"}, {"lun": 2}], "names": ["a", "C", "b"]}},
    {"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "b", "location": "%[2]s",
      "properties": {"of": "[reference(resourceId('Contoso.Compute/virtualMachines', 'a')).provisioningState]", "Nested": {"Kind": "Fast"}}}
  ]}}}`

// whatIf asks what a template would change, and returns how, by resource.
func whatIf(t *testing.T, w *harness.World, body string) map[string]string {
	t.Helper()
	a := w.Portico.Do(t, harness.Request{Method: http.MethodPost, Path: deploymentPath(w, "d") + "/whatIf?api-version=2021-04-01", Body: body}).Want(t, 200)
	var answer struct {
		Properties struct {
			Changes []struct {
				ResourceID, ChangeType string
				Delta                  []struct{ Path string }
			}
		}
	}
	harness.OK(t, json.Unmarshal(a.Body, &answer))
	if strings.Contains(string(a.Body), hiddenWord) {
		t.Errorf("it shows a secret: %s", a.Body)
	}
	changes := map[string]string{}
	for _, c := range answer.Properties.Changes {
		text := c.ChangeType
		for _, d := range c.Delta {
			text += " " + d.Path
		}
		changes[c.ResourceID[strings.LastIndexByte(c.ResourceID, '/')+1:]] = text
	}
	return changes
}

// Right after a deployment there is nothing to change, whatever providers make of what they
// are sent; a change of the template, or by others, shows. Secrets are in no file of the store.
func TestWhatIfOfWhatWasDeployed(t *testing.T) {
	t.Parallel()
	habits := strings.Join([]string{contoso.AddDefaults, contoso.ReorderArrays, contoso.ChangeCasing, contoso.HideProperties}, ",")
	w := harness.NewWorld(t, harness.WorldOptions{
		Config: harness.Config{Extra: batchSettings}, Contoso: harness.ContosoOptions{Args: []string{"--habit", habits}},
	})
	w.PutGroup(t, "rg")
	regions := harness.RegionNames()
	of := func(size, word string) string { return fmt.Sprintf(twoMachines, regions[0], regions[1], word, size) }
	want := func(what string, got map[string]string, a, b string) {
		t.Helper()
		if got["a"] != a || got["b"] != b {
			t.Errorf("%s: %v", what, got)
		}
	}
	deploy := func(body string) {
		t.Helper()
		if end, d := deployed(t, w, w.Portico, "d", putDeployment(t, w, w.Portico, "d", body, 201)); end != "Succeeded" {
			t.Fatalf("%s: %s", end, d.Properties.Error)
		}
	}
	first := of("Big", hiddenWord)
	want("before", whatIf(t, w, first), "Create", "Create")
	for _, async := range []string{"", "async=azure-async"} {
		if async != "" {
			deleteDeployment(t, w, "d")
			misbehave(t, w, "PUT", "/virtualMachines/", async, -1)
		}
		deploy(first)
		want("right after "+async, whatIf(t, w, first), "NoChange", "NoChange")
	}
	behave(t, w)
	want("another secret", whatIf(t, w, of("Big", "another-word")), "Modify properties.adminPassword properties.key", "NoChange")
	want("another size", whatIf(t, w, of("Small", hiddenWord)), "Modify properties.size", "NoChange")
	machine := w.ResourcePath("rg", "Contoso.Compute/virtualMachines/a") + "?api-version=" + harness.Version
	w.Portico.Do(t, harness.Request{Method: http.MethodPatch, Path: machine, Body: `{"properties":{"size":"Other"}}`}).Want(t, 200)
	want("changed by others", whatIf(t, w, first), "Modify properties.size", "NoChange")
	w.Portico.Do(t, harness.Request{Method: http.MethodDelete, Path: machine}).Want(t, 200)
	want("deleted by others", whatIf(t, w, first), "Create", "NoChange")
	w.PutResource(t, "rg", "Contoso.Compute/virtualMachines/a", `{"location":"`+regions[0]+`","properties":{"adminPassword":"`+hiddenWord+`"}}`)
	if got := whatIf(t, w, first)["a"]; !strings.HasPrefix(got, "Modify ") {
		t.Errorf("made anew by others: %s", got)
	}
	files, err := filepath.Glob(w.Portico.Database + "*")
	harness.OK(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		harness.OK(t, err)
		if strings.Contains(string(text), hiddenWord) {
			t.Errorf("%s holds a secret", filepath.Base(file))
		}
	}
}
