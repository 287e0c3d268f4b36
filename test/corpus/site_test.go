package corpus

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"portico/test/harness"
)

// secondSubscription has the groups NAME.far.
const secondSubscription = "00000000-0000-0000-0000-0000000000e2"

// alice deploys everything.
var alice = harness.Token{Raw: "alice-s-token", TenantID: harness.TenantID, ObjectID: "00000000-0000-0000-0000-0000000000a1", Name: "alice"}

// settings have gateways ask soon how far something is.
const settings = `
index: {sendWithin: 1m, askTimeout: 20s, pollFloor: 50ms}
`

// site is a gateway and its providers, which take any type. What the gateway sends them is
// read on its way.
type site struct {
	*harness.Portico
	contosos map[string]*harness.Contoso

	mu   sync.Mutex
	sent []call
}

// call is a request that changes something at a provider.
type call struct{ method, id, body string }

func newSite(t *testing.T, cases []Case) *site {
	t.Helper()
	s := &site{contosos: map[string]*harness.Contoso{}}
	endpoints := map[string]string{}
	for _, region := range append(harness.RegionNames(), "global") {
		c := harness.StartContoso(t, region, harness.ContosoOptions{Args: Flags(region)})
		s.contosos[region], endpoints[region] = c, s.reading(t, c.URL)
	}
	var templates [][]byte
	for _, c := range cases {
		templates = append(templates, c.Template)
	}
	providers, err := Providers(endpoints, templates...)
	harness.OK(t, err)
	s.Portico = harness.StartPortico(t, harness.Config{
		Endpoints: endpoints, Providers: providers, Extra: settings, Tokens: []harness.Token{alice},
		Metadata: "  suffixes: {storage: storage.example}",
		Subscriptions: []harness.Subscription{
			{ID: harness.SubscriptionID, TenantID: harness.TenantID, DisplayName: "Demo", State: "Enabled"},
			{ID: secondSubscription, TenantID: harness.TenantID, DisplayName: "Second", State: "Enabled"},
		},
	})
	return s
}

// reading returns the URL of a proxy to a provider that notes the calls.
func (s *site) reading(t *testing.T, to string) string {
	t.Helper()
	target, err := url.Parse(to)
	harness.OK(t, err)
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet && r.Method != http.MethodPost {
			body, _ := io.ReadAll(r.Body) // what is cut off is no case of its own
			r.Body = io.NopCloser(bytes.NewReader(body))
			s.mu.Lock()
			s.sent = append(s.sent, call{r.Method, strings.ToLower(r.URL.Path), string(body)})
			s.mu.Unlock()
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// since returns the contents of the calls of a method from a number on that concern a
// case, by the IDs, and how many calls there were.
func (s *site) since(from int, method, name string) (bodies map[string]string, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	bodies = map[string]string{}
	for _, c := range s.sent[from:] {
		if c.method == method && mentions(c.id, name) {
			bodies[c.id] = c.body
		}
	}
	return bodies, len(s.sent)
}

// mentions reports whether an ID is in one of the groups of a case.
func mentions(id, name string) bool {
	_, group, _ := strings.Cut(strings.ToLower(id), "/resourcegroups/")
	group, _, _ = strings.Cut(group, "/")
	return group == name || strings.HasPrefix(group, name+".")
}

const (
	groupsVersion      = "2021-04-01"
	deploymentsVersion = "2021-04-01"
)

// group is the path of a group.
func group(subscription, name string) string {
	return "/subscriptions/" + subscription + "/resourceGroups/" + name
}

// begin makes the groups of a case, and removes them at the end of its test.
func (s *site) begin(t *testing.T, c *Case) {
	t.Helper()
	for path, location := range map[string]string{
		group(harness.SubscriptionID, c.Name): "westus", group(harness.SubscriptionID, c.Name+".other"): "eastus", group(secondSubscription, c.Name+".far"): "northeurope",
	} {
		s.Do(t, harness.Request{Method: http.MethodPut, Path: path + "?api-version=" + groupsVersion, Body: `{"location":"` + location + `","tags":{"of":"` + location + `"}}`}).Want(t, 201)
	}
}

// end deletes all groups of a case, and expects that nothing is left of it.
func (s *site) end(t *testing.T, c *Case) {
	t.Helper()
	var paths []string
	for _, subscription := range []string{harness.SubscriptionID, secondSubscription} {
		for _, g := range s.Do(t, harness.Request{Path: "/subscriptions/" + subscription + "/resourcegroups?api-version=" + groupsVersion}).Want(t, 200).Values(t) {
			if id, _ := g["id"].(string); mentions(id, c.Name) {
				paths = append(paths, id+"?api-version="+groupsVersion)
			}
		}
	}
	for _, path := range paths {
		id, _, _ := strings.Cut(path, "?")
		for _, lock := range s.Do(t, harness.Request{Path: id + "/providers/Microsoft.Authorization/locks?api-version=2020-05-01"}).Want(t, 200).Values(t) {
			s.Do(t, harness.Request{Method: http.MethodDelete, Path: lock["id"].(string) + "?api-version=2020-05-01"}).Want(t, 200, 204)
		}
		s.Do(t, harness.Request{Method: http.MethodDelete, Path: path}).Want(t, 200, 202)
	}
	for _, path := range paths {
		harness.Await(t, time.Minute, "the end of "+path, func() bool { return s.Do(t, harness.Request{Path: path}).Status == http.StatusNotFound })
	}
	for region, contoso := range s.contosos {
		for _, id := range contoso.Resources(t) {
			if mentions(id, c.Name) {
				t.Errorf("%s still holds %s", region, id)
			}
		}
	}
}

// deployment is where a case is deployed.
type deployment struct {
	*site
	*Case
	scope, location string
}

func (d deployment) path(action string) string {
	return d.scope + "/providers/Microsoft.Resources/deployments/" + d.Name + action + "?api-version=" + deploymentsVersion
}

// content is what a client sends.
func (d deployment) content(t *testing.T, mode string) string {
	t.Helper()
	properties := map[string]any{"mode": mode, "template": json.RawMessage(d.Template)}
	if d.Parameters != nil {
		var file struct{ Parameters json.RawMessage }
		harness.OK(t, json.Unmarshal(d.Parameters, &file))
		properties["parameters"] = file.Parameters
	}
	body := map[string]any{"properties": properties}
	if d.Scope != "" {
		body["location"] = d.location
	}
	text, err := json.Marshal(body)
	harness.OK(t, err)
	return string(text)
}

// record is a deployment's.
type record struct {
	Properties struct {
		ProvisioningState string
		Outputs           map[string]struct{ Value any }
		OutputResources   []struct{ ID string }
		Error             json.RawMessage
	}
}

func (r record) resources() (ids []string) {
	for _, o := range r.Properties.OutputResources {
		ids = append(ids, strings.ToLower(o.ID))
	}
	slices.Sort(ids)
	return ids
}

// put deploys the case and expects that it succeeds.
func (d deployment) put(t *testing.T, mode string) (r record) {
	t.Helper()
	d.Do(t, harness.Request{Method: http.MethodPut, Path: d.path(""), Body: d.content(t, mode)}).Want(t, 200, 201)
	harness.Await(t, time.Minute, "the end of the deployment "+d.Name, func() bool {
		r = record{}
		harness.OK(t, json.Unmarshal(d.Do(t, harness.Request{Path: d.path("")}).Want(t, 200).Body, &r))
		return slices.Contains([]string{"Succeeded", "Failed", "Canceled"}, r.Properties.ProvisioningState)
	})
	if r.Properties.ProvisioningState != "Succeeded" {
		t.Fatalf("%s: %s", r.Properties.ProvisioningState, r.Properties.Error)
	}
	return r
}

// whatIf returns what what-if announces, by the folded IDs, without what it ignores.
func (d deployment) whatIf(t *testing.T) map[string]string {
	t.Helper()
	var answer struct {
		Properties struct {
			Changes []struct {
				ResourceID, ChangeType, UnsupportedReason string
				Delta                                     []struct{ Path string }
			}
		}
	}
	a := d.Do(t, harness.Request{Method: http.MethodPost, Path: d.path("/whatIf"), Body: d.content(t, "Incremental")}).Want(t, 200)
	harness.OK(t, json.Unmarshal(a.Body, &answer))
	changes := map[string]string{}
	for _, c := range answer.Properties.Changes {
		says := c.ChangeType
		for _, delta := range c.Delta {
			says += " " + delta.Path
		}
		if c.ChangeType != "Ignore" {
			changes[strings.ToLower(c.ResourceID)] = says
		}
	}
	return changes
}

// template runs `portico template` on a case.
func (d deployment) template(t *testing.T) (says string, code int) {
	t.Helper()
	dir := t.TempDir()
	args := []string{"template", write(t, dir, "template.json", d.Template), "--scope", d.scope, "--location", d.location, "--output", "json"}
	if d.Parameters != nil {
		args = append(args, "--parameters", write(t, dir, "parameters.json", d.Parameters))
	}
	process := harness.Start(t, "portico template", dir, harness.Build(t).Portico, args...)
	if code = process.ExitCode(t); code != 0 {
		return process.Stderr(), code
	}
	return process.Stdout(), 0
}

// planned are the folded IDs of what the command shows of a case.
func (d deployment) planned(t *testing.T) (ids []string) {
	t.Helper()
	says, code := d.template(t)
	if code != 0 {
		t.Fatalf("portico template: %s", says)
	}
	var plan struct {
		Resources []struct {
			ID       string
			Existing bool
		}
	}
	harness.OK(t, json.Unmarshal([]byte(says), &plan))
	for _, r := range plan.Resources {
		if !r.Existing {
			ids = append(ids, strings.ToLower(r.ID))
		}
	}
	slices.Sort(ids)
	return ids
}

func write(t *testing.T, dir, name string, text []byte) string {
	t.Helper()
	file := filepath.Join(dir, name)
	harness.OK(t, os.WriteFile(file, text, 0o600))
	return file
}

// endsIn reports whether a folded ID ends in one of these.
func endsIn(id string, ends []string) bool {
	return slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(id, strings.ToLower(end)) })
}

// same reports the differences of two maps.
func same(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	for _, key := range slices.Sorted(maps.Keys(got)) {
		if w, is := want[key]; !is || w != got[key] {
			t.Errorf("%s: %s is %q, want %q", what, key, got[key], w)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if _, is := got[key]; !is {
			t.Errorf("%s: %s is missing, want %q", what, key, want[key])
		}
	}
}
