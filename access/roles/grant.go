package roles

import (
	"cmp"
	"slices"
	"strings"
)

// Grant is a caller's role at a scope and at everything below it.
type Grant struct {
	Scope string // a folded id, or TenantScope
	Role  *Role
	// Assignment is the id of the role assignment; "" for a grant in the configuration.
	Assignment string
}

// AppliesAt reports whether the grant applies at a scope, in any casing: at the
// grant's own scope or below it.
func (g Grant) AppliesAt(scope string) bool {
	p := relationTo(scope, g.Scope)
	return p == at || p == under
}

// Grants are the grants of one caller at, above and below one subscription, in the order
// of Sort. A caller with grants in both the configuration and the store has two lists:
// ask one after the other, which avoids building a third.
type Grants []Grant

// CallerGrants holds the grants of a caller that matter for a question at one scope.
type CallerGrants struct {
	Grants
	// Whole reports whether Grants has all of the caller's grants at, above
	// and below the subscription. For a caller with many, it has only the
	// grants at and above the scope.
	Whole bool
}

// Any reports whether the caller may have any grant.
func (h CallerGrants) Any() bool { return !h.Whole || h.Grants.Any() }

// fewGrants bounds the grants that are searched linearly.
const fewGrants = 16

// Sort puts grants in the order that the other methods need.
func (g Grants) Sort() {
	slices.SortFunc(g, func(a, b Grant) int {
		return cmp.Or(cmp.Compare(rooted(a.Scope), rooted(b.Scope)), cmp.Compare(a.Assignment, b.Assignment))
	})
}

// Any reports whether there is a grant.
func (g Grants) Any() bool { return len(g) > 0 }

// Find returns a grant at a scope, or above it, that allows an action there.
// Both may have any casing. It does not allocate.
func (g Grants) Find(action, scope string) (Grant, bool) {
	scope = rooted(scope)
	if len(g) <= fewGrants {
		for i := range g {
			if p := relationTo(scope, g[i].Scope); (p == at || p == under) && g[i].Role.Allows(action) {
				return g[i], true
			}
		}
		return Grant{}, false
	}
	for end := 0; ; end++ { // a scope above is a prefix that ends at a slash
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

// at returns a grant at exactly this scope that allows an action.
func (g Grants) at(action, scope string) (Grant, bool) {
	for i := g.search(scope, ""); i < len(g) && relationTo(scope, g[i].Scope) == at; i++ {
		if g[i].Role.Allows(action) {
			return g[i], true
		}
	}
	return Grant{}, false
}

// Below reports whether a grant strictly below a scope allows an action
// there. Both may have any casing. It does not allocate.
func (g Grants) Below(action, scope string) bool {
	scope = rooted(scope)
	if len(g) <= fewGrants {
		for i := range g {
			if relationTo(scope, g[i].Scope) == over && g[i].Role.Allows(action) {
				return true
			}
		}
		return false
	}
	for i := g.search(scope, "/"); i < len(g) && relationTo(scope, g[i].Scope) == over; i++ {
		if g[i].Role.Allows(action) {
			return true
		}
	}
	return false
}

// search returns the index of the first grant whose scope is not less than
// scope, in any casing, followed by then.
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

// Size returns the approximate size of the grants in bytes.
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

// AppendBelow appends the scopes strictly below a scope, in any casing, at
// which an action is allowed. They may overlap.
func (g Grants) AppendBelow(to []string, action, scope string) []string {
	for i := range g {
		if relationTo(scope, g[i].Scope) == over && g[i].Role.Allows(action) {
			to = append(to, g[i].Scope)
		}
	}
	return to
}
