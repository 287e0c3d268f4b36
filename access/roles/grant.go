package roles

import (
	"cmp"
	"slices"
	"strings"
)

// Grant is a role that somebody has at a scope, and at all that lies below.
type Grant struct {
	Scope string // a folded id, or TenantScope
	Role  *Role
	// Assignment is the id of the role assignment; "" for a grant of the configuration.
	Assignment string
}

// Holds reports whether a grant is at a scope, in any casing, or above it.
func (g Grant) Holds(scope string) bool {
	p := place(scope, g.Scope)
	return p == at || p == under
}

// Grants are what one caller has been granted at, above and below one subscription, as
// Sort orders them. A caller with grants of two kinds, as those of the configuration
// besides those of the store, has two lists: ask one after the other, which needs no
// third list.
type Grants []Grant

// Held are the grants of a caller as a question at one scope needs them.
type Held struct {
	Grants
	// Whole: these are all of its grants at, above and below the subscription. A caller
	// with many has those at the scope and above alone.
	Whole bool
}

// Any reports whether anything at all is granted somewhere.
func (h Held) Any() bool { return !h.Whole || h.Grants.Any() }

// fewGrants are looked through one by one, in any order.
const fewGrants = 16

// Sort puts grants in the order that the other methods need.
func (g Grants) Sort() {
	slices.SortFunc(g, func(a, b Grant) int {
		return cmp.Or(cmp.Compare(rooted(a.Scope), rooted(b.Scope)), cmp.Compare(a.Assignment, b.Assignment))
	})
}

// Any reports whether anything at all is granted somewhere.
func (g Grants) Any() bool { return len(g) > 0 }

// Find returns a grant that allows an action at a scope: one at the scope, or above.
// Both may have any casing. It allocates nothing.
func (g Grants) Find(action, scope string) (Grant, bool) {
	scope = rooted(scope)
	if len(g) <= fewGrants {
		for i := range g {
			if p := place(scope, g[i].Scope); (p == at || p == under) && g[i].Role.Allows(action) {
				return g[i], true
			}
		}
		return Grant{}, false
	}
	for end := 0; ; end++ { // whatever holds the scope begins it, and ends at a slash
		if next := strings.IndexByte(scope[end:], '/'); next >= 0 {
			end += next
		} else {
			end = len(scope)
		}
		if found, ok := g.at(action, scope[:end]); ok || end == len(scope) {
			return found, ok
		}
	}
}

// at returns a grant at the very scope that allows an action.
func (g Grants) at(action, scope string) (Grant, bool) {
	for i := g.search(scope, ""); i < len(g) && place(scope, g[i].Scope) == at; i++ {
		if g[i].Role.Allows(action) {
			return g[i], true
		}
	}
	return Grant{}, false
}

// Below reports whether a grant strictly below a scope allows an action there. Both may
// have any casing. It allocates nothing.
func (g Grants) Below(action, scope string) bool {
	scope = rooted(scope)
	if len(g) <= fewGrants {
		for i := range g {
			if place(scope, g[i].Scope) == over && g[i].Role.Allows(action) {
				return true
			}
		}
		return false
	}
	for i := g.search(scope, "/"); i < len(g) && place(scope, g[i].Scope) == over; i++ {
		if g[i].Role.Allows(action) {
			return true
		}
	}
	return false
}

// search returns the first grant whose scope is not less than a scope, in any casing,
// and what follows it.
func (g Grants) search(scope, then string) int {
	low, high := 0, len(g)
	for low < high {
		middle := int(uint(low+high) / 2)
		if compare(scope, then, rooted(g[middle].Scope)) > 0 {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low
}

// Size is about how many bytes the grants take.
func (g Grants) Size() int {
	n := 0
	seen := map[*Role]bool{}
	for _, one := range g {
		n += 40 + len(one.Scope) + len(one.Assignment)
		if role := one.Role; !role.builtIn && !seen[role] {
			seen[role] = true
			n += role.Size()
		}
	}
	return n
}

// AppendBelow appends the scopes strictly below one, in any casing, at which an action is
// allowed. Some may lie in others.
func (g Grants) AppendBelow(to []string, action, scope string) []string {
	for i := range g {
		if place(scope, g[i].Scope) == over && g[i].Role.Allows(action) {
			to = append(to, g[i].Scope)
		}
	}
	return to
}
