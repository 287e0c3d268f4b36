package clients

import (
	"fmt"
	"net/http"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"portico/test/corpus"
	"portico/test/harness"
)

// az deploys a dozen of the corpus as people do: from files, with the outputs that they
// promise; what-if then finds nothing to change.
func TestAzDeploysTheCorpus(t *testing.T) {
	t.Parallel()
	names := []string{
		"resource-symbolic", "parameters", "list-keys", "role-assignment", "module-symbolic", "module-loop", "module-other-group", "existing-symbolic",
		"secure-outputs", "types", "azd-parameters", "web-app", "subscription",
	}
	all, err := corpus.Cases("templates")
	harness.OK(t, err)
	cases := map[string]corpus.Case{}
	var templates [][]byte
	for _, c := range all {
		cases[c.Name] = c
		templates = append(templates, c.Template)
	}
	endpoints := map[string]string{}
	for _, region := range append(harness.RegionNames(), "global") {
		endpoints[region] = harness.StartContoso(t, region, harness.ContosoOptions{Args: corpus.Flags(region)}).URL
	}
	providers, err := corpus.Providers(endpoints, templates...)
	harness.OK(t, err)
	signed := signedIn(t, harness.WorldOptions{Config: harness.Config{Endpoints: endpoints, Providers: providers, Extra: "index: {sendWithin: 1m, askTimeout: 20s, pollFloor: 50ms}"}})
	for some := range slices.Chunk(names, 3) {
		c := signed.beside(t)
		t.Run(strings.Join(some, "+"), func(t *testing.T) {
			t.Parallel()
			for _, name := range some {
				of, known := cases[name]
				if !known {
					t.Fatalf("there is no template %s", name)
				}
				c.deployCase(t, of, cases[of.Before])
			}
		})
	}
}

// deployCase deploys a template of the corpus, after the one that makes what exists.
func (c azure) deployCase(t *testing.T, of, before corpus.Case) {
	t.Helper()
	for group, location := range map[string]string{of.Name: "westus", of.Name + ".other": "eastus"} {
		c.Portico.Do(t, harness.Request{Method: http.MethodPut, Path: c.GroupPath(group) + "?api-version=2021-04-01", Body: fmt.Sprintf(`{"location":%q}`, location)}).Want(t, 201)
	}
	template := filepath.Join(c.dir, of.Name+".json")
	writeFile(t, template, string(of.Template))
	if of.Before != "" {
		writeFile(t, filepath.Join(c.dir, "before.json"), string(before.Template))
		c.do(t, "deployment", "group", "create", "-g", of.Name+".other", "-n", "before", "-f", filepath.Join(c.dir, "before.json"))
	}
	scope, what := "group", []string{"-g", of.Name, "-n", of.Name, "-f", template}
	if of.Scope != "" {
		scope, what = "sub", []string{"-l", "westus", "-n", of.Name, "-f", template}
	}
	if of.Parameters != nil {
		file := filepath.Join(c.dir, of.Name+".parameters.json")
		writeFile(t, file, string(of.Parameters))
		what = append(what, "-p", "@"+file)
	}
	run := func(verb string, more ...string) string {
		return c.do(t, slices.Concat([]string{"deployment", scope, verb}, what, more)...)
	}
	said := decoded[struct {
		Properties struct {
			ProvisioningState string
			Outputs           map[string]struct{ Value any }
		}
	}](t, run("create"))
	outputs := map[string]any{}
	for name, o := range said.Properties.Outputs {
		outputs[name] = o.Value
	}
	if said.Properties.ProvisioningState != "Succeeded" || len(of.Outputs)+len(outputs) > 0 && !reflect.DeepEqual(outputs, of.Outputs) {
		t.Errorf("%s: %+v, want the outputs %v", of.Name, said.Properties, of.Outputs)
	}
	if changes := compact(t, run("what-if", "--no-pretty-print", "--query", "changes[?changeType!='NoChange'&&changeType!='Ignore'].[changeType,resourceId]")); changes != `[]` {
		t.Errorf("%s: what-if after the deployment announces %s", of.Name, changes)
	}
}
