package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
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
	"syscall"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"portico/test/harness"
)

const (
	certifySubscription = "00000000-0000-0000-0000-0000000000c1"
	certifySibling      = "00000000-0000-0000-0000-0000000000c2"
	strangeSubscription = "00000000-0000-0000-0000-0000000000c3"
	certifyTenant       = "00000000-0000-0000-0000-0000000000bb"
)

// certifyFile is a certify.yaml as a test changes it.
type certifyFile map[string]any

// contosoFile is what the owner of contoso would write, without the way to it.
func contosoFile(t *testing.T) certifyFile {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash("../contract/testdata/contoso.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	f := certifyFile{}
	if err := yaml.Unmarshal(text, &f); err != nil {
		t.Fatal(err)
	}
	f["subscription"] = certifySubscription
	f["profiles"] = []string{"core", "tracked", "nested", "extension", "asynchronous", "tags", "etags", "skus"}
	f["limits"] = map[string]string{"pause": "50ms"} // what contoso begins here soon ends
	f["samples"] = map[string]any{}
	for _, provider := range f["providers"].([]any) {
		p := provider.(map[string]any)
		for _, resourceType := range p["resourceTypes"].([]any) {
			asSample(f, p["namespace"].(string), resourceType.(map[string]any))
		}
	}
	return f
}

// only leaves some types of one namespace.
func (f certifyFile) only(namespace string, types ...string) certifyFile {
	all := f["providers"].([]any)
	f["providers"] = slices.DeleteFunc(all, func(p any) bool { return p.(map[string]any)["namespace"] != namespace })
	provider := f["providers"].([]any)[0].(map[string]any)
	provider["resourceTypes"] = slices.DeleteFunc(provider["resourceTypes"].([]any), func(t any) bool {
		return !slices.Contains(types, t.(map[string]any)["name"].(string))
	})
	maps.DeleteFunc(f["samples"].(map[string]any), func(name string, _ any) bool {
		return !slices.ContainsFunc(types, func(t string) bool { return name == namespace+"/"+t })
	})
	return f
}

// asSample gives a type its bodies by a sample, as people write them.
func asSample(f certifyFile, namespace string, resourceType map[string]any) {
	name := resourceType["name"].(string)
	if name != "workspaces" {
		return
	}
	bodies := maps.Clone(resourceType["contract"].(map[string]any))
	f["samples"].(map[string]any)[namespace+"/"+name] = map[string]any{
		"create": bodies["body"], "update": map[string]any{"properties": bodies["change"]},
	}
	maps.DeleteFunc(bodies, func(key string, _ any) bool { return key == "body" || key == "other" || key == "change" })
	resourceType["contract"] = bodies
}

// certified is a call of portico certify that has ended.
type certified struct {
	stdout, stderr string
	reports        string
}

// startCertify calls portico certify with a file and further arguments.
func startCertify(t *testing.T, f certifyFile, args ...string) (p *harness.Process, reports string) {
	t.Helper()
	text, err := yaml.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "certify.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	reports = filepath.Join(t.TempDir(), "reports")
	args = append([]string{"certify", "--config", file, "--report", reports}, args...)
	return harness.Start(t, "portico certify", t.TempDir(), harness.Build(t).Portico, args...), reports
}

// certify is startCertify to its end, with an exit status.
func certify(t *testing.T, f certifyFile, exit int, args ...string) certified {
	t.Helper()
	p, reports := startCertify(t, f, args...)
	exits(t, p, exit)
	return certified{p.Stdout(), p.Stderr(), reports}
}

// exits fails the test unless the process ends by itself with an exit status.
func exits(t *testing.T, p *harness.Process, want int) {
	t.Helper()
	if code := p.ExitCode(t); code != want {
		t.Fatalf("exit code %d, want %d\n%s%s", code, want, p.Stdout(), p.Stderr())
	}
}

// certifyResults are the parts of results.json that tests look at.
type certifyResults struct {
	Claimed []string
	Results []struct{ Case, Profile, Outcome, Why string }
	Left    []string
}

func (c certified) results(t *testing.T) certifyResults {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(c.reports, "results.json"))
	if err != nil {
		t.Fatal(err)
	}
	return parseResults(t, text)
}

func parseResults(t *testing.T, text []byte) certifyResults {
	t.Helper()
	var r certifyResults
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// outcomes are the cases with an outcome, each once.
func (r certifyResults) outcomes(outcome string) []string {
	var ids []string
	for _, result := range r.Results {
		if result.Outcome == outcome {
			ids = append(ids, result.Case)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// verdict is the line of a profile in the summary.
func (c certified) verdict(profile string) string {
	for line := range strings.Lines(c.stdout) {
		if strings.HasPrefix(line, profile+" ") {
			fields := strings.Fields(line)
			return strings.Join(fields[5:], " ")
		}
	}
	return "absent"
}

// regionalContoso are the endpoints of contoso in all regions.
func regionalContoso(t *testing.T, args ...string) []*harness.Contoso {
	t.Helper()
	var all []*harness.Contoso
	for _, region := range append(harness.RegionNames(), "global") {
		all = append(all, harness.StartContoso(t, region, harness.ContosoOptions{Args: args}))
	}
	return all
}

// straightAt sets the way to endpoints.
func (f certifyFile) straightAt(all ...*harness.Contoso) certifyFile {
	endpoints := map[string]string{}
	for _, c := range all {
		endpoints[c.Region] = c.URL
	}
	f["endpoints"], f["tenant"] = endpoints, certifyTenant
	return f
}

// holdNothing expects that no endpoint has a resource.
func holdNothing(t *testing.T, all []*harness.Contoso) {
	t.Helper()
	for _, c := range all {
		if ids := c.IDs(t); len(ids) > 0 {
			t.Errorf("%s still has %q", c.Region, ids)
		}
	}
}

func TestCertifyJudgesAProvider(t *testing.T) {
	t.Parallel()
	all := regionalContoso(t)
	f := contosoFile(t).straightAt(all...)
	f["profiles"] = append(f["profiles"].([]string), "subscriptions")
	c := certify(t, f, 0)
	for _, profile := range f["profiles"].([]string) {
		if got := c.verdict(profile); got != "kept" {
			t.Errorf("%s: %s", profile, got)
		}
	}
	if got := c.verdict("move"); got != "not claimed" && got != "absent" {
		t.Errorf("move, which is not claimed: %s", got)
	}
	r := c.results(t)
	if len(r.outcomes("kept")) < 80 || len(r.outcomes("broken"))+len(r.outcomes("unreached"))+len(r.Left) > 0 {
		t.Errorf("%d kept, broken %q, unreached %q, left %q", len(r.outcomes("kept")), r.outcomes("broken"), r.outcomes("unreached"), r.Left)
	}
	for _, name := range []string{"report.html", "junit.xml"} {
		if _, err := os.Stat(filepath.Join(c.reports, name)); err != nil {
			t.Error(err)
		}
	}
	if !strings.Contains(c.stderr, filepath.Join(c.reports, "report.html")) || !strings.Contains(c.stderr, "cases: ") {
		t.Errorf("it says %s", c.stderr)
	}
	holdNothing(t, all)
	for _, endpoint := range all {
		told := endpoint.Notifications(t)[certifySubscription].Namespaces
		if told["contoso.compute"] != "Registered" || told["contoso.insight"] != "Registered" {
			t.Errorf("%s was told %v of the subscription", endpoint.Region, told)
		}
	}
	again := certify(t, f, 0, "--case", "put/creates-with-201,delete/200-then-204", "-o", "json")
	if r := parseResults(t, []byte(again.stdout)); len(r.outcomes("kept")) != 2 || len(r.Results) > 40 {
		t.Errorf("two cases: %d results, kept %q", len(r.Results), r.outcomes("kept"))
	}
}

// throughCases are some of each profile, by each of the callers.
var throughCases = []string{
	"put/creates-with-201", "put/location-never-changes", "header/systemdata", "child/of-a-parent-that-is-not-there",
	"202-patch/ends-with-the-update", "poll/in-another-tenant", "poll/by-somebody-else", "put/replaces-tags", "etag/is-weak", "skus/of-a-resource",
}

func TestCertifyJudgesThroughAFrontDoor(t *testing.T) {
	t.Parallel()
	all := regionalContoso(t)
	admin := harness.Token{Raw: "admin-s-token", TenantID: certifyTenant, ObjectID: "00000000-0000-0000-0000-0000000000d0", Name: "admin@contoso.example"}
	owner := harness.Token{Raw: "owner-s-token", TenantID: certifyTenant, ObjectID: "00000000-0000-0000-0000-0000000000d1", Name: "owner@contoso.example"}
	colleague := harness.Token{Raw: "colleague-s-token", TenantID: certifyTenant, ObjectID: "00000000-0000-0000-0000-0000000000d2", Name: "colleague@contoso.example"}
	stranger := harness.Token{Raw: "stranger-s-token", TenantID: harness.TenantID, ObjectID: "00000000-0000-0000-0000-0000000000d3", Name: "stranger@fabrikam.example"}
	// All types of the reference provider are held to the suite through Portico by
	// test/contract; here it is the command that is tried.
	f := contosoFile(t).only("Contoso.Compute", "virtualMachines", "virtualMachines/disks")
	f["profiles"] = []string{"core", "tracked", "nested", "asynchronous", "tags", "etags", "skus"}
	p := harness.StartPortico(t, harness.Config{
		Tokens: []harness.Token{admin, owner, colleague, stranger}, Owners: []string{admin.ObjectID, stranger.ObjectID},
		Subscriptions: []harness.Subscription{
			{ID: certifySubscription, TenantID: certifyTenant, DisplayName: "Certify", State: "Enabled"},
			{ID: certifySibling, TenantID: certifyTenant, DisplayName: "Sibling", State: "Enabled"},
			{ID: strangeSubscription, TenantID: harness.TenantID, DisplayName: "Strange", State: "Enabled"},
		},
		Endpoints: endpointsOf(all), EastUS: "Amerika (Ost)",
	})
	p.ReplaceProviders(t, f.asMap(t, all))
	for i, caller := range []harness.Token{owner, colleague} {
		for j, subscription := range []string{certifySubscription, certifySibling} {
			p.Do(t, harness.Request{
				Method: "PUT", Header: harness.Header("Authorization", "Bearer "+admin.Raw),
				Path: fmt.Sprintf("/subscriptions/%s/providers/Microsoft.Authorization/roleAssignments/00000000-0000-0000-0000-00000000000%d?api-version=2022-04-01", subscription, 2*i+j),
				Body: fmt.Sprintf(`{"properties":{"principalId":%q,"principalType":"User","roleDefinitionId":"/subscriptions/%s/providers/Microsoft.Authorization/roleDefinitions/%s"}}`,
					caller.ObjectID, subscription, contributorRole),
			}).Want(t, 201)
		}
	}
	noGroups := func() {
		t.Helper()
		holdNothing(t, all)
		asOwner := harness.Header("Authorization", "Bearer "+owner.Raw)
		groups := p.Do(t, harness.Request{Method: "GET", Path: "/subscriptions/" + certifySubscription + "/resourcegroups?api-version=2021-04-01", Header: asOwner}).Want(t, 200)
		if strings.Contains(string(groups.Body), `"name"`) {
			t.Errorf("groups are left: %s", groups.Body)
		}
	}
	door := map[string]any{"url": p.URL, "tokenFile": writeToken(t, owner), "name": owner.Name}
	f["portico"], f["sibling"] = door, certifySibling

	alone := certify(t, f, 0, "--case", "header/systemdata,put/creates-with-201,put/location-never-changes", "--profile", "core,tracked")
	if !strings.Contains(alone.stdout, "no token of") || alone.verdict("tracked") != "kept" {
		t.Errorf("without colleague and stranger it says\n%s", alone.stdout)
	}

	f["limits"] = map[string]string{"pause": "50ms", "run": "700ms"}
	if stopped := certify(t, f, 2); !strings.Contains(stopped.stderr, "limits.run, 700ms, have passed") || !strings.Contains(stopped.stdout, "since the run was stopped") {
		t.Errorf("after its time it says\n%s%s", stopped.stdout, stopped.stderr)
	}
	f["limits"] = map[string]string{"pause": "50ms"}
	noGroups()

	door["colleagueTokenFile"], door["colleagueName"], door["strangerTokenFile"] = writeToken(t, colleague), colleague.Name, writeToken(t, stranger)
	c := certify(t, f, 0, "--case", strings.Join(throughCases, ","))
	for _, profile := range f["profiles"].([]string) {
		if got := c.verdict(profile); got != "kept" {
			t.Errorf("%s: %s", profile, got)
		}
	}
	noGroups()
	for _, secret := range []string{owner.Raw, colleague.Raw, stranger.Raw} {
		for _, name := range []string{"report.html", "junit.xml", "results.json"} {
			if text, err := os.ReadFile(filepath.Join(c.reports, name)); err == nil && bytes.Contains(text, []byte(secret)) {
				t.Errorf("%s has a token", name)
			}
		}
		if strings.Contains(c.stdout+c.stderr, secret) {
			t.Error("a token is printed")
		}
	}

	f["portico"].(map[string]any)["tokenFile"] = writeToken(t, harness.Token{Raw: "nobody-s-token"})
	if refused := certify(t, f, 2); !strings.Contains(refused.stderr, "401") || strings.Contains(refused.stderr, "nobody-s-token") {
		t.Errorf("with a token of nobody it says %s", refused.stderr)
	}
}

func endpointsOf(all []*harness.Contoso) map[string]string {
	urls := map[string]string{}
	for _, c := range all {
		urls[c.Region] = c.URL
	}
	return urls
}

func writeToken(t *testing.T, token harness.Token) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(token.Raw+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// asMap is the file's providers as a region map has them, with their endpoints.
func (f certifyFile) asMap(t *testing.T, all []*harness.Contoso) string {
	t.Helper()
	text, err := yaml.Marshal(f["providers"])
	if err != nil {
		t.Fatal(err)
	}
	var providers []map[string]any
	if err := yaml.Unmarshal(text, &providers); err != nil { // a copy
		t.Fatal(err)
	}
	for _, p := range providers {
		delete(p, "checkNameAvailability")
		lists := map[string][]string{}
		for region, url := range endpointsOf(all) {
			lists[region] = []string{url}
		}
		p["endpoints"], p["headers"] = lists, map[string][]string{"request": harness.SteeringHeaders()}
		for _, resourceType := range p["resourceTypes"].([]any) {
			delete(resourceType.(map[string]any), "contract")
		}
	}
	text, err = yaml.Marshal(map[string]any{"providers": providers})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestCertifyNamesTheBrokenRule(t *testing.T) {
	t.Parallel()
	endpoint := harness.StartContoso(t, "westus", harness.ContosoOptions{Args: []string{"--break", "delete-absent-404"}})
	f := contosoFile(t).straightAt(endpoint, harness.StartContoso(t, "global", harness.ContosoOptions{}))
	c := certify(t, f, 1, "--profile", "core")
	for _, want := range []string{"broken delete/of-what-never-was on Contoso.Compute/networkInterfaces\n", "also on Contoso.Compute/networkInterfaces/ipConfigurations, ", "expected: ", "got:      404", "-X DELETE ", "not kept\n"} {
		if !strings.Contains(c.stdout, want) {
			t.Errorf("it does not say %q:\n%s", want, c.stdout)
		}
	}
	broken := c.results(t).outcomes("broken")
	if !slices.Contains(broken, "delete/of-what-never-was") || slices.ContainsFunc(broken, func(id string) bool { return !strings.HasPrefix(id, "delete/") }) {
		t.Errorf("broken: %q", broken)
	}
	holdNothing(t, []*harness.Contoso{endpoint})
}

// What is no provider passes nothing, whatever it answers.
func TestCertifyIsNotPassedByWhatIsNoProvider(t *testing.T) {
	t.Parallel()
	for what, answer := range map[string]http.HandlerFunc{
		"refuses everything": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"error":{"code":"NotFound","message":"No."}}`)
		},
		"answers nothing": func(http.ResponseWriter, *http.Request) {},
		"echoes":          func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) },
		"always creates": func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusCreated)
			_, _ = io.Copy(w, r.Body)
		},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(answer)
			t.Cleanup(server.Close)
			f := contosoFile(t)
			f["endpoints"], f["tenant"] = map[string]string{"westus": server.URL, "global": server.URL}, certifyTenant
			f["limits"] = map[string]any{"wait": "200ms", "cleanup": "2s"}
			c := certify(t, f, 1)
			for _, profile := range f["profiles"].([]string) {
				if got := c.verdict(profile); got != "not kept" {
					t.Errorf("%s: %s", profile, got)
				}
			}
		})
	}
}

// A claim that nothing tries is none.
func TestCertifyDoesNotPassAClaimThatIsNotTried(t *testing.T) {
	t.Parallel()
	endpoint := harness.StartContoso(t, "westus", harness.ContosoOptions{})
	f := certifyFile{"subscription": certifySubscription, "profiles": []string{"skus"}}.straightAt(endpoint)
	f["providers"] = []any{map[string]any{"namespace": "Contoso.Insight", "resourceTypes": []any{
		map[string]any{"name": "workspaces", "kind": "tracked", "apiVersions": []string{harness.Version}},
	}}}
	f["samples"] = map[string]any{"Contoso.Insight/workspaces": map[string]any{"create": map[string]any{"properties": map[string]any{}}}}
	if c := certify(t, f, 1); c.verdict("skus") != "not tried" {
		t.Errorf("it says\n%s", c.stdout)
	}
}

func TestCertifyRefusesWhatCannotBe(t *testing.T) {
	t.Parallel()
	endpoint := harness.StartContoso(t, "westus", harness.ContosoOptions{})
	global := harness.StartContoso(t, "global", harness.ContosoOptions{})
	for _, row := range []struct {
		what   string
		change func(f certifyFile)
		args   []string
		says   []string
	}{
		{"an unknown key", func(f certifyFile) { f["surprise"] = 1 }, nil, []string{"certify.yaml:", `unknown key "surprise" (allowed: subscription, `}},
		{"an unknown profile", func(f certifyFile) { f["profiles"] = []string{"perfection"} }, nil, []string{"certify.yaml:", `"perfection" is no profile (allowed: core, `}},
		{"no way", func(f certifyFile) { delete(f, "endpoints") }, nil, []string{"certify.yaml:1: neither endpoints nor portico is given"}},
		{"an unknown profile in a flag", nil, []string{"--profile", "perfection"}, []string{`--profile: there is no "perfection" (allowed: core, `}},
		{"an unknown case", nil, []string{"--case", "put/everything"}, []string{`--case: there is no "put/everything"`, "--list"}},
		{"a case that is not claimed", nil, []string{"--case", "subscription/deleted"}, []string{"of the profile subscriptions, which is not claimed"}},
		{"an unknown flag", nil, []string{"--all"}, []string{"unknown flag: --all"}},
		{"nobody there", func(f certifyFile) {
			f["endpoints"] = map[string]string{"westus": "http://" + harness.FreeAddress(t), "global": global.URL}
		}, nil, []string{"connection refused"}},
		{"no front door there", func(f certifyFile) {
			delete(f, "endpoints")
			f["portico"] = map[string]string{"url": "http://" + harness.FreeAddress(t), "tokenFile": writeToken(t, harness.Token{Raw: "sesame"})}
		}, nil, []string{"connection refused"}},
	} {
		t.Run(row.what, func(t *testing.T) {
			f := contosoFile(t).straightAt(endpoint, global)
			if row.change != nil {
				row.change(f)
			}
			c := certify(t, f, 2, row.args...)
			for _, want := range row.says {
				if !strings.Contains(c.stderr, want) {
					t.Errorf("it does not say %q but %s", want, c.stderr)
				}
			}
			if c.stdout != "" {
				t.Errorf("it prints %s", c.stdout)
			}
		})
	}
	if ids := endpoint.IDs(t); len(ids) > 0 {
		t.Errorf("something was made: %q", ids)
	}
}

// A provider that asks for the front door's certificate is shown it.
func TestCertifyShowsItsCertificate(t *testing.T) {
	t.Parallel()
	servers, clients := harness.NewAuthority(t), harness.NewAuthority(t)
	server, client := servers.Issue(t, harness.Leaf{Name: "localhost", Server: true}), clients.Issue(t, harness.Leaf{Name: "front"})
	options := harness.ContosoOptions{TLS: &server, Clients: clients}
	f := contosoFile(t).straightAt(harness.StartContoso(t, "westus", options), harness.StartContoso(t, "global", options))
	f["tls"] = map[string]string{"ca": servers.File, "cert": client.CertFile, "key": client.KeyFile}
	if c := certify(t, f, 0, "--case", "put/creates-with-201"); c.verdict("core") != "kept" {
		t.Errorf("with a certificate it says\n%s", c.stdout)
	}
	cases := "certificate/none-is-refused,certificate/an-untrusted-one-is-refused,certificate/an-untrusted-call-does-nothing,get/head-has-no-body-on-the-wire"
	if c := certify(t, f, 0, "--case", cases, "--profile", "core,certificates"); c.verdict("certificates") != "kept" || c.verdict("core") != "kept" {
		t.Errorf("of who is refused it says\n%s", c.stdout)
	}
	f["tls"] = map[string]string{"ca": servers.File}
	if c := certify(t, f, 1, "--case", "put/creates-with-201"); !strings.Contains(c.stderr, "refuses to be told of the subscription: 403") || c.verdict("core") != "not kept" {
		t.Errorf("without a certificate it says\n%s%s", c.stdout, c.stderr)
	}
	delete(f, "tls")
	if c := certify(t, f, 2, "--case", "put/creates-with-201"); !strings.Contains(c.stderr, "certificate signed by unknown authority") {
		t.Errorf("without the authorities it says\n%s", c.stderr)
	}
}

// A group that holds something is left alone.
func TestCertifyNeedsAnEmptyGroup(t *testing.T) {
	t.Parallel()
	endpoint, global := harness.StartContoso(t, "westus", harness.ContosoOptions{}), harness.StartContoso(t, "global", harness.ContosoOptions{})
	id := "/subscriptions/" + certifySubscription + "/resourceGroups/certify/providers/Contoso.Compute/virtualMachines/precious"
	endpoint.Do(t, harness.Request{Method: "PUT", Path: id + "?api-version=" + harness.Version, Body: `{"location":"westus"}`}).Want(t, 201)
	c := certify(t, contosoFile(t).straightAt(endpoint, global), 2)
	if !strings.Contains(c.stderr, id) || !strings.Contains(c.stderr, "holds something already") {
		t.Errorf("it says %s", c.stderr)
	}
	if ids := endpoint.IDs(t); !slices.Equal(ids, []string{id}) {
		t.Errorf("the provider has %q", ids)
	}
}

// Interrupted in the middle, at whichever point, the suite leaves nothing behind.
func TestCertifyCleansUpWhenInterrupted(t *testing.T) {
	t.Parallel()
	all := regionalContoso(t)
	f := contosoFile(t).straightAt(all...)
	for made := range 4 {
		p, reports := startCertify(t, f)
		harness.Await(t, time.Minute, "the suite to make something", func() bool {
			n := 0
			for _, c := range all {
				n += len(c.IDs(t))
			}
			return n > 10*made
		})
		if err := syscall.Kill(p.Pid(), []syscall.Signal{syscall.SIGINT, syscall.SIGTERM}[made%2]); err != nil {
			t.Fatal(err)
		}
		if code := p.ExitCode(t); code != 2 || !strings.Contains(p.Stderr(), "it was interrupted") {
			t.Errorf("exit code %d: %s", code, p.Stderr())
		}
		holdNothing(t, all)
		r := certified{reports: reports}.results(t)
		if len(r.outcomes("left out")) == 0 || len(r.Left) > 0 {
			t.Errorf("left out %q, left %q", r.outcomes("left out"), r.Left)
		}
	}
}

// What a provider does not delete is said.
func TestCertifySaysWhatIsLeft(t *testing.T) {
	t.Parallel()
	endpoint, global := harness.StartContoso(t, "westus", harness.ContosoOptions{}), harness.StartContoso(t, "global", harness.ContosoOptions{})
	to, err := url.Parse(endpoint.URL)
	if err != nil {
		t.Fatal(err)
	}
	pass := httputil.NewSingleHostReverseProxy(to)
	keeper := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodDelete {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		pass.ServeHTTP(w, r)
	}))
	t.Cleanup(keeper.Close)
	f := contosoFile(t).straightAt(endpoint, global)
	f["endpoints"].(map[string]string)["westus"] = keeper.URL
	c := certify(t, f, 1, "--case", "put/creates-with-201")
	if c.verdict("core") != "kept" {
		t.Errorf("the case is\n%s", c.stdout)
	}
	ids := endpoint.IDs(t)
	left := c.results(t).Left
	if len(ids) == 0 || len(left) != len(ids) {
		t.Errorf("left %q, and the provider has %q", left, ids)
	}
	for _, id := range ids {
		if !strings.Contains(c.stdout, "left behind: "+id+"\n") {
			t.Errorf("it does not say that %s is left:\n%s", id, c.stdout)
		}
	}
}

func TestCertifyListsItsCases(t *testing.T) {
	t.Parallel()
	run := func(exit int, args ...string) (stdout, stderr string) {
		p := harness.Start(t, "portico certify", t.TempDir(), harness.Build(t).Portico, append([]string{"certify"}, args...)...)
		if code := p.ExitCode(t); code != exit {
			t.Fatalf("%q: exit code %d, want %d\n%s%s", args, code, exit, p.Stdout(), p.Stderr())
		}
		return p.Stdout(), p.Stderr()
	}
	table, _ := run(0, "--list")
	if !strings.HasPrefix(table, "ID ") || !strings.Contains(table, "put/creates-with-201") || !strings.Contains(table, "resource reference, Put Resource") {
		t.Errorf("the list is\n%s", table)
	}
	text, _ := run(0, "--list", "-o", "json")
	var list struct {
		Value []struct{ ID, Profile, Rule, Section string }
	}
	if err := json.Unmarshal([]byte(text), &list); err != nil || len(list.Value) != strings.Count(table, "\n")-1 {
		t.Fatal(len(list.Value), err)
	}
	for _, c := range list.Value {
		if c.ID == "" || c.Profile == "" || c.Rule == "" || c.Section == "" {
			t.Errorf("%+v", c)
		}
	}
	if _, says := run(2); !strings.Contains(says, "certify.yaml") {
		t.Errorf("without a file it says %s", says)
	}
	if _, says := run(2, "--compare", "a"); !strings.Contains(says, "2 arg") {
		t.Errorf("--compare with one file says %s", says)
	}
	if _, says := run(2, "--compare", "nowhere.json", "nowhere.json"); !strings.Contains(says, "nowhere.json") {
		t.Errorf("--compare of what is not there says %s", says)
	}
}

func TestCertifyComparesRuns(t *testing.T) {
	t.Parallel()
	global := harness.StartContoso(t, "global", harness.ContosoOptions{})
	run := func(exit int, args ...string) string {
		endpoint := harness.StartContoso(t, "westus", harness.ContosoOptions{Args: args})
		return filepath.Join(certify(t, contosoFile(t).straightAt(endpoint, global), exit, "--case", "delete/of-what-never-was").reports, "results.json")
	}
	good, bad := run(0), run(1, "--break", "delete-absent-404")
	for _, row := range []struct {
		before, after string
		exit          int
	}{{good, bad, 1}, {bad, good, 0}, {good, good, 0}} {
		p := harness.Start(t, "portico certify", t.TempDir(), harness.Build(t).Portico, "certify", "--compare", row.before, row.after)
		if code := p.ExitCode(t); code != row.exit || row.before != row.after && !strings.Contains(p.Stdout(), "delete/of-what-never-was") {
			t.Errorf("exit code %d, want %d\n%s%s", code, row.exit, p.Stdout(), p.Stderr())
		}
	}
}
