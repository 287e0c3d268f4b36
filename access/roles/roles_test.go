package roles

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"portico/arm"
)

// cased draws a spelling of a text.
func cased(t *rapid.T, text string) string {
	upper := rapid.SliceOfN(rapid.Bool(), len(text), len(text)).Draw(t, "casing of "+text)
	var b strings.Builder
	for i := range len(text) {
		c := text[i : i+1]
		if upper[i] {
			c = strings.ToUpper(c)
		}
		b.WriteString(c)
	}
	return b.String()
}

// expression is a pattern as a regular expression.
func expression(pattern string) *regexp.Regexp {
	parts := strings.Split(pattern, "*")
	for i := range parts {
		parts[i] = regexp.QuoteMeta(parts[i])
	}
	return regexp.MustCompile("(?is)^" + strings.Join(parts, ".*") + "$")
}

func modelAllows(d Definition, action string) bool {
	matched := func(patterns []string) bool {
		for _, p := range patterns {
			if expression(p).MatchString(action) {
				return true
			}
		}
		return false
	}
	for _, p := range d.Permissions {
		if matched(p.Actions) && !matched(p.NotActions) {
			return true
		}
	}
	return false
}

// patterns are drawn of few letters, so that many match.
func patterns(least int) *rapid.Generator[[]string] {
	return rapid.SliceOfN(rapid.StringMatching(`[aAb*/]{0,6}`), least, 3)
}

var permissions = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Permission {
	return Permission{Actions: patterns(0).Draw(t, "actions"), NotActions: patterns(0).Draw(t, "not")}
}), 0, 3)

func TestRolesAllowAsRegularExpressionsDo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := Definition{ID: "r", Permissions: permissions.Draw(t, "permissions")}
		action := rapid.StringMatching(`[abB/]{0,8}`).Draw(t, "action")
		if got, want := Compile(d).Allows(action), modelAllows(d, action); got != want {
			t.Errorf("%+v allows %q: %t, want %t", d.Permissions, action, got, want)
		}
	})
}

// modelHolds reports whether one scope is another, or holds it.
func modelHolds(holder, scope string) bool {
	holder, scope = strings.TrimSuffix(arm.Fold(holder), "/"), strings.TrimSuffix(arm.Fold(scope), "/")
	return scope == holder || strings.HasPrefix(scope, holder+"/")
}

// segments make scopes whose beginnings meet in every way: names that begin another,
// letters that are longer or shorter in the other casing, letters beyond ASCII.
var segments = rapid.SampledFrom([]string{"rg", "rg-1", "rg.", "r", "ä", "äa", "ⱥ", "ʞ"})

var scopesDrawn = rapid.Custom(func(t *rapid.T) string {
	names := rapid.SliceOfN(segments, 0, 4).Draw(t, "segments")
	return "/" + strings.Join(names, "/")
})

// Few grants are looked through, many are searched: both say what a plain model says.
func TestGrantsAreFoundAsAModelDoes(t *testing.T) {
	definitions := []Definition{
		{ID: "all", Permissions: []Permission{{Actions: []string{"*"}}}},
		{ID: "read", Permissions: []Permission{{Actions: []string{"*/read"}}}},
		{ID: "none"},
	}
	compiled := map[string]*Role{}
	for _, d := range definitions {
		compiled[d.ID] = Compile(d)
	}
	rapid.Check(t, func(t *rapid.T) {
		var g Grants
		n := rapid.SampledFrom([]int{0, 1, 5, fewGrants, fewGrants + 1, 60}).Draw(t, "grants")
		for i := range n {
			d := definitions[rapid.IntRange(0, 2).Draw(t, "role")]
			g = append(g, Grant{Scope: arm.Fold(scopesDrawn.Draw(t, "at")), Role: compiled[d.ID], Assignment: fmt.Sprint(i)})
		}
		g.Sort()
		scope, action := cased(t, scopesDrawn.Draw(t, "scope")), rapid.SampledFrom([]string{"a/READ", "a/write"}).Draw(t, "action")
		found, below := false, false
		for _, one := range g {
			if !one.Role.Allows(action) {
				continue
			}
			found = found || modelHolds(one.Scope, scope)
			below = below || modelHolds(scope, one.Scope) && !modelHolds(one.Scope, scope)
		}
		got, ok := g.Find(action, scope)
		if ok != found || ok && !(got.Role.Allows(action) && modelHolds(got.Scope, scope)) {
			t.Errorf("%q at %q: found %+v, %t, want %t of %+v", action, scope, got, ok, found, g)
		}
		if g.Below(action, scope) != below {
			t.Errorf("%q below %q: %t, want %t of %+v", action, scope, !below, below, g)
		}
	})
}

func TestScopesEndAtSegments(t *testing.T) {
	owner := Compile(BuiltIn()[0])
	const group = "/subscriptions/s/resourcegroups/rg"
	for _, c := range []struct {
		at, scope   string
		find, below bool
	}{
		{"/", "/", true, false},
		{"/", "/subscriptions/s", true, false},
		{"/subscriptions/s", "/", false, true},
		{"/subscriptions/s", "/Subscriptions/S", true, false},
		{"/subscriptions/s", "/subscriptions/s2", false, false},
		{group, "/subscriptions/s/resourceGroups/RG/providers/C/vms/v", true, false},
		{group, "/subscriptions/s/resourceGroups/rg-1", false, false},
		{group, "/subscriptions/s", false, true},
		{group, "/subscriptions/s/resourceGroups", false, true},
		{group + "\u00e9", group + "\u00c9", true, false}, // é
		{"/k", "/\u212a", false, false},                   // the Kelvin sign is no k
	} {
		g := Grants{{Scope: c.at, Role: owner}}
		if _, found := g.Find("a/read", c.scope); found != c.find {
			t.Errorf("Find at %q for %q: %t", c.at, c.scope, found)
		}
		if below := g.Below("a/read", c.scope); below != c.below {
			t.Errorf("Below at %q for %q: %t", c.at, c.scope, below)
		}
	}
}

// What Azure's roles are known for.
func TestBuiltInRoles(t *testing.T) {
	actions := []string{
		"Contoso.Compute/virtualMachines/read", "Contoso.Compute/virtualMachines/write", "Contoso.Compute/virtualMachines/start/action",
		"Microsoft.Resources/subscriptions/resourceGroups/delete", "microsoft.authorization/roleassignments/WRITE",
		"Microsoft.Authorization/locks/delete", "Microsoft.Authorization/locks/read", "Microsoft.Authorization/elevateAccess/action",
	}
	want := map[string][]bool{
		"Owner":                     {true, true, true, true, true, true, true, true},
		"Contributor":               {true, true, true, true, false, false, true, false},
		"Reader":                    {true, false, false, false, false, false, true, false},
		"User Access Administrator": {true, false, false, false, true, true, true, true},
	}
	for _, d := range BuiltIn() {
		if !d.BuiltIn || !arm.ValidGUID(d.ID) || d.ID != arm.Fold(d.ID) || !d.AssignableAt("/subscriptions/s") || !d.AssignableAt("/") {
			t.Errorf("%+v", d)
		}
		role := Compile(d)
		for i, action := range actions {
			if len(want[d.Name]) > 0 && role.Allows(action) != want[d.Name][i] {
				t.Errorf("%s allows %s: %t", d.Name, action, !want[d.Name][i])
			}
		}
	}
	if len(want) != len(BuiltIn()) {
		t.Errorf("%d roles", len(BuiltIn()))
	}
}

func TestAssignableScopes(t *testing.T) {
	d := Definition{AssignableScopes: []string{"/subscriptions/S/resourceGroups/RG", "/subscriptions/t"}}
	for scope, want := range map[string]bool{
		"/": false, "/subscriptions/s": false, "/subscriptions/s/resourcegroups/rg": true, "/subscriptions/s/resourcegroups/rg/providers/c/v/m": true,
		"/subscriptions/s/resourcegroups/rg2": false, "/subscriptions/t/resourcegroups/x": true,
	} {
		if d.AssignableAt(scope) != want {
			t.Errorf("%q: %t", scope, !want)
		}
	}
}

func manyGrants(n int) Grants {
	role := Compile(BuiltIn()[2])
	g := make(Grants, n)
	for i := range g {
		g[i] = Grant{Scope: fmt.Sprintf("/subscriptions/s/resourcegroups/rg%04d", i), Role: role}
	}
	g.Sort()
	return g
}

const someResource = "/Subscriptions/S/resourceGroups/RG0099/providers/Contoso.Compute/virtualMachines/vm\u00c9"

func TestJudgingAllocatesNothing(t *testing.T) {
	contributor := Compile(BuiltIn()[1])
	for _, n := range []int{fewGrants, 4000} {
		g := manyGrants(n)
		if n == fewGrants {
			g[n-1].Scope = "/subscriptions/s/resourcegroups/rg0099"
		}
		if allocations := testing.AllocsPerRun(100, func() {
			contributor.Allows("Contoso.Compute/virtualMachines/Write")
			if _, found := g.Find("Contoso.Compute/virtualMachines/read", someResource); !found {
				t.Error("not found")
			}
			g.Below("Contoso.Compute/virtualMachines/write", "/subscriptions/S")
		}); allocations != 0 {
			t.Errorf("%d grants: %v allocations", n, allocations)
		}
	}
}

func BenchmarkFind(b *testing.B) {
	for _, n := range []int{1, fewGrants, 4000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			g := manyGrants(n)
			b.ReportAllocs()
			for b.Loop() {
				g.Find("Contoso.Compute/virtualMachines/read", someResource)
			}
		})
	}
}

// No pattern takes long, none panics, and each means what its expression does.
func FuzzPattern(f *testing.F) {
	f.Add("*/read", "Contoso.Compute/virtualMachines/read")
	f.Add("Microsoft.Authorization/*/Delete", "microsoft.authorization/locks/DELETE")
	f.Add("a*b*c**", "aXbXc")
	f.Add("*a*a*a*a*a*b", strings.Repeat("a", 40))
	f.Fuzz(func(t *testing.T, pattern, action string) {
		ascii := regexp.MustCompile(`^[\x00-\x7f]*$`)
		if len(pattern) > 200 || len(action) > 500 || !ascii.MatchString(pattern+action) {
			return
		}
		role := Compile(Definition{Permissions: []Permission{{Actions: []string{pattern}}}})
		if got, want := role.Allows(action), expression(pattern).MatchString(action); got != want {
			t.Errorf("%q matches %q: %t, want %t", pattern, action, got, want)
		}
	})
}
