package function

import "unicode/utf8"

// ARM counts characters as .NET does, in UTF-16 units: two for characters beyond the basic plane.

func utf16Length(s string) int {
	n := 0
	for _, r := range s {
		n += units(r)
	}
	return n
}

func units(r rune) int {
	if r > 0xffff {
		return 2
	}
	return 1
}

// utf16Offset returns the byte offset of a unit, at most len(s). A unit inside a rune counts as the
// rune's end.
func utf16Offset(s string, unit int) int {
	for at, r := range s {
		if unit <= 0 {
			return at
		}
		unit -= units(r)
	}
	return len(s)
}

// utf16Index returns the unit at a byte offset.
func utf16Index(s string, offset int) int { return utf16Length(s[:offset]) }

// lastCharacter returns the last rune of s.
func lastCharacter(s string) string {
	_, size := utf8.DecodeLastRuneInString(s)
	return s[len(s)-size:]
}
