package hostile

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

const lockPlace = "/providers/Microsoft.Authorization/locks/l?api-version=2020-05-01"

func (w world) lock(t *testing.T, scope, level string) {
	t.Helper()
	w.as(t, alice, http.MethodPut, scope+lockPlace, fmt.Sprintf(`{"properties":{"level":%q}}`, level)).Want(t, 200, 201)
}

func (w world) unlock(t *testing.T, scope string) {
	t.Helper()
	w.as(t, alice, http.MethodDelete, scope+lockPlace, "").Want(t, 200)
}

// A lock on a subscription applies to everything below it, also outside of groups: no
// forbidden request reaches a provider.
func TestALockOnASubscriptionHoldsForAllBelow(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{})
	group := w.group(t, "rg")
	w.group(t, "to")
	thing := w.thing("rg", "one")
	w.put(t, thing)
	s := w.SubscriptionPath()
	at := s + "/providers/Evil.Test"
	requests := map[string][]string{
		"PUT":    {at + "/locations/westus/quotas/q", at + "/marks/m", thing, thing + "/parts/p", thing + "/notes/n", thing + "/providers/Evil.Test/marks/m", group + "/providers/Evil.Test/marks/m", group, s + "/tagNames/n"},
		"PATCH":  {at + "/locations/westus/quotas/q", at + "/marks/m", thing, thing + "/notes/n", group},
		"POST":   {at + "/locations/westus/checkNameAvailability", at + "/locations/westus/quotas/q/raise", at + "/checkNameAvailability", at + "/register", at + "/unregister", at + "/marks/m/act", thing + "/start", thing + "/listKeys"},
		"DELETE": {at + "/locations/westus/quotas/q", at + "/locations/westus/quotas/q/parts/p", at + "/marks/m", thing, thing + "/notes/n", thing + "/parts/absent", w.thing("rg", "absent"), group, s + "/tagNames/n"},
	}
	for _, level := range []string{"ReadOnly", "CanNotDelete"} {
		w.lock(t, s, level)
		w.provider.Forget()
		for method, paths := range requests {
			if level == "CanNotDelete" && method != http.MethodDelete {
				continue
			}
			for _, path := range paths {
				for _, spelling := range []string{path, strings.ToUpper(path)} {
					w.as(t, alice, method, spelling+api, located("westus")).WantError(t, 409, "ScopeLocked")
					batch := fmt.Sprintf(`{"requests":[{"httpMethod":%q,"url":%q,"content":%s}]}`, method, spelling+api, located("westus"))
					if got := w.as(t, alice, http.MethodPost, "/batch?api-version=2021-04-01", batch).Want(t, 200); !strings.Contains(string(got.Body), "ScopeLocked") {
						t.Errorf("in a batch: %s", got.Body)
					}
				}
			}
		}
		if level == "ReadOnly" {
			w.as(t, alice, http.MethodPost, group+"/moveResources"+api, fmt.Sprintf(`{"targetResourceGroup":%q,"resources":[%q]}`, w.GroupPath("to"), thing)).WantError(t, 409, "ScopeLocked")
		}
		for _, tags := range []string{s, group, thing} {
			w.as(t, alice, http.MethodDelete, tags+"/providers/Microsoft.Resources/tags/default?api-version=2021-04-01", "").WantError(t, 409, "ScopeLocked")
		}
		if seen := w.provider.Calls(); len(seen) > 0 {
			t.Errorf("%s: reached the provider: %+v", level, seen)
		}
		w.as(t, alice, http.MethodGet, thing+api, "").Want(t, 200)
		w.unlock(t, s)
	}
	w.provider.Forget()
	w.as(t, alice, http.MethodPost, at+"/locations/westus/checkNameAvailability"+api, `{}`).Want(t, 200)
	w.as(t, alice, http.MethodDelete, at+"/locations/westus/quotas/q"+api, "").Want(t, 204)
	if len(w.provider.Calls()) != 2 {
		t.Error("without a lock the requests do not reach the provider")
	}
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
