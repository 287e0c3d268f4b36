package whatif_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"portico/jobs/deploy/whatif"
	"portico/template/expr"
)

func drawScalar(t *rapid.T) expr.Value {
	return rapid.OneOf(
		rapid.Map(rapid.Int64Range(0, 3), expr.IntOf), rapid.Map(rapid.SampledFrom([]string{"a", "A", "/subscriptions/x", ""}), expr.StringOf), rapid.Map(rapid.Bool(), expr.BoolOf),
	).Draw(t, "scalar")
}

// drawObject draws an object whose values are drawn by value.
func drawObject(t *rapid.T, value func(depth int) expr.Value, depth int) expr.Value {
	names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "name", "location", "tags", "x.y"}), 0, 4, rapid.ID[string]).Draw(t, "names")
	var members []expr.Member
	for _, name := range names {
		members = append(members, expr.Member{Name: name, Value: value(depth - 1)})
	}
	return expr.ObjectOf(members...)
}

func drawValue(t *rapid.T, depth int) expr.Value {
	switch kind := rapid.IntRange(0, 3).Draw(t, "kind"); {
	case depth == 0 || kind < 2:
		return drawScalar(t)
	case kind == 2:
		var elements []expr.Value
		for range rapid.IntRange(0, 4).Draw(t, "length") {
			elements = append(elements, drawValue(t, depth-1))
		}
		return expr.ArrayOf(elements...)
	}
	return drawObject(t, func(depth int) expr.Value { return drawValue(t, depth) }, depth)
}

func drawBody(t *rapid.T) expr.Value {
	return expr.ObjectOf(expr.Member{Name: "properties", Value: drawObject(t, func(depth int) expr.Value { return drawValue(t, depth) }, 4)},
		expr.Member{Name: "tags", Value: drawObject(t, func(int) expr.Value { return drawScalar(t) }, 1)})
}

// answeredBy is what a provider makes of a body that it takes: it may hide and reorder, add
// defaults and change the casing.
func answeredBy(t *rapid.T, v expr.Value) expr.Value {
	switch v.Kind() {
	case expr.String:
		if rapid.Bool().Draw(t, "casing") {
			return expr.StringOf(strings.ToUpper(v.Text()))
		}
	case expr.Array:
		var elements []expr.Value
		for _, e := range v.Elements() {
			elements = append(elements, answeredBy(t, e))
		}
		if len(elements) > 0 {
			elements = rapid.Permutation(elements).Draw(t, "order")
		}
		if rapid.Bool().Draw(t, "a default element") {
			elements = append(elements, expr.StringOf("default"))
		}
		return expr.ArrayOf(elements...)
	case expr.Object:
		var members []expr.Member
		for _, m := range v.Members() {
			if rapid.IntRange(0, 4).Draw(t, "hidden") > 0 {
				members = append(members, expr.Member{Name: m.Name, Value: answeredBy(t, m.Value)})
			}
		}
		return expr.ObjectOf(append(members, expr.Member{Name: "default", Value: expr.IntOf(1)})...)
	}
	return v
}

func TestWhatWasSentAndAnsweredIsNoChange(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		body := drawBody(t)
		if c := compare(body, body, nil); c.Type != whatif.NoChange {
			t.Fatalf("%s: %q", body.JSON(), lines(c.Delta))
		}
		answered := answeredBy(t, body)
		if c := compare(body, answered, &whatif.Record{Sent: body, Answered: answered}); c.Type != whatif.NoChange {
			t.Fatalf("%s answered by %s: %q", body.JSON(), answered.JSON(), lines(c.Delta))
		}
	})
}

// leaves are the paths and values of an object of objects.
func leaves(path string, v expr.Value, of map[string]string) {
	if !v.Is(expr.Object) {
		of[path] = v.JSON()
		return
	}
	for _, m := range v.Members() {
		leaves(strings.TrimPrefix(path+"."+m.Name, "."), m.Value, of)
	}
}

// changeLeaves changes some leaves, each to a value that none has.
func changeLeaves(t *rapid.T, path string, v expr.Value, changed *[]string) expr.Value {
	if !v.Is(expr.Object) {
		if rapid.Bool().Draw(t, "change") {
			*changed = append(*changed, path)
			return expr.StringOf(fmt.Sprint("changed ", len(*changed)))
		}
		return v
	}
	var members []expr.Member
	for _, m := range v.Members() {
		members = append(members, expr.Member{Name: m.Name, Value: changeLeaves(t, strings.TrimPrefix(path+"."+m.Name, "."), m.Value, changed)})
	}
	return expr.ObjectOf(members...)
}

// Each leaf that the template changes, or that others have changed, is named once, and no
// other is, with or without a record.
func TestEachChangedLeafIsNamedOnce(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var draw func(depth int) expr.Value
		draw = func(depth int) expr.Value {
			if depth <= 0 || rapid.Bool().Draw(t, "leaf") {
				return drawScalar(t)
			}
			var members []expr.Member
			for i := range rapid.IntRange(1, 4).Draw(t, "members") {
				members = append(members, expr.Member{Name: fmt.Sprintf("m%d", i), Value: draw(depth - 1)})
			}
			return expr.ObjectOf(members...)
		}
		sent := expr.ObjectOf(expr.Member{Name: "properties", Value: expr.ObjectOf(expr.Member{Name: "p", Value: draw(4)}, expr.Member{Name: "q", Value: draw(4)})})
		var want []string
		template, stands := sent, sent
		if rapid.Bool().Draw(t, "the template changes") {
			template = changeLeaves(t, "", sent, &want)
		} else {
			stands = changeLeaves(t, "", sent, &want)
		}
		of := map[string]string{}
		leaves("", template, of)
		for _, last := range []*whatif.Record{nil, {Sent: sent, Answered: sent}} {
			var got []string
			for _, c := range compare(template, stands, last).Delta {
				if got = append(got, c.Path); string(c.After) != of[c.Path] {
					t.Errorf("%s becomes %s, want %s", c.Path, c.After, of[c.Path])
				}
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%q, want %q", got, want)
			}
		}
	})
}

// What goes taken from an array, and what comes added to it, it is the template's.
func TestChangesOfAnArrayAddUp(t *testing.T) {
	t.Parallel()
	drawArray := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string { return drawScalar(t).JSON() }), 1, 6)
	rapid.Check(t, func(t *rapid.T) {
		planned, stands := drawArray.Draw(t, "planned"), drawArray.Draw(t, "stands")
		sent := drawArray.Draw(t, "sent")
		var record *whatif.Record
		if rapid.Bool().Draw(t, "recorded") { // by a provider that answers what it is sent
			record = &whatif.Record{Sent: arrayBody(t, sent), Answered: arrayBody(t, sent)}
		}
		counts := map[string]int{}
		for _, e := range stands {
			counts[e]++
		}
		for _, array := range compare(arrayBody(t, planned), arrayBody(t, stands), record).Delta {
			for _, c := range array.Children {
				for text, n := range map[*json.RawMessage]int{&c.Before: -1, &c.After: 1} {
					if *text != nil {
						counts[string(*text)] += n
					}
				}
			}
		}
		for _, e := range planned {
			counts[e]--
		}
		for e, n := range counts {
			if n != 0 {
				t.Errorf("%d of %s are left over: %q over %q", n, e, planned, stands)
			}
		}
	})
}

func arrayBody(t interface{ Fatal(...any) }, elements []string) expr.Value {
	return value(t, `{"properties": {"l": [`+strings.Join(elements, ",")+`]}}`)
}
