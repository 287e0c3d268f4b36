package route

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// ids is a source of folded ids, of which a caller sees what lies at and below scopes;
// nil is all of it.
func ids(all, scopes []string, statements *int) ListSource[string] {
	read := func(after, before string, limit int) (rows []string) {
		*statements++
		for _, id := range all[sort.SearchStrings(all, after):] {
			if id > after && (before == "" || id < before) && len(rows) < limit {
				rows = append(rows, id)
			}
		}
		return rows
	}
	s := ListSource[string]{
		Read: func(after string, limit int) ([]string, error) { return read(after, "", limit), nil },
		ReadIn: func(in KeyRange, after string, limit int) ([]string, error) {
			if in.One() {
				*statements++
				if _, found := slices.BinarySearch(all, in.First); found {
					return []string{in.First}, nil
				}
				return nil, nil
			}
			return read(after, in.Before, limit), nil
		},
		Key:  func(id string) string { return id },
		Show: func(id string) any { return id },
	}
	if scopes != nil {
		s.Ranges = KeysAtAndBelow(scopes, func(scope string) bool { return strings.Contains(scope, "/x/") })
	}
	return s
}

func sees(scopes []string, id string) bool {
	return scopes == nil || slices.ContainsFunc(scopes, func(s string) bool { return id == s || strings.HasPrefix(id, s+"/") })
}

// drawID draws the id of a group or of a resource, with names of which one begins another.
func drawID(t *rapid.T, depth int) string {
	name := rapid.SampledFrom([]string{"a", "a-", "a-b", "a0", "b", "b.c", "é"})
	id := "/g/" + name.Draw(t, "group")
	for range rapid.IntRange(0, depth).Draw(t, "depth") {
		id += "/x/" + name.Draw(t, "name")
	}
	return id
}

// Over all pages exactly that is shown which the caller sees, once and in order, whatever
// names begin others; what it sees before and after its rights change in between is not
// missed.
func TestPagesOfRangesLoseNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) string { return drawID(t, 3) }), 0, 40, rapid.ID[string]).Draw(t, "all")
		all = slices.DeleteFunc(all, func(id string) bool { return !strings.Contains(id, "/x/") })
		slices.Sort(all)
		draw := func(label string) []string {
			if rapid.IntRange(0, 4).Draw(t, label+" is all") == 0 {
				return nil
			}
			drawn := rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) string { return drawID(t, 2) }), 1, 8, rapid.ID[string]).Draw(t, label)
			return slices.DeleteFunc(drawn, func(s string) bool {
				return slices.ContainsFunc(drawn, func(other string) bool { return strings.HasPrefix(s, other+"/") })
			})
		}
		before, after := draw("before"), draw("after")
		change := rapid.IntRange(0, 20).Draw(t, "change")
		var got []string
		statements := 0
		p := Page{Top: rapid.IntRange(1, 5).Draw(t, "top")}
		for n := 0; ; n++ {
			scopes := before
			if n >= change {
				scopes = after
			}
			elements, rest, err := ids(all, scopes, &statements).readPage(p)
			if err != nil || len(elements) > p.Top {
				t.Fatal(elements, err)
			}
			for _, e := range elements {
				if !sees(scopes, e.(string)) {
					t.Fatalf("%s is shown of %q", e, scopes)
				}
				got = append(got, e.(string))
			}
			if rest == "" {
				break
			}
			if p.After = rest; n > 100 {
				t.Fatal("the walk does not end")
			}
		}
		if !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
			t.Fatalf("got %q", got)
		}
		for _, id := range all {
			if sees(before, id) && sees(after, id) && !slices.Contains(got, id) {
				t.Fatalf("%s is missing of %q", id, got)
			}
		}
	})
}

// However many ranges there are, a page asks for a bounded number, and the next goes on.
func TestPageOfManyRangesEnds(t *testing.T) {
	var scopes []string
	for i := range 5 * LargestPage {
		scopes = append(scopes, fmt.Sprintf("/g/a/x/%06d", i))
	}
	all := []string{scopes[7] + "/x/y", scopes[len(scopes)-1]}
	var got []string
	for p, pages := (Page{Top: 10}), 0; ; pages++ {
		statements := 0
		elements, rest, err := ids(all, scopes, &statements).readPage(p)
		if err != nil || statements > LargestPage || pages > 2*len(scopes)/LargestPage+1 {
			t.Fatalf("page %d: %d statements, %v", pages, statements, err)
		}
		for _, e := range elements {
			got = append(got, e.(string))
		}
		if p.After = rest; rest == "" {
			break
		}
	}
	if !slices.Equal(got, all) {
		t.Errorf("got %q", got)
	}
}
