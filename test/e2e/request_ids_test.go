package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"portico/test/harness"
)

// What a request leaves behind goes on under its ids: every call to a provider has its
// correlation id and the id that its client gave it, whoever makes the call, and when.
func TestWhatARequestBeganCarriesItsIDs(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Extra: patient(moveSettings) + "\nbatch: {immediate: 1}\n"}})
	from, to := group(t, w, w.SubscriptionID, "From"), group(t, w, w.SubscriptionID, "To")
	id := makeIn(t, w, from, map[string]string{machines + "vm": "westus"})[0]
	create(t, w.Portico, id+"/disks/d", "westus")
	part := func(name string) string {
		return fmt.Sprintf(`{"name":%q,"httpMethod":"PUT","url":"%s/providers/%s%s?api-version=%s","content":%s}`,
			name, from, machines, name, harness.Version, body("westus"))
	}
	put := harness.Request{Method: http.MethodPut, Path: id + "?api-version=" + harness.Version, Body: body("westus")}
	other := put
	other.Path = from + "/providers/" + machines + "other?api-version=" + harness.Version
	for i, c := range []struct {
		name, method, path, fault string
		request                   harness.Request
		status, least             int // of the answer; calls
	}{
		{"an accepted PUT is followed", "PUT", "/vm", "async=accepted", put, 202, 3},
		{"a new resource of another operation is followed", "PUT", "/other", "async=azure-async", other, 201, 3},
		{"the requests of a batch are sent by a job", "", "", "", harness.Request{
			Method: http.MethodPost, Path: "/batch?api-version=2020-06-01", Body: `{"requests":[` + part("one") + "," + part("two") + `]}`,
		}, 202, 2},
		{"a move is followed, and what moved is asked for", "POST", "/moveResources", "async=location", moveRequest("moveResources", from, to, id), 202, 3},
		{"a deletion deletes what its group holds", "DELETE", "/vm", "async=location", harness.Request{Method: http.MethodDelete, Path: to + ownVersion}, 202, 3},
		// When the PUT could no longer take effect it is asked for again, by no one's request.
		{"a PUT without an answer is verified", "PUT", "/other", "reset-after", other, 502, 2},
	} {
		if c.fault != "" {
			misbehave(t, w, c.method, c.path, c.fault, 1)
		}
		for _, region := range append(harness.RegionNames(), "global") {
			w.Contoso(region).ForgetRequests(t)
		}
		correlation, client := fmt.Sprintf("00000000-0000-0000-0000-0000000000c%d", i), fmt.Sprintf("the client's %d", i)
		c.request.Header = harness.Header("x-ms-correlation-request-id", correlation, "x-ms-client-request-id", client)
		w.Portico.Do(t, c.request).Want(t, c.status)
		workEnds(t, w.Portico)
		n := 0
		for _, region := range append(harness.RegionNames(), "global") {
			for _, r := range w.Contoso(region).Requests(t) {
				if strings.HasPrefix(r.Path, "/contoso/") {
					continue
				}
				n++
				if r.Headers.Get("X-Ms-Correlation-Request-Id") != correlation || len(r.Headers["X-Ms-Client-Request-Id"]) != 1 || r.Headers.Get("X-Ms-Client-Request-Id") != client {
					t.Errorf("%s: %s %s has the ids %q and %q", c.name, r.Method, r.Path, r.Headers["X-Ms-Correlation-Request-Id"], r.Headers["X-Ms-Client-Request-Id"])
				}
			}
		}
		if n < c.least {
			t.Errorf("%s: the providers had %d calls, want at least %d", c.name, n, c.least)
		}
		behave(t, w)
	}
}
