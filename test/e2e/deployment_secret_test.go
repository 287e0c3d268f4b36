package e2e

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"portico/internal/failpoint"
	"portico/test/harness"
)

// secretMachines are given secrets, make others of them, and ask a provider for one: b has a
// key of a's. %[1]s and %[2]s are the regions, %[3]s and %[4]s the parameters' values.
const secretMachines = `{"properties": {"mode": "Incremental", "parameters": {"word": {"value": %[3]s}, "of": {"value": %[4]s}}, "template": {
  "$schema": "https://schema.management.azure.com/schemas/2019-04-01/deploymentTemplate.json#",
  "contentVersion": "1.0.0.0",
  "parameters": {"word": {"type": "secureString"}, "of": {"type": "secureObject"}},
  "variables": {"joined": "[concat('user:', parameters('word'))]"},
  "resources": [
    {"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "a", "location": "%[1]s",
      "properties": {"adminPassword": "[parameters('word')]", "joined": "[variables('joined')]", "of": "[parameters('of')]"}},
    {"type": "Contoso.Compute/virtualMachines", "apiVersion": "2024-01-01", "name": "b", "location": "%[2]s", "dependsOn": ["a"],
      "properties": {"adminPassword": "[parameters('word')]", "coded": "[base64(variables('joined'))]", "escaped": "[uriComponent(variables('joined'))]",
        "pin": "[parameters('of').pin]", "deep": "[parameters('of').deep[0].text]",
        "key": "[listKeys(resourceId('Contoso.Compute/virtualMachines', 'a'), '2024-01-01').keys[0].value]"}}
  ],
  "outputs": {
    "word": {"type": "secureString", "value": "[parameters('word')]"},
    "made": {"type": "string", "value": "[variables('joined')]"},
    "key": {"type": "string", "value": "[listKeys(resourceId('Contoso.Compute/virtualMachines', 'a'), '2024-01-01').keys[0].value]"},
    "hidden": {"type": "securestring", "value": "[listKeys(resourceId('Contoso.Compute/virtualMachines', 'a'), '2024-01-01').keys[1].value]"}
  }}}}`

// formsOf are the forms in which a secret may stand in other texts.
func formsOf(t *testing.T, secret string) []string {
	t.Helper()
	quoted, err := json.Marshal(secret)
	harness.OK(t, err)
	inner := strings.Trim(string(quoted), `"`)
	forms := []string{secret, inner, url.QueryEscape(secret), url.PathEscape(secret)}
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 { // in any place, without the digits that its neighbours are part of
			digits := encoding.EncodeToString([]byte(strings.Repeat("x", before) + secret))
			forms = append(forms, digits[(before*8+5)/6:(before+len(secret))*8/6])
		}
	}
	return forms
}

// wantNoSecret fails where a text holds a secret in any form.
func wantNoSecret(t *testing.T, where, text string, secrets ...string) {
	t.Helper()
	for _, secret := range secrets {
		for _, form := range formsOf(t, secret) {
			if at := strings.Index(text, form); at >= 0 {
				t.Errorf("%s holds %s: …%s…", where, form, text[max(0, at-80):min(len(text), at+len(form)+80)])
			}
		}
	}
}

// wantNoSecretKept fails where the store's files or the log hold a secret.
func wantNoSecretKept(t *testing.T, p *harness.Portico, secrets ...string) {
	t.Helper()
	files, err := filepath.Glob(p.Database + "*")
	harness.OK(t, err)
	if len(files) == 0 {
		t.Fatal("the store has no file")
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		harness.OK(t, err)
		wantNoSecret(t, filepath.Base(file), string(text), secrets...)
	}
	wantNoSecret(t, "the log", p.Logs(), secrets...)
}

// wantNoSecretShown fails where what operators are shown holds a secret.
func wantNoSecretShown(t *testing.T, w *harness.World, p *harness.Portico, secrets ...string) {
	t.Helper()
	var described struct {
		Paths map[string]map[string]any
	}
	harness.OK(t, json.Unmarshal(p.Admin(t, harness.Request{Path: "/admin/openapi.json"}).Want(t, 200).Body, &described))
	var jobs struct{ Value []struct{ ID string } }
	harness.OK(t, json.Unmarshal(p.Admin(t, harness.Request{Path: "/admin/jobs?limit=1000"}).Want(t, 200).Body, &jobs))
	if len(jobs.Value) == 0 {
		t.Error("there is no job")
	}
	paths := []string{"/metrics", "/admin/resource?id=" + url.QueryEscape(w.ResourcePath("rg", "Contoso.Compute/virtualMachines/b")),
		"/admin/changes?limit=1000", "/admin/errors?each=true", "/admin/resources?subscription=" + w.SubscriptionID}
	for path, methods := range described.Paths {
		switch {
		case methods["get"] == nil:
		case !strings.Contains(path, "{"):
			paths = append(paths, path)
		case strings.HasPrefix(path, "/admin/jobs/{id}"):
			for _, job := range jobs.Value {
				paths = append(paths, strings.Replace(path, "{id}", job.ID, 1))
			}
		}
	}
	for _, path := range paths {
		wantNoSecret(t, path, string(p.Admin(t, harness.Request{Path: path}).Body), secrets...)
	}
}

// wantNoSecretAnswered fails where an answer about a deployment holds a secret, or one about
// what its content would do.
func wantNoSecretAnswered(t *testing.T, w *harness.World, p *harness.Portico, name, body string, secrets ...string) {
	t.Helper()
	of := deploymentPath(w, name)
	for _, r := range []harness.Request{
		{Path: of}, {Path: of + "/operations"}, {Path: strings.TrimSuffix(of, "/"+name)}, {Method: http.MethodPost, Path: of + "/exportTemplate"},
		{Method: http.MethodPost, Path: of + "/validate", Body: body}, {Method: http.MethodPost, Path: of + "/whatIf", Body: body},
	} {
		r.Path += "?api-version=2021-04-01"
		a := p.Do(t, r)
		if a.Status >= 500 || a.Status == 404 {
			t.Errorf("%s: %d %s", r.Path, a.Status, a.Body)
		}
		wantNoSecret(t, r.Method+" "+r.Path, string(a.Body), secrets...)
	}
}

// What is secret in a deployment is in no answer about it, in nothing that is kept of it, and
// in nothing that operators are shown: neither while it runs, killed in the middle, nor once
// it has failed for a provider that quotes all that it was sent.
func TestSecretsOfDeploymentsAreHidden(t *testing.T) {
	t.Parallel()
	collector := harness.StartCollector(t)
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Failpoints: true, Extra: batchSettings + traced(collector)}})
	w.PutGroup(t, "rg")
	regions, p := harness.RegionNames(), w.Portico
	const word, deep, pin = `p<w"d/+?é&w1`, "deep-in-an-object", "918273645"
	quoted, err := json.Marshal(word)
	harness.OK(t, err)
	body := fmt.Sprintf(secretMachines, regions[0], regions[1], quoted, `{"pin": `+pin+`, "deep": [{"text": "`+deep+`"}]}`)
	secrets := []string{word, deep, pin, "user:" + word}

	misbehave(t, w, "PUT", "/virtualMachines/b", "quote", -1)
	p.SetPoint(t, failpoint.DeployEndBefore, "kill,once")
	poll := putDeployment(t, w, p, "d", body, 201)
	if !p.EndsWithin(time.Minute) {
		t.Fatal("the deployment does not come to its end")
	}
	wantNoSecretKept(t, p, secrets...)
	p.Restart(t)
	var keys struct{ Keys []struct{ Value string } }
	machine := w.ResourcePath("rg", "Contoso.Compute/virtualMachines/a")
	listed := p.Do(t, harness.Request{Method: http.MethodPost, Path: machine + "/listKeys?api-version=" + harness.Version, Body: "{}"}).Want(t, 200)
	harness.OK(t, json.Unmarshal(listed.Body, &keys))
	secrets = append(secrets, keys.Keys[0].Value)
	end, d := deployed(t, w, p, "d", poll)
	if end != "Failed" || !strings.Contains(string(d.Properties.Error), "ContosoQuote") || !strings.Contains(string(d.Properties.Error), "*******") {
		t.Errorf("%s: %s", end, d.Properties.Error)
	}
	answers := func() {
		t.Helper()
		wantNoSecret(t, "the status", string(p.Do(t, harness.Request{Path: poll}).Body), secrets...)
		wantNoSecretAnswered(t, w, p, "d", body, secrets...)
		wantNoSecretAnswered(t, w, p, "d", strings.Replace(body, regions[1], "nowhere", 1), secrets...)
	}
	answers()
	wantNoSecretShown(t, w, p, secrets...)
	wantNoSecretKept(t, p, secrets...)

	behave(t, w)
	end, d = deployed(t, w, p, "d", putDeployment(t, w, p, "d", body, 200))
	outputs := d.Properties.Outputs
	if end != "Succeeded" || outputs["word"].Value != nil || outputs["made"].Value != nil || outputs["hidden"].Value != nil || outputs["key"].Value != keys.Keys[0].Value {
		t.Errorf("%s: %+v", end, d)
	}
	wantNoSecretShown(t, w, p, secrets...)
	wantNoSecretKept(t, p, secrets...)
	soon(t, "the spans of both deployments", func() bool { return len(named(collector.Spans(), "job deployment")) >= 2 })
	wantNoSecret(t, "a span", fmt.Sprint(collector.Spans()), secrets...)
	secrets = secrets[:len(secrets)-1] // the key is an output that the template declares to be no secret
	answers()
}
