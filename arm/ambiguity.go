package arm

import (
	"fmt"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// ambiguity explains why servers may mistake a name for another one, which
// may have a lock or a permission; "" if it is unambiguous. Servers trim
// names, compose their letters, drop invisible characters, and fold letters
// by their own tables; no encoding prevents that.
func ambiguity(name string) string {
	switch {
	case name[0] == ' ' || name[len(name)-1] == ' ':
		return "it begins or ends with a space"
	case name[len(name)-1] == '.':
		return "it ends with a full stop"
	case asciiOnly(name):
		return ""
	}
	for _, r := range name {
		switch {
		case !unicode.IsPrint(r) || ignorable(r):
			return fmt.Sprintf("it holds the character %U, which is not a printed one", r)
		case foldsToASCII(r):
			return fmt.Sprintf("it holds the letter '%c' (%U), of which some servers make an ASCII letter", r, r)
		}
	}
	if !Composed(name) {
		return "it is not in Unicode normalization form C"
	}
	return ""
}

func asciiOnly(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// Composed reports whether s is in Unicode normalization form C, which has
// one spelling for each character.
func Composed(s string) bool { return asciiOnly(s) || norm.NFC.IsNormalString(s) }

// ignorable reports whether r is invisible by itself although it is a letter or a mark:
// Hangul fillers, variation selectors, the grapheme joiner.
func ignorable(r rune) bool {
	return r >= utf8.RuneSelf && (unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r) || unicode.Is(unicode.Variation_Selector, r))
}

// foldsToASCII reports whether a case mapping of r, a letter beyond ASCII, is
// an ASCII letter: İ, ı, ſ and the Kelvin sign. Portico does not fold them
// (see [Fold]), but servers that first map to the other case do.
func foldsToASCII(r rune) bool {
	return r >= utf8.RuneSelf && (unicode.ToUpper(r) < utf8.RuneSelf || unicode.ToLower(r) < utf8.RuneSelf)
}
