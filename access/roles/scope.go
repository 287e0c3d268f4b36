package roles

import (
	"cmp"
	"strings"
	"unicode/utf8"

	"portico/arm"
)

// TenantScope is the scope that holds all of a tenant.
const TenantScope = "/"

// Above returns a scope and all that hold it, the tenant's first. The scope may have any
// casing, and need not be the ID of anything.
func Above(scope string) []string {
	above := []string{TenantScope}
	for i := range len(scope) {
		if i > 0 && scope[i] == '/' {
			above = append(above, scope[:i])
		}
	}
	if rooted(scope) != "" {
		above = append(above, scope)
	}
	return above
}

// relation says where a scope lies as seen from another.
type relation uint8

const (
	disjoint relation = iota // neither holds the other
	at                       // they are one
	under                    // it lies in the other
	over                     // the other lies in it
)

// place says where a scope, in any casing, lies as seen from a folded one.
func place(scope, from string) relation {
	scope, from, _ = meet(rooted(scope), rooted(from))
	switch {
	case scope == "" && from == "":
		return at
	case from == "" && scope[0] == '/':
		return under
	case scope == "" && from[0] == '/':
		return over
	}
	return disjoint
}

// compare compares a scope, in any casing, and what follows it with a folded one, by
// their bytes.
func compare(scope, then, folded string) int {
	rest, from, order := meet(scope, folded)
	if rest == "" && order == 0 {
		return cmp.Compare(then, from)
	}
	if order == 0 {
		return 1
	}
	return order
}

// meet cuts off what a text, in any casing, and a folded one have in common. It also
// returns how the next character of the one compares with that of the other, 0 where
// either has come to its end.
func meet(text, folded string) (restOfText, restOfFolded string, order int) {
	if rest, ok := strings.CutPrefix(text, folded); ok { // as most scopes are written
		return rest, "", 0
	}
	for len(text) > 0 && len(folded) > 0 {
		if c := text[0]; c < utf8.RuneSelf {
			if c = lower(c); c != folded[0] {
				return text, folded, cmp.Compare(c, folded[0])
			}
			text, folded = text[1:], folded[1:]
			continue
		}
		_, n := utf8.DecodeRuneInString(text)
		var buffer [utf8.UTFMax]byte
		letter := string(arm.AppendFold(buffer[:0], text[:n]))
		if !strings.HasPrefix(folded, letter) {
			return text, folded, cmp.Compare(letter, folded)
		}
		text, folded = text[n:], folded[len(letter):]
	}
	return text, folded, 0
}

// rooted cuts the slash off the tenant's scope, so that all ids lie below "".
func rooted(scope string) string {
	if scope == TenantScope {
		return ""
	}
	return scope
}
