package e2e

import (
	"net/http"
	"testing"
	"time"

	"portico/test/harness"
)

func TestDELETEAnswered204BeforeAnAcceptedCreateLands(t *testing.T) {
	t.Parallel()
	wantCreateToOutliveEarlyDELETE(t, nil)
}

func TestDELETEAnswered404BeforeAnAcceptedCreateLands(t *testing.T) {
	t.Parallel()
	answer := harness.Fault(http.StatusNotFound, "ResourceNotFound", "The resource was not found.")
	wantCreateToOutliveEarlyDELETE(t, &answer)
}

// wantCreateToOutliveEarlyDELETE has a DELETE come to a provider that holds nothing
// yet of an accepted create, and says so: by 204, or by the answer given.
func wantCreateToOutliveEarlyDELETE(t *testing.T, answer *harness.Reply) {
	t.Helper()
	w, id := newStubThing(t, stubSettings, "late")
	create := w.stub.accept(http.MethodPut, "westus", id, "Location")
	w.put(t, id, "westus").Want(t, 202)
	status := http.StatusNoContent
	if answer != nil {
		status = answer.Status
		w.stub.Script(harness.Script{Method: http.MethodDelete, Part: id, Times: 1, Answer: *answer})
	}
	w.send(t, http.MethodDelete, id, "").Want(t, status)
	w.wantRefusedInEastUS(t, "before the create lands", id)

	create.finish()
	w.send(t, http.MethodGet, id, "").Want(t, 200)
	w.wantRefusedInEastUS(t, "after the create landed", id)
	w.wantLiveInWestUS(t, id)

	w.send(t, http.MethodDelete, id, "").Want(t, 200)
	w.wantHeldIn(t, id)
	soon(t, "/resources not to show the resource any more", func() bool { return !w.shown(t, id) })
	w.wantForgotten(t, id)
}

func TestGroupDeleteBeforeAnAcceptedCreateLands(t *testing.T) {
	t.Parallel()
	w, id := newStubThing(t, stubSettings+"groupDelete: {limit: 2m}\n", "late")
	create := w.stub.accept(http.MethodPut, "westus", id, "Location")
	w.put(t, id, "westus").Want(t, 202)
	result, _ := ownOperation(t, w.deleteGroup(t, "rg").Want(t, 202))

	// Whether a DELETE is sent to a provider that has nothing yet is Portico's own
	// affair; it gets the time for it, and for what would come of it.
	group := w.GroupPath("rg") + "?api-version=2021-04-01"
	polls := len(create.polls())
	for bound := time.Now().Add(settled); time.Now().Before(bound) && len(create.polls()) < polls+30; time.Sleep(20 * time.Millisecond) {
		if status := w.sendTo(t, http.MethodGet, group, "").Status; status != http.StatusOK {
			t.Errorf("the group is answered with %d while a create in it is under way", status)
			break
		}
	}
	create.finish()
	end := w.result(t, result, settled)
	if w.sendTo(t, http.MethodGet, group, "").Want(t, 200, 404).Status == http.StatusOK {
		t.Logf("the group stays, with %v: %d %s", w.stub.Holding(w.GroupPath("rg")), end.Status, end.Body)
		return
	}
	if left := w.stub.Holding(w.GroupPath("rg")); len(left) != 0 {
		t.Errorf("outlived their group: %v", left)
	}
}

// deleteGroup asks for the deletion of a group.
func (w stubWorld) deleteGroup(t *testing.T, group string) harness.Answer {
	t.Helper()
	return w.sendTo(t, http.MethodDelete, w.GroupPath(group)+"?api-version=2021-04-01", "")
}

// result polls an operation's result until it is there. The bound is no measure of
// anything but the test's patience.
func (w stubWorld) result(t *testing.T, at string, patience time.Duration) harness.Answer {
	t.Helper()
	for bound := time.Now().Add(patience); time.Now().Before(bound); time.Sleep(50 * time.Millisecond) {
		if a := w.sendTo(t, http.MethodGet, at, ""); a.Status != http.StatusAccepted {
			return a
		}
	}
	t.Fatalf("the operation has not ended after %v", patience)
	return harness.Answer{}
}
