package whatif_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"portico/jobs/deploy/whatif"
	"portico/provider/contoso"
	"portico/template/expr"
)

// Right after a deployment there is nothing to change, whatever the provider made of what it
// was sent; a change of the template, or by others, is told all the same.
func TestHabitsOfProvidersAreNoChange(t *testing.T) {
	t.Parallel()
	all := []string{contoso.AddDefaults, contoso.ReorderArrays, contoso.ChangeCasing, contoso.HideProperties}
	for _, habits := range [][]string{nil, all[:1], all[1:2], all[2:3], all[3:], all} {
		t.Run(strings.Join(habits, " "), func(t *testing.T) {
			t.Parallel()
			p, err := contoso.New(contoso.Options{Region: "westus", Habits: habits})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			body := func(size, password string) string {
				return `{"location": "West US", "tags": {"Of": "Ann"}, "properties": {"size": "` + size + `", "adminPassword": "` + password +
					`", "disks": [{"lun": 1, "kind": "Fast"}, {"lun": 2}], "names": ["a", "C", "b"]}}`
			}
			first := body("Big", "p1")
			put(t, p, first)
			answered := put(t, p, first)
			last := &whatif.Record{Sent: value(t, first), Answered: answered}
			if c := compare(value(t, first), answered, last); c.Type != whatif.NoChange {
				t.Errorf("right after: %q", lines(c.Delta))
			}
			if got := paths(compare(value(t, body("Small", "p2")), answered, last)); got != "properties.size properties.adminPassword" {
				t.Errorf("the template changes: %s", got)
			}
			if got := paths(compare(value(t, first), put(t, p, body("Other", "p1")), last)); got != "properties.size" {
				t.Errorf("others change what stands: %s", got)
			}
		})
	}
}

func paths(c whatif.Change) string {
	var all []string
	for _, p := range c.Delta {
		all = append(all, p.Path)
	}
	return strings.Join(all, " ")
}

// put makes a machine, and returns what its provider answers.
func put(t *testing.T, p http.Handler, body string) expr.Value {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPut,
		"/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/g/providers/Contoso.Compute/virtualMachines/a?api-version=2024-01-01", strings.NewReader(body))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Referer", "https://portico.example/")
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	if w.Code >= http.StatusBadRequest {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	return value(t, w.Body.String())
}
