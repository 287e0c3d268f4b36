package fanout

import (
	"bytes"
	"errors"
	"unicode"
	"unicode/utf8"

	"portico/internal/jsontext"
)

// linkName is the name of the member, folded.
const linkName = "nextlink"

// MayHoldLink reports whether a less strict reader may see, in a text that is not valid
// JSON here, an object with the member nextLink. Such readers accept UTF-16, invalid
// UTF-8, comments, other quotes or none, more escapes, and text around the object. The
// depth of the member does not matter, because readers may disagree on it. No reader
// takes markup, or JSON that is not an object, for such an object.
func MayHoldLink(text []byte) bool {
	if jsontext.Valid(text) == nil {
		page, err := ParseLink(text)
		return !jsontext.Null(page.NextLink) || errors.Is(err, ErrAmbiguous)
	}
	return holdsLink(lenientText(text, lenientRune)) || !utf8.Valid(text) && holdsLink(lenientText(text, utf8.DecodeRune))
}

// holdsLink is like [MayHoldLink], for one reader's view of a text.
func holdsLink(plain []byte) bool {
	open := bytes.IndexByte(plain, '{')
	if open < 0 || bytes.HasPrefix(bytes.TrimLeft(plain, " "), []byte{'<'}) {
		return false
	}
	for rest := plain[open:]; ; {
		at := bytes.Index(rest, []byte(linkName))
		if at < 0 {
			return false
		}
		if before := rest[at-1]; !inName(before) && namesMember(rest[at+len(linkName):]) {
			return true
		}
		rest = rest[at:]
		rest[0] = inNames // the search continues after it
	}
}

// inNames replaces characters beyond ASCII that may be part of a name.
const inNames = '_'

// inName reports whether a character before a name is part of it.
func inName(c byte) bool {
	return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == inNames || c == '$' || c == '@' || c == '.' || c == '-'
}

// namesMember reports whether the text before after may be the name of a member. A value
// is followed by a comma, a closing bracket or the end of the text.
func namesMember(after []byte) bool {
	after = bytes.TrimLeft(after, "\"'` ")
	return len(after) > 0 && !inName(after[0]) && after[0] != ',' && after[0] != '}' && after[0] != ']'
}

// lenientText returns a text as the least strict readers may see it: letters in lower
// case, escapes decoded, all kinds of space as a space. It leaves out invisible
// characters and the non-ASCII bytes of other encodings. Some readers turn invalid UTF-8
// into characters, others into nothing: decode selects one of them.
func lenientText(text []byte, decode func([]byte) (rune, int)) []byte {
	plain := make([]byte, 0, len(text))
	for len(text) > 0 {
		r, size := decode(text)
		text = text[size:]
		if r == '\\' {
			r, size = lenientEscape(text)
			text = text[size:]
		}
		if c, seen := lenientByte(r); seen {
			plain = append(plain, c)
		}
	}
	return plain
}

// lenientByte returns the byte for a character, folded as in readers that match names in
// any casing; seen is false for characters that they leave out.
func lenientByte(r rune) (c byte, seen bool) {
	switch folded := unicode.ToLower(unicode.ToUpper(r)); {
	case unicode.IsSpace(r):
		return ' ', true
	case r == utf8.RuneError, unicode.In(r, unicode.Cc, unicode.Cf):
		return 0, false
	case folded < utf8.RuneSelf:
		return byte(folded), true //nolint:gosec // ASCII
	}
	return inNames, true
}

// lenientRune decodes one character like decoders that accept longer forms
// than the shortest. An invalid byte is a [utf8.RuneError] of one byte.
func lenientRune(text []byte) (rune, int) {
	first, more := text[0], 0
	switch {
	case first < utf8.RuneSelf:
		return rune(first), 1
	case first&0xe0 == 0xc0:
		more = 1
	case first&0xf0 == 0xe0:
		more = 2
	case first&0xf8 == 0xf0:
		more = 3
	}
	r := rune(first) & (0x3f >> more)
	for i := 1; i <= more; i++ {
		if i == len(text) || text[i]&0xc0 != 0x80 {
			return utf8.RuneError, 1
		}
		r = r<<6 | rune(text[i]&0x3f)
	}
	if more == 0 {
		return utf8.RuneError, 1
	}
	return r, 1 + more
}

// lenientEscape decodes the text after a backslash. Hexadecimal digits may
// have bytes of UTF-16 between them.
func lenientEscape(text []byte) (rune, int) {
	at := 0
	next := func() byte {
		for ; at < len(text); at++ {
			if c := text[at]; c != 0 {
				at++
				return c
			}
		}
		return 0
	}
	var digits int
	switch c := next(); c {
	case 'u':
		digits = 4
	case 'U':
		digits = 8
	case 'x':
		digits = 2
	case '\r', '\n': // the string continues on the next line
		if rest := text[at:]; c == '\r' && len(rest) > 0 && rest[0] == '\n' {
			at++
		}
		return utf8.RuneError, at
	case 'n', 'r', 't', 'b', 'f', 'v':
		return ' ', at
	default:
		return rune(c), at
	}
	r, begin := rune(0), at
	if next() == '{' {
		for digit := next(); at < len(text) && hexDigit(digit) >= 0 && r < utf8.MaxRune; digit = next() {
			r = r<<4 | hexDigit(digit)
		}
		return r, at
	}
	at = begin
	for range digits {
		digit := hexDigit(next())
		if digit < 0 {
			return utf8.RuneError, begin
		}
		r = r<<4 | digit
	}
	return r, at
}

// hexDigit returns the value of a hexadecimal digit, -1 for any other byte.
func hexDigit(c byte) rune {
	switch {
	case '0' <= c && c <= '9':
		return rune(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return rune(c|0x20-'a') + 10
	}
	return -1
}
