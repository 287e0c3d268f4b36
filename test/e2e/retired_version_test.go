package e2e

import (
	"net/http"
	"strings"
	"testing"

	"portico/test/harness"
)

// A row whose api-version its provider knows no longer is asked for with it until
// index.versionFallback has passed, and then with the newest one of its type.
func TestRetiredVersion(t *testing.T) {
	t.Parallel()
	p := harness.StartScripted(t)
	p.Script(harness.Script{Method: http.MethodPut, Part: "/providers/", Answer: harness.Reply{Status: http.StatusInternalServerError}})
	p.Script(harness.Script{Method: http.MethodGet, Answer: harness.Reply{Status: http.StatusOK, Body: `{"properties":{"provisioningState":"Succeeded"}}`}})
	p.Script(harness.Script{Method: http.MethodGet, Part: "api-version=" + harness.VersionOld, Answer: harness.Fault(http.StatusBadRequest, "InvalidApiVersionParameter", "The api-version is retired.")})
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{
		Endpoints: map[string]string{"westus": p.URLs["westus"]},
		Extra: `
index: {sendWithin: 1m, askTimeout: 20s, pollFloor: 50ms, versionFallback: 500ms}
`,
	}})
	w.PutGroup(t, "rg")
	w.Portico.Do(t, harness.Request{
		Method: http.MethodPut, Path: w.ResourcePath("rg", machines+"old") + "?api-version=" + harness.VersionOld, Body: body("westus"),
	}).Want(t, 500)
	soon(t, "it is settled", func() bool { return openJobs(t, w.Portico, "verify") == 0 })
	var versions []string // of the reads, each once, in their order
	for _, c := range p.Calls() {
		if version := strings.TrimPrefix(c.Query, "api-version="); c.Method == http.MethodGet && (len(versions) == 0 || versions[len(versions)-1] != version) {
			versions = append(versions, version)
		}
	}
	if got := strings.Join(versions, ", "); got != harness.VersionOld+", "+harness.VersionPreview {
		t.Errorf("asked with %s", got)
	}
}
