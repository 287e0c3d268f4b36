package contract

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// endless returns a provider whose lists do not end, each in its own way.
func endless(t *testing.T, way string) *outside {
	t.Helper()
	return &outside{tracked: true, page: 2, parts: true, endless: way}
}

// A list that does not end is found so, by the case whose rule that is and soon, and what a
// run writes of it is bounded.
func TestEndlessLists(t *testing.T) {
	t.Parallel()
	for _, way := range []string{"same-link", "same-page", "empty-pages", "long-links"} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			o := endless(t, way)
			results := o.certify(t, []Profile{Core, TrackedResources, Nested})
			text, err := json.Marshal(results)
			if err != nil {
				t.Fatal(err)
			}
			if most := 12 << 20; len(text) > most {
				t.Errorf("the results have %d bytes", len(text))
			}
			if o.requests > 5_000 {
				t.Errorf("%d requests were made", o.requests)
			}
			found := false
			for _, r := range results {
				found = found || r.Case == "list/every-page-is-reached" && r.Outcome == Broken && r.Faults[0].Expected == "the pages of the list end"
				if n := strings.Count(r.Script, "\n"); n > 100 {
					t.Errorf("the script of %s on %s has %d lines", r.Case, r.Type, n)
				}
				if strings.HasPrefix(r.Case, "put/") && r.Outcome != Kept && r.Outcome != LeftOut {
					t.Errorf("%s is %s: %s", r.Case, r.Outcome, tell(r.Faults))
				}
			}
			if !found {
				t.Error("list/every-page-is-reached does not notice it")
			}
			t.Logf("%d requests, results of %d bytes", o.requests, len(text))
		})
	}
}

// What a provider sends without an end is not read to it, and what it sends much of is cut.
func TestReportsOfMuch(t *testing.T) {
	t.Parallel()
	filler := strings.Repeat("x", 200<<10)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for i := range 20 {
			w.Header().Set(fmt.Sprint("X-Much-", i), filler[:8<<10])
		}
		w.Header().Set("Content-Type", "application/json")
		if strings.Contains(r.URL.Path, "/providers/") {
			w.WriteHeader(http.StatusTeapot)
		}
		fmt.Fprintf(w, `{"error": {"code": %q, "message": %[1]q}}`, filler)
	}))
	defer server.Close()
	d, err := Load([]byte(whole))
	if err != nil {
		t.Fatal(err)
	}
	var r Recorder
	err = Try(t.Context(), Target{
		Adapter: Straight(map[string]string{"westus": server.URL, Global: server.URL}), Description: d, Disruptive: true,
		Limits: Limits{Wait: 100 * time.Millisecond, Pause: 10 * time.Millisecond},
	}, &r)
	if err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(r.Results())
	if err != nil {
		t.Fatal(err)
	}
	if most := 2 * shownRoom; len(text) > most {
		t.Errorf("the results have %d bytes, more than %d", len(text), most)
	}
	t.Logf("results of %d bytes", len(text))
}

func TestBodiesWithoutEnd(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		filler := make([]byte, 1<<20)
		for range 4 * (mostBody >> 20) {
			if _, err := w.Write(filler); err != nil {
				return
			}
		}
		t.Error("all of it was read")
	}))
	defer server.Close()
	a := Straight(map[string]string{"westus": server.URL})
	if _, err := a.send(t.Context(), call{method: http.MethodGet, target: "/a", region: "westus"}); err == nil || !strings.Contains(err.Error(), "more than 64 MiB") {
		t.Errorf("%v", err)
	}
}
