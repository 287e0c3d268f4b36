package hostile

import (
	"net/http"
	"testing"
)

// Attacks could succeed in this world: allowed requests work, and requests for the
// other tenant's resources do not.
func TestTenantsAreIsolated(t *testing.T) {
	t.Parallel()
	w, thing := newThing(t, options{})
	w.as(t, carol, http.MethodGet, thing+api, "").Want(t, 200)
	if !w.provider.Holds("", thing) {
		t.Fatal("the provider does not hold what was put")
	}
	w.provider.Forget()
	for _, method := range []string{"GET", "HEAD", "PUT", "PATCH", "DELETE"} {
		w.as(t, bob, method, thing+api, located("westus")).Want(t, 404)
	}
	w.wantNothingSent(t)
}
