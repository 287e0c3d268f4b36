package contoso

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// A provider that takes any type serves what it has never heard of, each type in its own way,
// and adds to what it is sent.
func TestAnyType(t *testing.T) {
	clock := time.Now()
	p, err := New(Options{Region: "westus", AnyType: true, Now: func() time.Time { return clock }})
	must(t, err)
	defer p.Close()
	do := func(method, path, body string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), method, path+"?api-version=2021-01-01-preview", strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Referer", "https://front.example"+path)
		p.ServeHTTP(w, r)
		return w
	}
	const group = "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/g/providers/Fabrikam."
	var statuses []int
	for kind := range strings.SplitSeq("abcdefghijklmnopqrstuvwxyz", "") {
		id := group + "Paint/" + kind + "/one"
		w := do(http.MethodPut, id, `{"location":"West US","properties":{"size":{"any":[1]},"provisioningState":"Odd"},"identity":{"type":"Whatever"},"sku":{}}`)
		statuses = append(statuses, w.Code)
		if w.Code == http.StatusAccepted && do(http.MethodGet, id, "").Code != http.StatusNotFound {
			t.Errorf("%s: there at once after 202", kind)
		}
		clock = clock.Add(time.Second)
		var got struct {
			ID, Location string
			Identity     struct{ PrincipalID string }
			Properties   struct {
				ProvisioningState, Endpoint string
				Size                        map[string][]int
			}
		}
		w = do(http.MethodGet, id, "")
		must(t, json.Unmarshal(w.Body.Bytes(), &got))
		if got.Properties.ProvisioningState != stateSucceeded || got.Properties.Endpoint != "https://one.contoso.example/" || got.Properties.Size["any"] == nil || got.Identity.PrincipalID == "" ||
			!strings.Contains(got.ID, "/resourcegroups/") || got.Location != "westus" {
			t.Errorf("%s: %s", kind, w.Body)
		}
	}
	slices.Sort(statuses)
	if want := []int{200, 201, 202}; !slices.Equal(slices.Compact(statuses), want) {
		t.Errorf("creations are answered with %v, want all of %v", statuses, want)
	}
	for _, call := range []struct {
		method, path, body string
		want               []int
	}{
		{http.MethodPut, "Paint/a/one/coats/c", `{"properties":{}}`, []int{200, 201, 202}},
		{http.MethodPut, "Paint/a/none/coats/c", `{"properties":{}}`, []int{404}},
		{http.MethodPut, "Paint/a/one/providers/Fabrikam.Notes/marks/m", `{"properties":{}}`, []int{200, 201, 202}},
		{http.MethodPut, "Paint/a/two", `{"location":"eastus"}`, []int{400}},
		{http.MethodPut, "Paint/a/two", `{}`, []int{200, 201, 202}},
		{http.MethodPost, "Paint/a/one/listKeys", "", []int{200}},
		{http.MethodGet, "Paint/A", "", []int{200}},
		{http.MethodDelete, "Paint/a/one", "", []int{200, 202}},
	} {
		if w := do(call.method, group+call.path, call.body); !slices.Contains(call.want, w.Code) {
			t.Errorf("%s %s: %d, want one of %v: %s", call.method, call.path, w.Code, call.want, w.Body)
		}
		clock = clock.Add(time.Second)
	}
}
