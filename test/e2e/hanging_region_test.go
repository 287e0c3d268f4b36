package e2e

import (
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"

	"portico/test/harness"
)

// However many rows wait for a region that does not answer, a row in another
// region is verified while all calls to the first still hang.
func TestHangingRegionDoesNotDelayOthers(t *testing.T) {
	t.Parallel()
	hanging := harness.StartScripted(t) // of writes that fail, so that every row needs to be verified
	hanging.Script(harness.Script{Method: http.MethodPut, Part: "/providers/", Answer: harness.Reply{Status: http.StatusInternalServerError}})
	var ended atomic.Int32 // reads
	hanging.On(http.MethodGet, "", func(_ http.ResponseWriter, r *http.Request) {
		<-r.Context().Done()
		ended.Add(1)
	})
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{
		Endpoints: map[string]string{"westus": hanging.URLs["westus"]},
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
	soon(t, "the region is asked as often as it may be", func() bool {
		return len(slices.DeleteFunc(hanging.Calls(), func(c harness.Call) bool { return c.Method != http.MethodGet })) >= 16
	})
	fail("well", "eastus", harness.Header("x-contoso-fault", "status=500"))
	soon(t, "the row in the other region is settled", func() bool {
		open := w.Portico.Admin(t, harness.Request{Path: "/admin/jobs?kind=verify&limit=1000"}).Want(t, 200).Values(t)
		return len(open) == rows
	})
	if n := ended.Load(); n != 0 {
		t.Errorf("%d calls to the hanging region had ended by then", n)
	}
}
