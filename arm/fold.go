package arm

import (
	"encoding/binary"
	"unicode"
	"unicode/utf8"
)

// Fold returns the form of identifiers for comparison: two texts name the
// same thing exactly if their folds are equal bytes. It returns s itself,
// without allocating, if s is already folded.
//
// Letters fold to lower case by Unicode's simple mappings. A letter beyond
// ASCII never folds into ASCII: the Kelvin sign is not k, so that no
// look-alike can match a name in a rule or a lock.
func Fold(s string) string {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= utf8.RuneSelf || 'A' <= c && c <= 'Z' {
			return string(AppendFold(make([]byte, 0, len(s)), s))
		}
	}
	return s
}

// AppendFold appends the fold of s to dst; see [Fold]. It folds eight bytes
// at a time, because nearly all names are ASCII and a request folds several.
func AppendFold(dst []byte, s string) []byte {
	const ones, highest = 0x0101010101010101, 0x8080808080808080
	from := len(dst)
	dst = append(dst, s...)
	for rest := dst[from:]; len(rest) >= 8; rest = rest[8:] {
		w := binary.LittleEndian.Uint64(rest)
		if w&highest != 0 {
			break
		}
		// The highest bit of a byte is set from A on in the first sum, and
		// above Z in the second.
		capitals := (w + (0x80-'A')*ones) &^ (w + (0x7f-'Z')*ones) & highest
		binary.LittleEndian.PutUint64(rest, w|capitals>>2)
		from += 8
	}
	done := len(s) - (len(dst) - from)
	return appendFold(dst[:from], s[done:])
}

// appendFold is like AppendFold, character by character.
func appendFold(dst []byte, s string) []byte {
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if 'A' <= c && c <= 'Z' {
				c += 'a' - 'A'
			}
			dst = append(dst, c)
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			dst = append(dst, c) // invalid bytes stay
			i++
			continue
		}
		dst = utf8.AppendRune(dst, foldRune(r))
		i += n
	}
	return dst
}

func foldRune(r rune) rune {
	// Map to upper case first: letters such as the final sigma reach their common form
	// only through their capital.
	f := unicode.ToLower(unicode.ToUpper(r))
	if f < utf8.RuneSelf {
		return r
	}
	// Two letters without a capital that differ only in form (U+FB05 and
	// U+FB06) fold to the lesser.
	for same := unicode.SimpleFold(f); same != f; same = unicode.SimpleFold(same) {
		if unicode.ToUpper(same) == same && unicode.ToLower(same) == same {
			f = min(f, same)
			break
		}
	}
	return f
}

// EqualFold reports whether a and b name the same thing; see [Fold].
func EqualFold(a, b string) bool {
	if a == b {
		return true
	}
	for len(a) > 0 && len(b) > 0 {
		ra, na := utf8.DecodeRuneInString(a)
		rb, nb := utf8.DecodeRuneInString(b)
		switch {
		case ra == utf8.RuneError && na == 1 || rb == utf8.RuneError && nb == 1:
			if na != nb || a[0] != b[0] {
				return false
			}
		case ra != rb && equalRune(ra) != equalRune(rb):
			return false
		}
		a, b = a[na:], b[nb:]
	}
	return len(a) == len(b)
}

func equalRune(r rune) rune {
	if r < utf8.RuneSelf {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}
	return foldRune(r)
}
