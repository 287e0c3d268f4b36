package jsontext

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// appendText appends what a well-formed string says, which is never longer than the
// string is. Half of a surrogate pair stands for U+FFFD.
func appendText(to, quoted []byte) []byte {
	rest := quoted[1 : len(quoted)-1]
	if length := textLength(rest); cap(to)-len(to) < length {
		to = append(make([]byte, 0, len(to)+length), to...)
	}
	for {
		plain := bytes.IndexByte(rest, '\\')
		if plain < 0 {
			return append(to, rest...)
		}
		to = append(to, rest[:plain]...)
		r, n := escaped(rest[plain:])
		to = utf8.AppendRune(to, r)
		rest = rest[plain+n:]
	}
}

// textLength is the length of what the inside of a well-formed string says.
func textLength(rest []byte) int {
	length := 0
	for {
		plain := bytes.IndexByte(rest, '\\')
		if plain < 0 {
			return length + len(rest)
		}
		r, n := escaped(rest[plain:])
		length += plain + utf8.RuneLen(r)
		rest = rest[plain+n:]
	}
}

// escaped returns the character that text begins with, an escape of n bytes.
func escaped(text []byte) (r rune, n int) {
	switch c := text[1]; c {
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	case 'u':
	default:
		return rune(c), 2
	}
	r = unit(text)
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if len(text) >= 12 && text[6] == '\\' && text[7] == 'u' {
		if pair := utf16.DecodeRune(r, unit(text[6:])); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return utf8.RuneError, 6
}

// unit reads the four digits of an escape.
func unit(text []byte) (r rune) {
	for _, c := range text[2:6] {
		switch {
		case c >= 'a':
			c -= 'a' - 10
		case c >= 'A':
			c -= 'A' - 10
		default:
			c -= '0'
		}
		r = r<<4 | rune(c)
	}
	return r
}
