package roles

import (
	"slices"

	"portico/arm"
)

// AssignableAt reports whether the role can be assigned at a scope, in any casing: at
// one of its assignable scopes, or below. A grant elsewhere does not count.
func (d *Definition) AssignableAt(scope string) bool {
	return slices.ContainsFunc(d.AssignableScopes, func(s string) bool {
		p := place(scope, arm.Fold(s))
		return p == at || p == under
	})
}

// AssignableBelow reports whether the role can be assigned somewhere below a scope.
func (d *Definition) AssignableBelow(scope string) bool {
	return slices.ContainsFunc(d.AssignableScopes, func(s string) bool { return place(scope, arm.Fold(s)) == over })
}

// Holds reports whether a grant is at a scope, in any casing, or above it.
func (g Grant) Holds(scope string) bool {
	p := place(scope, g.Scope)
	return p == at || p == under
}
