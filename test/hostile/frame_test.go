package hostile

import (
	"net/http"
	"testing"
)

// The world is one in which attacks could succeed: what is allowed works, and what
// belongs to the other tenant does not.
func TestTenantsAreIsolated(t *testing.T) {
	t.Parallel()
	w, thing := newThing(t, options{})
	w.as(t, carol, http.MethodGet, thing+api, "").Want(t, 200)
	if !w.provider.holds(thing) {
		t.Fatal("the provider does not hold what was put")
	}
	w.provider.forget()
	for _, method := range []string{"GET", "HEAD", "PUT", "PATCH", "DELETE"} {
		w.as(t, bob, method, thing+api, located("westus")).Want(t, 404)
	}
	w.wantNothingSent(t)
}
