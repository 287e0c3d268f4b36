package contoso

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// The types of other clouds are served beside contoso's own, under their own
// api-versions.
func TestFurtherTypes(t *testing.T) {
	p, err := New(Options{Region: "westus", Types: []string{"Fabrikam.Paint/walls@2021-01-01", "Fabrikam.Paint/walls/coats@2021-01-01"}})
	must(t, err)
	defer p.Close()
	walls := "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/g/providers/Fabrikam.Paint/walls"
	for _, call := range []struct {
		method, path, body string
		want               int
	}{
		{http.MethodPut, walls + "/w?api-version=2021-01-01", `{"location":"westus"}`, http.StatusCreated},
		{http.MethodPut, walls + "/w/coats/c?api-version=2021-01-01", `{}`, http.StatusCreated},
		{http.MethodGet, walls + "/w/coats/c?api-version=2021-01-01", "", http.StatusOK},
		{http.MethodGet, walls + "?api-version=2021-01-01", "", http.StatusOK},
		{http.MethodGet, walls + "/w?api-version=2020-01-01", "", http.StatusBadRequest},
		{http.MethodGet, walls[:len(walls)-1] + "?api-version=2021-01-01", "", http.StatusNotFound},
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), call.method, call.path, strings.NewReader(call.body))
		r.Header.Set("Content-Type", "application/json")
		p.ServeHTTP(w, r)
		if w.Code != call.want {
			t.Errorf("%s %s: %d, want %d: %s", call.method, call.path, w.Code, call.want, w.Body)
		}
	}
	for _, bad := range []string{"walls@2021-01-01", "Fabrikam.Paint/walls", "Fabrikam.Paint/@1"} {
		if _, err := New(Options{Region: "westus", Types: []string{bad}}); err == nil {
			t.Errorf("the type %q was taken", bad)
		}
	}
}
