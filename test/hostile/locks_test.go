package hostile

import (
	"fmt"
	"net/http"
	"testing"
)

const lockPlace = "/providers/Microsoft.Authorization/locks/l?api-version=2020-05-01"

func (w world) lock(t *testing.T, scope, level string) {
	t.Helper()
	w.as(t, alice, http.MethodPut, scope+lockPlace, fmt.Sprintf(`{"properties":{"level":%q}}`, level)).Want(t, 200, 201)
}

// If one scope's name is the beginning of another's, a lock on it applies to that scope
// only.
func TestALockDoesNotHoldForLongerNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	w.group(t, "rg")
	w.group(t, "rg2")
	for _, path := range []string{w.thing("rg", "a"), w.thing("rg", "ab"), w.thing("rg", "a;b"), w.thing("rg2", "a")} {
		w.put(t, path)
	}
	w.lock(t, w.thing("rg", "a"), "ReadOnly")
	w.as(t, alice, http.MethodDelete, w.thing("RG", "A")+api, "").WantError(t, 409, "ScopeLocked")
	w.as(t, alice, http.MethodDelete, w.thing("rg", "a;b")+api, "").Want(t, 200)
	w.as(t, alice, http.MethodDelete, w.thing("rg", "ab")+api, "").Want(t, 200)
	w.lock(t, w.GroupPath("rg"), "CanNotDelete")
	w.as(t, alice, http.MethodDelete, w.thing("rg2", "a")+api, "").Want(t, 200)
	w.as(t, alice, http.MethodDelete, w.GroupPath("Rg")+"?api-version=2021-04-01", "").WantError(t, 409, "ScopeLocked")
	w.as(t, alice, http.MethodDelete, w.GroupPath("rg2")+"?api-version=2021-04-01", "").Want(t, 200, 202)
}
