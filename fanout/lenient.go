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

// MayHoldLink reports whether a text that is not JSON here may be, to a less strict reader,
// an object with the member nextLink. Such readers take UTF-16, bytes that are not UTF-8,
// comments, other quotes or none, more escapes, and text around the object. How deep the
// member lies is not looked at, as they would have to agree on that. No reader takes JSON
// that is not an object, or markup, for such an object.
func MayHoldLink(text []byte) bool {
	if jsontext.Valid(text) == nil {
		page, err := ParseLink(text)
		return !jsontext.Null(page.NextLink) || errors.Is(err, ErrAmbiguous)
	}
	return holdsLink(lenientText(text, lenientRune)) || !utf8.Valid(text) && holdsLink(lenientText(text, utf8.DecodeRune))
}

// holdsLink is [MayHoldLink] of a text as a reader sees it.
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
		rest[0] = inNames // so that the search goes on behind it
	}
}

// inNames stands for characters that are not ASCII and may be part of a name.
const inNames = '_'

// inName reports whether a character is part of the name that goes on behind it.
func inName(c byte) bool {
	return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' || c == inNames || c == '$' || c == '@' || c == '.' || c == '-'
}

// namesMember reports whether what stands before after may be the name of a member. A value
// ends a member, an element or the text.
func namesMember(after []byte) bool {
	after = bytes.TrimLeft(after, "\"'` ")
	return len(after) > 0 && !inName(after[0]) && after[0] != ',' && after[0] != '}' && after[0] != ']'
}

// lenientText returns a text as the least strict readers may see it: letters in lower case,
// escapes decoded, all kinds of space as a space. The bytes of other encodings that are not
// ASCII, and what is not seen, are left out. Of what is not UTF-8, some readers make characters
// and others nothing: decode is one of them.
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

// lenientByte returns the byte that stands for a character, folded as the readers do that
// take names in any casing; seen is false for what they leave out.
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

// lenientRune decodes one character as decoders do that do not look for the shortest form.
// What is none is a [utf8.RuneError] of one byte.
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

// lenientEscape decodes what stands behind a backslash, where hexadecimal digits may have
// bytes of UTF-16 between them.
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
	case '\r', '\n': // the string goes on in the next line
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

// hexDigit returns the value of a hexadecimal digit, -1 if it is none.
func hexDigit(c byte) rune {
	switch {
	case '0' <= c && c <= '9':
		return rune(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return rune(c|0x20-'a') + 10
	}
	return -1
}
