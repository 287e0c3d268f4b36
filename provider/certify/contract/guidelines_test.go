package contract

import (
	"net/url"
	"testing"
)

func TestGuidelines(t *testing.T) {
	known := map[string]bool{}
	for _, g := range Guidelines() {
		if known[g.Number] {
			t.Errorf("%s is listed twice", g.Number)
		}
		known[g.Number] = true
		if u, err := url.Parse(g.URL); err != nil || u.Scheme != "https" {
			t.Errorf("%s is explained at %q", g.Number, g.URL)
		}
	}
	ids, held := map[string]bool{}, map[string]bool{}
	for _, c := range families() {
		if c.Guideline != "" && heldGuidelines[c.ID] != "" {
			t.Errorf("%s says itself which guideline it holds, and the table does", c.ID)
		}
	}
	for _, c := range All() {
		ids[c.ID], held[c.Guideline] = true, true
		if c.Guideline != "" && !known[c.Guideline] {
			t.Errorf("%s holds %s, which is no known guideline", c.ID, c.Guideline)
		}
		if c.Guideline != heldGuidelines[c.ID] && heldGuidelines[c.ID] != "" {
			t.Errorf("%s holds %q", c.ID, c.Guideline)
		}
	}
	for id := range heldGuidelines {
		if !ids[id] {
			t.Errorf("there is no case %s", id)
		}
	}
	for number := range known {
		if !held[number] {
			t.Errorf("no case holds %s", number)
		}
	}
}
