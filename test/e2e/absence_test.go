package e2e

import (
	"net/http"
	"testing"
)

// 404 answers that prove nothing about the resource.
var (
	notThisSubscription = stubError(http.StatusNotFound, "SubscriptionNotFound", "The subscription could not be found.")
	ingressPage         = stubAnswer{status: http.StatusNotFound, html: true, body: "<html><head><title>404 Not Found</title></head><body>nginx</body></html>"}
	emptyNotFound       = stubAnswer{status: http.StatusNotFound}
)

func TestRowOutlivesAGETAnsweredWithSubscriptionNotFound(t *testing.T) {
	t.Parallel()
	wantRowToOutliveGETs(t, notThisSubscription)
}

func TestRowOutlivesAGETAnsweredWithAnIngressPage(t *testing.T) {
	t.Parallel()
	wantRowToOutliveGETs(t, ingressPage)
}

func TestRowOutlivesAGETAnsweredWithAnEmptyNotFound(t *testing.T) {
	t.Parallel()
	wantRowToOutliveGETs(t, emptyNotFound)
}

// wantRowToOutliveGETs answers every GET of a resource, the client's and Portico's,
// with a 404 that proves nothing, and later properly. The row must stay.
func wantRowToOutliveGETs(t *testing.T, lie stubAnswer) {
	t.Helper()
	w, id := newStubThing(t, stubSettings, "there")
	w.put(t, id, "westus").Want(t, 201)
	end := w.stub.script(stubScript{method: http.MethodGet, path: id, answer: lie})
	for range 3 {
		if got := w.send(t, http.MethodGet, id, "").Want(t, 404); string(got.Body) != lie.body {
			t.Errorf("the client got %q, the provider said %q", got.Body, lie.body)
		}
		if !w.shown(t, id) {
			t.Fatal("the resource is not shown in /resources any more")
		}
		w.wantRefusedInEastUS(t, "while nobody says that the resource is gone", id)
	}
	end()
	w.wantLiveInWestUS(t, id)
}

func TestRowOutlivesANotFoundSentOnlyToTheClient(t *testing.T) {
	t.Parallel()
	w, id := newStubThing(t, stubSettings, "there")
	w.put(t, id, "westus").Want(t, 201)
	end := w.stub.script(stubScript{
		method: http.MethodGet, path: id, when: func(c stubCall) bool { return c.relayed || c.principal == alice.Name },
		answer: stubError(http.StatusNotFound, "ResourceNotFound", "The resource was not found."),
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

func TestRowGoesWhenClientAndPorticoGetResourceNotFound(t *testing.T) {
	t.Parallel()
	w, id := newStubThing(t, stubSettings, "gone")
	w.put(t, id, "westus").Want(t, 201)
	w.stub.remove("westus", id)
	w.send(t, http.MethodGet, id, "").WantError(t, 404, "ResourceNotFound")
	soon(t, "/resources not to show the resource any more", func() bool { return !w.shown(t, id) })
	w.wantForgotten(t, id)
}

func TestRowOutlivesADELETEAnsweredWithSubscriptionNotFound(t *testing.T) {
	t.Parallel()
	wantRowToOutliveDELETE(t, notThisSubscription)
}

func TestRowOutlivesADELETEAnsweredWithAnIngressPage(t *testing.T) {
	t.Parallel()
	wantRowToOutliveDELETE(t, ingressPage)
}

// wantRowToOutliveDELETE answers a DELETE with a 404 that proves nothing. The row
// must stay.
func wantRowToOutliveDELETE(t *testing.T, lie stubAnswer) {
	t.Helper()
	w, id := newStubThing(t, stubSettings, "there")
	w.put(t, id, "westus").Want(t, 201)
	w.stub.script(stubScript{method: http.MethodDelete, path: id, left: 1, answer: lie})
	if got := w.send(t, http.MethodDelete, id, "").Want(t, 404); string(got.Body) != lie.body {
		t.Errorf("the client got %q, the provider said %q", got.Body, lie.body)
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
