package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"portico/test/harness"
)

// hangingRegion is a provider endpoint that takes reads and never answers them.
// Its writes fail, so that every row in it needs to be verified.
type hangingRegion struct {
	url          string
	begun, ended atomic.Int32 // reads
}

func startHangingRegion(t *testing.T) *hangingRegion {
	t.Helper()
	h := &hangingRegion{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodGet:
			h.begun.Add(1)
			<-r.Context().Done()
			h.ended.Add(1)
		case strings.Contains(r.URL.Path, "/providers/"):
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	t.Cleanup(server.Close)
	h.url = server.URL
	return h
}

// However many rows wait for a region that does not answer, a row in another
// region is verified while all calls to the first still hang.
func TestHangingRegionDoesNotDelayOthers(t *testing.T) {
	t.Parallel()
	hanging := startHangingRegion(t)
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{
		Endpoints: map[string]string{"westus": hanging.url},
		Extra: `
upstream: {callTimeout: 1h}
index: {sendWithin: 1m, askTimeout: 1h, pollFloor: 50ms}
`,
	}})
	w.PutGroup(t, "rg")
	w.PutResource(t, "rg", machines+"well", body("eastus"))
	fail := func(name, region string, header http.Header) {
		t.Helper()
		w.Portico.Do(t, harness.Request{
			Method: http.MethodPut, Path: w.ResourcePath("rg", machines+name) + "?api-version=" + harness.Version, Body: body(region), Header: header,
		}).Want(t, 500)
	}
	const rows = 150
	for i := range rows {
		fail(fmt.Sprintf("hanging%d", i), "westus", nil)
	}
	soon(t, "the region is asked as often as it may be", func() bool { return hanging.begun.Load() >= 16 })
	fail("well", "eastus", harness.Header("x-contoso-fault", "status=500"))
	soon(t, "the row in the other region is settled", func() bool {
		open := w.Portico.Admin(t, harness.Request{Path: "/admin/jobs?kind=verify&limit=1000"}).Want(t, 200).Values(t)
		return len(open) == rows
	})
	if n := hanging.ended.Load(); n != 0 {
		t.Errorf("%d calls to the hanging region had ended by then", n)
	}
}
