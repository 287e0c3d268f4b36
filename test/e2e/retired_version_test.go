package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"portico/test/harness"
)

// A row whose api-version its provider knows no longer is asked for with it until
// index.versionFallback has passed, and then with the newest one of its type.
func TestRetiredVersion(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var versions []string // of the reads, each once, in their order
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		version := r.URL.Query().Get("api-version")
		switch {
		case !strings.Contains(r.URL.Path, "/providers/"): // a notice
		case r.Method != http.MethodGet:
			w.WriteHeader(http.StatusInternalServerError)
		case version == harness.VersionOld:
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error":{"code":"InvalidApiVersionParameter","message":"The api-version is retired."}}`)
		default:
			fmt.Fprint(w, `{"properties":{"provisioningState":"Succeeded"}}`)
		}
		mu.Lock()
		defer mu.Unlock()
		if r.Method == http.MethodGet && (len(versions) == 0 || versions[len(versions)-1] != version) {
			versions = append(versions, version)
		}
	}))
	t.Cleanup(server.Close)
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{
		Endpoints: map[string]string{"westus": server.URL},
		Extra: `
index: {sendWithin: 1m, askTimeout: 20s, pollFloor: 50ms, versionFallback: 500ms}
`,
	}})
	w.PutGroup(t, "rg")
	w.Portico.Do(t, harness.Request{
		Method: http.MethodPut, Path: w.ResourcePath("rg", machines+"old") + "?api-version=" + harness.VersionOld, Body: body("westus"),
	}).Want(t, 500)
	soon(t, "it is settled", func() bool { return openJobs(t, w.Portico, "verify") == 0 })
	mu.Lock()
	defer mu.Unlock()
	if got := strings.Join(versions, ", "); got != harness.VersionOld+", "+harness.VersionPreview {
		t.Errorf("asked with %s", got)
	}
}
