package e2e

import (
	"bytes"
	"fmt"
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

	"portico/test/harness"
)

const (
	certifySubscription = "00000000-0000-0000-0000-0000000000c1"
	certifySibling      = "00000000-0000-0000-0000-0000000000c2"
	strangeSubscription = "00000000-0000-0000-0000-0000000000c3"
	certifyTenant       = "00000000-0000-0000-0000-0000000000bb"
)

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
		reported := endpoint.Notifications(t)[certifySubscription].Namespaces
		if reported["contoso.compute"] != "Registered" || reported["contoso.insight"] != "Registered" {
			t.Errorf("%s was told %v of the subscription", endpoint.Region, reported)
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
	if !strings.Contains(alone.stdout, "no token of") || !strings.Contains(alone.stdout, " not tried\n") || alone.verdict("tracked") != "kept" {
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
		t.Errorf("with a token of no one it says %s", refused.stderr)
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

// A group that holds something is left alone.
func TestCertifyNeedsAnEmptyGroup(t *testing.T) {
	t.Parallel()
	endpoint, global := harness.StartContoso(t, "westus", harness.ContosoOptions{}), harness.StartContoso(t, "global", harness.ContosoOptions{})
	id := "/subscriptions/" + certifySubscription + "/resourceGroups/certify/providers/Contoso.Compute/virtualMachines/precious"
	endpoint.Do(t, harness.Request{Method: "PUT", Path: id + "?api-version=" + harness.Version, Body: `{"location":"westus"}`}).Want(t, 201)
	c := certify(t, contosoFile(t).straightAt(endpoint, global), 2)
	if !strings.Contains(c.stderr, id) || !strings.Contains(c.stderr, "is not empty") {
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
	for created := range 4 {
		p, reports := startCertify(t, f)
		harness.Await(t, time.Minute, "the suite to make something", func() bool {
			n := 0
			for _, c := range all {
				n += len(c.IDs(t))
			}
			return n > 10*created
		})
		harness.OK(t, syscall.Kill(p.Pid(), []syscall.Signal{syscall.SIGINT, syscall.SIGTERM}[created%2]))
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

// What the broken cases made can be left to look at, and nothing else.
func TestCertifyKeepsWhatBrokenCasesCreated(t *testing.T) {
	t.Parallel()
	endpoint := harness.StartContoso(t, "westus", harness.ContosoOptions{Args: []string{"--break", "etag-strong"}})
	global := harness.StartContoso(t, "global", harness.ContosoOptions{})
	f := contosoFile(t).only("Contoso.Compute", "virtualMachines").straightAt(endpoint, global)
	f["profiles"] = []string{"core", "etags"}
	c := certify(t, f, 1, "--case", "put/creates-with-201,etag/is-weak", "--keep")
	ids := endpoint.IDs(t)
	if left := c.results(t).Left; len(ids) != 1 || !slices.Equal(left, ids) || !strings.Contains(c.stdout, "left behind: "+ids[0]+"\n") {
		t.Errorf("left %q, and the provider has %q:\n%s", left, ids, c.stdout)
	}
}

// What a provider does not delete is said.
func TestCertifySaysWhatIsLeft(t *testing.T) {
	t.Parallel()
	endpoint, global := harness.StartContoso(t, "westus", harness.ContosoOptions{}), harness.StartContoso(t, "global", harness.ContosoOptions{})
	to, err := url.Parse(endpoint.URL)
	harness.OK(t, err)
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
