package wire

import (
	"bytes"
	"strings"
	"testing"
)

// F8, the client accepts partial lists: it gets what the other regions have, and on the
// last page the names of the missing ones.
func testPartialLists(t *testing.T, w *world) {
	w.holdPages(t, "partial")
	const first = pagesOfRegions + "?" + V
	partial := func(target string) message {
		return message{target: target, header: []string{"X-MS-Portico-On-Region-Failure: partial"}}
	}
	w.pages("eastus", map[string]string{"": pageText("", `{"e":1e400}`)})
	completed := func(t *testing.T, got reply, want string) {
		t.Helper()
		if values := got.header.Values("x-ms-portico-completed"); len(values) != 1 || values[0] != want {
			t.Errorf("x-ms-portico-completed %q, want %s", values, want)
		}
	}
	t.Run("on the way", func(t *testing.T) {
		w.pages("westus", map[string]string{"": pageText("2", `"w1"`), "2": ok(503, "{}")})
		w.pages("eastus", map[string]string{"": pageText("2", `"e1"`), "2": pageText("3", `"e2"`), "3": pageText("", `"e3"`)})
		got := w.send(t, partial(first))
		completed(t, got, "true")
		target := nextOf(t, got)
		if failed := w.send(t, message{target: target, header: []string{"x-ms-portico-on-region-failure: fail"}}); failed.status != 503 {
			t.Errorf("got %s", failed)
		}
		// The walk remembers the preference.
		got = w.send(t, message{target: target})
		if completed(t, got, "false"); bytes.Contains(got.body, []byte("unreachable")) || !strings.HasPrefix(string(got.body), `{"value":["e2"],"nextLink":`) {
			t.Errorf("got %s", got)
		}
		got = w.send(t, message{target: nextOf(t, got)})
		if completed(t, got, "false"); string(got.body) != `{"value":["e3"],"unreachable":["westus"]}` {
			t.Errorf("got %s", got)
		}
	})
	t.Run("all regions", func(t *testing.T) {
		w.pages("westus", map[string]string{"": ok(503, "{}")})
		w.pages("eastus", map[string]string{"": hangUp})
		got := w.send(t, partial(first))
		if f := got.failure(t).Error; got.status != 503 || len(f.Details) != 2 || f.Details[0].Target != "eastus" || f.Details[1].Target != "westus" {
			t.Errorf("got %s", got)
		}
		completed(t, got, "false")
	})
	t.Run("nothing failed", func(t *testing.T) {
		w.pages("westus", map[string]string{"": pageText("", `"w1"`)})
		w.pages("eastus", map[string]string{"": pageText("", `"e1"`)})
		got := w.send(t, partial(first))
		if completed(t, got, "true"); string(got.body) != `{"value":["e1","w1"]}` {
			t.Errorf("got %s", got)
		}
	})
	t.Run("the header says something else", func(t *testing.T) {
		for _, lines := range [][]string{{"x-ms-portico-on-region-failure: maybe"}, {"x-ms-portico-on-region-failure:"}, {"x-ms-portico-on-region-failure: fail", "x-ms-portico-on-region-failure: partial"}} {
			got := w.send(t, message{target: first, header: lines})
			if got.status != 400 || got.failure(t).Error.Code != "InvalidRequestHeader" {
				t.Errorf("%q: %s", lines, got)
			}
		}
	})
}
