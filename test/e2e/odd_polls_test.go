package e2e

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"portico/test/harness"
)

var operationNotFound = harness.Fault(http.StatusNotFound, "OperationNotFound", "The operation was not found.")

// lostAfter is how long an operation must not be found until it counts as lost,
// lostWindow how long it may have its effect after that.
const (
	lostAfter  = 2 * time.Second
	lostWindow = 4 * time.Second
)

// withLoss are stubSettings in which operations are lost soon, and may have their
// effect for a time after that.
func withLoss(window time.Duration) string {
	return strings.Replace(stubSettings, "lateWriteWindow: 2s", "lateWriteWindow: "+window.String()+", lostAfter: "+lostAfter.String(), 1)
}

// pollOf is where a client polls an accepted write.
func pollOf(t *testing.T, accepted harness.Answer, header string) *url.URL {
	t.Helper()
	at, err := url.Parse(accepted.Header.Get(header))
	if err != nil || at.Path == "" {
		t.Fatalf("%s: %q %v", header, accepted.Header.Get(header), err)
	}
	return at
}

func TestOperationThatIsNotFoundAtFirst(t *testing.T) {
	t.Parallel()
	const early = 4 // more than the three that lose an operation whose time is up
	w, id := newStubThing(t, stubSettings, "replicated")
	create := w.stub.accept(http.MethodPut, "westus", id, "Azure-AsyncOperation")
	w.stub.Script(harness.Script{Method: http.MethodGet, Part: "/" + create.name, Times: early, Answer: operationNotFound})
	w.put(t, id, "westus").Want(t, 202)
	w.wantRefusedInEastUS(t, "at once", id)
	soon(t, "Portico to see the operation under way", func() bool {
		w.wantRefusedInEastUS(t, "while the operation is not found", id)
		return len(create.polls()) > early+2
	})
	w.wantRefusedInEastUS(t, "while the operation is under way", id)
	create.finish()
	w.wantLiveInWestUS(t, id)
}

func TestFollowOutlivesAClientsPollAnswered400(t *testing.T) {
	t.Parallel()
	w, id := newStubThing(t, stubSettings, "followed")
	create := w.stub.accept(http.MethodPut, "westus", id, "Location")
	refusal := harness.Fault(http.StatusBadRequest, "InvalidApiVersionParameter", "The operation knows no such api-version.")
	w.stub.Script(harness.Script{
		Method: http.MethodGet, Part: "/" + create.name, Answer: refusal,
		When: func(c harness.Call) bool { return strings.Contains(c.Query, harness.VersionOld) },
	})
	at := pollOf(t, w.put(t, id, "westus").Want(t, 202), "Location")
	w.wantFollowToGoOn(t, create, func() {
		w.sendTo(t, http.MethodGet, at.EscapedPath()+"?api-version="+harness.VersionOld, "").WantError(t, 400, "InvalidApiVersionParameter")
	})
}

// wantFollowToGoOn wants Portico to go on polling an accepted create after a
// client's polls, and to find out how it ends.
func (w stubWorld) wantFollowToGoOn(t *testing.T, create *stubOperation, clientPolls func()) {
	t.Helper()
	for range 3 {
		clientPolls()
		w.wantRefusedInEastUS(t, "after a client's poll", create.id)
	}
	polls := len(create.polls())
	soon(t, "Portico to go on polling", func() bool { return len(create.polls()) > polls+2 })
	clientPolls()
	w.wantRefusedInEastUS(t, "while the operation is under way", create.id)
	create.finish()
	w.wantLiveInWestUS(t, create.id)
}

func TestLostCreateThatNeverLands(t *testing.T) {
	t.Parallel()
	w, id := newStubThing(t, withLoss(lostWindow), "lost")
	create := w.stub.accept(http.MethodPut, "westus", id, "Location")
	w.stub.Script(harness.Script{Method: http.MethodGet, Part: "/" + create.name, Answer: operationNotFound})
	w.put(t, id, "westus").Want(t, 202)
	soon(t, "Portico to poll", func() bool { return len(create.polls()) > 0 })
	w.wantForgotten(t, id)
	// It is forgotten after both times, however much later: this holds of a machine of any speed.
	polls := create.polls()
	calls := w.stub.seen(func(c harness.Call) bool {
		return c.Method == http.MethodPut && c.Region == "eastus" && strings.EqualFold(c.Path, id)
	})
	if took := calls[0].At.Sub(polls[0].At); took < lostAfter+lostWindow-100*time.Millisecond {
		t.Errorf("the create was given up %v after the first 404, want at least %v for the operation and %v for the resource", took, lostAfter, lostWindow)
	}
	if len(polls) < 3 {
		t.Errorf("the operation was lost after %d polls", len(polls))
	}
}

func TestLostCreateThatLands(t *testing.T) {
	t.Parallel()
	w, id := newStubThing(t, withLoss(time.Minute), "lost")
	create := w.stub.accept(http.MethodPut, "westus", id, "Location")
	w.stub.Script(harness.Script{Method: http.MethodGet, Part: "/" + create.name, Answer: operationNotFound})
	w.put(t, id, "westus").Want(t, 202)
	soon(t, "Portico to have polled for long enough", func() bool {
		w.wantRefusedInEastUS(t, "while the operation is not found", id)
		polls := create.polls()
		return len(polls) >= 3 && time.Since(polls[0].At) > 2*lostAfter
	})
	w.stub.Hold("westus", id)
	w.wantLiveInWestUS(t, id)
}

func TestLostDeleteThatLands(t *testing.T) {
	t.Parallel()
	w, id := newStubThing(t, withLoss(time.Minute), "going")
	w.put(t, id, "westus").Want(t, 201)
	remove := w.stub.accept(http.MethodDelete, "westus", id, "Location")
	w.stub.Script(harness.Script{Method: http.MethodGet, Part: "/" + remove.name, Answer: operationNotFound})
	w.send(t, http.MethodDelete, id, "").Want(t, 202)
	soon(t, "Portico to have polled for long enough", func() bool {
		polls := remove.polls()
		return len(polls) >= 3 && time.Since(polls[0].At) > 2*lostAfter
	})
	calls := len(w.stub.own(http.MethodGet, id))
	soon(t, "Portico to ask for the resource by itself", func() bool { return len(w.stub.own(http.MethodGet, id)) > calls })
	if code := w.wantRefusedInEastUS(t, "while the delete may land", id).ErrorCode(); code != "Conflict" {
		t.Errorf("while the delete may land, a PUT to eastus is refused as %q, want %q", code, "Conflict")
	}
	w.stub.Remove("westus", id)
	soon(t, "/resources not to show the resource any more", func() bool { return !w.shown(t, id) })
	w.wantForgotten(t, id)
}
