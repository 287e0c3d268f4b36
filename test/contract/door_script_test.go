package contract_test

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"portico/provider/certify/contract"
	"portico/provider/contoso"
	"portico/test/harness"
)

// shownThroughDoor are breaks, and the cases that notice them through a front door in its
// own way: in pages that it puts together, in moves whose end it looks for itself, in its
// question about planned resources, and by polling URLs of its own.
var shownThroughDoor = map[string][]string{
	"page-loses-item":         {"list/every-page-is-reached"},
	"move-copies":             {"move/by-an-operation", "move/of-several"},
	"move-leaves-children":    {"move/takes-children-along"},
	"put-existing-409":        {"preflight/accepts-what-the-put-accepts", "put/overwrites-with-200"},
	"location-result-differs": {"202-patch/ends-as-the-synchronous-call-would-have"},
}

// TestScriptsThroughPortico runs the scripts of cases that are broken through a front door:
// there, with nothing prepared, they show the faults again.
func TestScriptsThroughPortico(t *testing.T) {
	t.Parallel()
	behind := serveRegions(t)
	behind.become(t)
	p := startDoor(t, behind.endpoints, "")
	environment := []string{"endpoint=" + p.URL, "OWNER_TOKEN=" + owner.Raw, "COLLEAGUE_TOKEN=" + colleague.Raw, "STRANGER_TOKEN=" + stranger.Raw}
	for _, name := range slices.Sorted(maps.Keys(shownThroughDoor)) {
		group, cases := "certify-"+name, shownThroughDoor[name]
		behind.become(t, name)
		target := throughDoor(t, p)
		target.Group, target.OnceEach, target.Cases, target.Limits = group, true, cases, limits
		var tried contract.Recorder
		harness.OK(t, contract.Try(t.Context(), target, &tried))
		for _, r := range tried.Results() {
			if r.Outcome != contract.Broken {
				t.Errorf("through a front door %s of a provider with %s is %s %s", r.Case, name, r.Outcome, r.Why)
				continue
			}
			// Where nothing is there: in other groups, which are shown as if they were the same.
			in := func(other string) string {
				return strings.ReplaceAll(runScript(t, strings.ReplaceAll(r.Script, group, other), environment...), other, group)
			}
			got := in("broken-" + name)
			checkShown(t, r.Case, r.Script, r.Faults, got)
			behind.become(t)
			if right := in("right-" + name); lastAnswer(right, r.Script) == lastAnswer(got, r.Script) {
				t.Errorf("%s: with a provider that keeps the rule the script ends in the same way:\n%s\n%s", r.Case, r.Script, got)
			}
			behind.become(t, name)
		}
		if n := len(tried.Results()); n != len(cases) {
			t.Errorf("%d cases were tried of %v", n, cases)
		}
	}
}

// lastAnswer is the status and the body of the last answer to a script: headers come in
// another order each time.
func lastAnswer(answers, script string) string {
	last := answers[max(0, strings.LastIndex(answers, "HTTP/1.1 ")):]
	status, rest, _ := strings.Cut(last, "\r\n")
	_, body, _ := strings.Cut(rest, "\r\n\r\n")
	return status + "\n" + settle(body, script)
}

// regions are endpoints of the reference provider, whose provider can be replaced.
type regions struct {
	endpoints map[string]string
	providers map[string]*atomic.Pointer[contoso.Provider]
}

func serveRegions(t *testing.T) *regions {
	t.Helper()
	all := &regions{map[string]string{}, map[string]*atomic.Pointer[contoso.Provider]{}}
	for _, region := range append(harness.RegionNames(), contract.Global) {
		provider := &atomic.Pointer[contoso.Provider]{}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { provider.Load().ServeHTTP(w, r) }))
		t.Cleanup(server.Close)
		all.endpoints[region], all.providers[region] = server.URL, provider
	}
	return all
}

// become puts a new provider with the breaks behind each endpoint.
func (all *regions) become(t *testing.T, breaks ...string) {
	t.Helper()
	for region, at := range all.providers {
		provider, err := contoso.New(contoso.Options{Region: region, Breaks: breaks})
		harness.OK(t, err)
		t.Cleanup(func() { harness.OK(t, provider.Close()) })
		at.Store(provider)
	}
}
