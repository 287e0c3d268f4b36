package roles

import (
	"unicode/utf8"

	"portico/arm"
)

// TenantScope is the scope that holds all of a tenant.
const TenantScope = "/"

// Grant is a role that somebody has at a scope, and at all that lies below.
type Grant struct {
	Scope string // a folded id, or TenantScope
	Role  *Role
	// Assignment is the id of the role assignment; "" for a grant of the configuration.
	Assignment string
}

// Grants are what one caller has been granted at, above and below one subscription. A
// caller with grants of two kinds, as those of the configuration beside those of the
// store, has two lists: ask one after the other, which needs no third list.
type Grants []Grant

// Find returns a grant that allows an action at a scope: one at the scope, or above.
// Both may have any casing. It allocates nothing.
func (g Grants) Find(action, scope string) (Grant, bool) {
	for i := range g {
		if p := place(scope, g[i].Scope); (p == at || p == under) && g[i].Role.Allows(action) {
			return g[i], true
		}
	}
	return Grant{}, false
}

// Below reports whether a grant strictly below a scope allows an action there. Both may
// have any casing. It allocates nothing.
func (g Grants) Below(action, scope string) bool {
	for i := range g {
		if place(scope, g[i].Scope) == over && g[i].Role.Allows(action) {
			return true
		}
	}
	return false
}

// Any reports whether anything at all is granted somewhere.
func (g Grants) Any() bool { return len(g) > 0 }

// relation says where a scope lies as seen from another.
type relation uint8

const (
	beside relation = iota // neither holds the other
	at                     // they are one
	under                  // it lies in the other
	over                   // the other lies in it
)

// place says where a scope, in any casing, lies as seen from a folded one.
func place(scope, from string) relation {
	scope, from = rooted(scope), rooted(from)
	for len(scope) > 0 && len(from) > 0 {
		if c := scope[0]; c < utf8.RuneSelf {
			if lower(c) != from[0] {
				return beside
			}
			scope, from = scope[1:], from[1:]
			continue
		}
		_, n := utf8.DecodeRuneInString(scope)
		var buffer [utf8.UTFMax]byte
		folded := arm.AppendFold(buffer[:0], scope[:n])
		if len(from) < len(folded) || from[:len(folded)] != string(folded) {
			return beside
		}
		scope, from = scope[n:], from[len(folded):]
	}
	switch {
	case len(scope) == 0 && len(from) == 0:
		return at
	case len(from) == 0 && scope[0] == '/':
		return under
	case len(scope) == 0 && from[0] == '/':
		return over
	}
	return beside
}

// rooted cuts the slash off the tenant's scope, so that all ids lie below "".
func rooted(scope string) string {
	if scope == TenantScope {
		return ""
	}
	return scope
}
