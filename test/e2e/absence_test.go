package e2e

import (
	"net/http"
	"testing"

	"portico/test/harness"
)

// Every GET of a resource, the client's and Portico's, is answered with a 404 that proves
// nothing, and later properly. The row must stay.
func TestRowOutlivesAGETAnsweredWithAnIngressPage(t *testing.T) {
	t.Parallel()
	lie := harness.Reply{Status: http.StatusNotFound, Header: harness.Header("Content-Type", "text/html"), Body: "<html><head><title>404 Not Found</title></head><body>nginx</body></html>"}
	w, id := newStubThing(t, stubSettings, "there")
	w.put(t, id, "westus").Want(t, 201)
	end := w.stub.Script(harness.Script{Method: http.MethodGet, Part: id, Answer: lie})
	for range 3 {
		if got := w.send(t, http.MethodGet, id, "").Want(t, 404); string(got.Body) != lie.Body {
			t.Errorf("the client got %q, the provider said %q", got.Body, lie.Body)
		}
		if !w.shown(t, id) {
			t.Fatal("the resource is not shown in /resources any more")
		}
		w.wantRefusedInEastUS(t, "while no one says that the resource is gone", id)
	}
	end()
	w.wantLiveInWestUS(t, id)
}

func TestRowOutlivesANotFoundSentOnlyToTheClient(t *testing.T) {
	t.Parallel()
	w, id := newStubThing(t, stubSettings, "there")
	w.put(t, id, "westus").Want(t, 201)
	end := w.stub.Script(harness.Script{
		Method: http.MethodGet, Part: id, When: func(c harness.Call) bool {
			return relayed(c) || c.Header.Get("X-Ms-Client-Principal-Name") == alice.Name
		},
		Answer: harness.Fault(http.StatusNotFound, "ResourceNotFound", "The resource was not found."),
	})
	for range 3 {
		w.send(t, http.MethodGet, id, "").WantError(t, 404, "ResourceNotFound")
		if !w.shown(t, id) {
			t.Fatal("the resource is not shown in /resources any more")
		}
		w.wantRefusedInEastUS(t, "while Portico itself is told that the resource is there", id)
	}
	soon(t, "HEAD to find the resource", func() bool { return w.send(t, http.MethodHead, id, "").Status == http.StatusNoContent })
	end()
	w.wantLiveInWestUS(t, id)
}

// What stands before a provider answers a DELETE with a page and 200, and then properly. The
// row must stay until then.
func TestRowOutlivesADELETEAnsweredWithAPage(t *testing.T) {
	t.Parallel()
	w, id := newStubThing(t, stubSettings, "there")
	w.put(t, id, "westus").Want(t, 201)
	w.stub.Script(harness.Script{Method: http.MethodDelete, Part: id, Times: 1, Answer: harness.Reply{Status: http.StatusOK, Body: pageText}})
	w.send(t, http.MethodDelete, id, "").Want(t, 200)
	w.wantRefusedInEastUS(t, "after a DELETE that proves nothing", id)
	w.wantLiveInWestUS(t, id)
	w.send(t, http.MethodDelete, id, "").Want(t, 200)
	w.wantForgotten(t, id)
}

// A DELETE is answered with a 404 that proves nothing. The row must stay.
func TestRowOutlivesADELETEAnsweredWithSubscriptionNotFound(t *testing.T) {
	t.Parallel()
	lie := harness.Fault(http.StatusNotFound, "SubscriptionNotFound", "The subscription could not be found.")
	w, id := newStubThing(t, stubSettings, "there")
	w.put(t, id, "westus").Want(t, 201)
	w.stub.Script(harness.Script{Method: http.MethodDelete, Part: id, Times: 1, Answer: lie})
	if got := w.send(t, http.MethodDelete, id, "").Want(t, 404); string(got.Body) != lie.Body {
		t.Errorf("the client got %q, the provider said %q", got.Body, lie.Body)
	}
	if !w.shown(t, id) {
		t.Fatal("the resource is not shown in /resources any more")
	}
	soon(t, "Portico to ask for the resource by itself", func() bool { return len(w.stub.own(http.MethodGet, id)) > 0 })
	w.wantRefusedInEastUS(t, "after a DELETE that proves nothing", id)
	w.wantLiveInWestUS(t, id)
	w.send(t, http.MethodDelete, id, "").Want(t, 200)
	w.wantForgotten(t, id)
}
