package roles

import (
	"cmp"
	"strings"
	"unicode/utf8"

	"portico/arm"
)

// TenantScope is the scope of a whole tenant.
const TenantScope = "/"

// Above returns a scope and all scopes that contain it, the tenant's first.
// The scope may have any casing, and need not be an ID.
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

// relation is the position of a scope relative to another.
type relation uint8

const (
	disjoint relation = iota // neither contains the other
	at                       // they are equal
	under                    // it is inside the other
	over                     // the other is inside it
)

// relationTo returns the position of a scope, in any casing, relative to a folded one.
func relationTo(scope, from string) relation {
	scope, from, _ = cutCommonPrefix(rooted(scope), rooted(from))
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

// compare compares a scope, in any casing, followed by then, with a folded
// scope, by bytes.
func compare(scope, then, folded string) int {
	rest, from, order := cutCommonPrefix(scope, folded)
	if rest == "" && order == 0 {
		return cmp.Compare(then, from)
	}
	if order == 0 {
		return 1
	}
	return order
}

// cutCommonPrefix cuts the common prefix off a text, in any casing, and a folded text.
// order compares the next characters, 0 if either text has ended.
func cutCommonPrefix(text, folded string) (restOfText, restOfFolded string, order int) {
	if rest, ok := strings.CutPrefix(text, folded); ok { // the usual casing
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

// rooted returns "" for the tenant's scope, so that all ids lie below it.
func rooted(scope string) string {
	if scope == TenantScope {
		return ""
	}
	return scope
}
