package deletionplan

import (
	"slices"
	"testing"
)

func TestBlockersAreReadFromRefusals(t *testing.T) {
	const group = "/subscriptions/s/resourcegroups/g/"
	known := map[string]bool{}
	for _, name := range []string{"a", "b", "b/children/c", "with space", "dot.ted", "self"} {
		known[group+"providers/ns/types/"+name] = true
	}
	id := func(name string) string { return "/subscriptions/S/resourceGroups/G/providers/Ns/types/" + name }
	key := func(name string) string { return group + "providers/ns/types/" + name }
	for _, c := range []struct {
		text  string
		keys  []string
		named bool
	}{
		{`{"error":{"message":"in use by '` + id("A") + `'."}}`, []string{key("a")}, true},
		{`in use by ` + id("a") + `, ` + id("b") + `.`, []string{key("a"), key("b")}, true},
		{`in use by ` + id("b/children/c") + `; remove it`, []string{key("b/children/c")}, true},
		{`in use by ` + id("a/untracked/x/y/z") + `)`, []string{key("a")}, true},
		{`"` + id("with space") + `"`, []string{key("with space")}, true},
		{id("dot.ted") + ".", []string{key("dot.ted")}, true},
		{`\/subscriptions\/s\/resourceGroups\/g\/providers\/ns\/types\/a`, []string{key("a")}, true},
		{`'` + id("gone") + `' uses it`, nil, true},
		{`'` + id("self") + `' cannot be deleted`, nil, false},
		{`/subscriptions/S/resourceGroups/other/providers/Ns/types/a`, nil, false},
		{`no reason`, nil, false},
		{``, nil, false},
	} {
		keys, named := BlockersIn(c.text, group, key("self"), func(key string) bool { return known[key] })
		if !slices.Equal(keys, c.keys) || named != c.named {
			t.Errorf("%s: %v %v", c.text, keys, named)
		}
	}
}

func FuzzBlockers(f *testing.F) {
	const scope = "/subscriptions/s/resourcegroups/g/"
	f.Add("in use by " + scope + "providers/n/t/a.")
	f.Fuzz(func(t *testing.T, text string) {
		keys, named := BlockersIn(text, scope, scope+"providers/n/t/self", func(key string) bool { return len(key)%2 == 0 })
		if len(keys) > mostBlockers || len(keys) > 0 && !named {
			t.Error(keys, named)
		}
	})
}
