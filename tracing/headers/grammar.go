package headers

import (
	"net/http"
	"strconv"
	"strings"
)

// Classes of the bytes in a message of HTTP/1.1 (RFC 9110 and 9112), as bits of classes.
const (
	tokenByte = 1 << iota // may stand in a name
	valueByte             // may stand in a value
	digitByte
	hostByte // may stand in a Host
)

var classes = func() (all [256]byte) {
	for c := range all {
		if c >= ' ' && c != 0x7f || c == '\t' {
			all[c] |= valueByte
		}
	}
	for c := '0'; c <= '9'; c++ {
		all[c] |= tokenByte | digitByte | hostByte
	}
	for c := 'a'; c <= 'z'; c++ {
		all[c] |= tokenByte | hostByte
		all[c-'a'+'A'] |= tokenByte | hostByte
	}
	for _, c := range "!#$%&'*+-.^_`|~" {
		all[c] |= tokenByte
	}
	for _, c := range "!$%&'()*+,-.:;=[]_~" {
		all[c] |= hostByte
	}
	return all
}()

// all reports whether each byte of s is of a class.
func all[T string | []byte](s T, class byte) bool {
	for i := range len(s) {
		if classes[s[i]]&class == 0 {
			return false
		}
	}
	return true
}

// IsToken reports whether s is a token: a method, or the name of a header.
func IsToken[T string | []byte](s T) bool { return len(s) > 0 && all(s, tokenByte) }

// IsFieldValue reports whether s may be a header's value. There are many, and they are
// long, above all tokens: it looks at eight bytes at a time, and at four times as many
// while none of them is a control.
func IsFieldValue[T string | []byte](s T) bool {
	for len(s) >= 4*wordSize && controls(word(s), ' ')|controls(word(s[wordSize:]), ' ')|controls(word(s[2*wordSize:]), ' ')|
		controls(word(s[3*wordSize:]), ' ') == 0 {
		s = s[4*wordSize:]
	}
	for len(s) >= wordSize {
		if controls(word(s), ' ') != 0 && !all(s[:wordSize], valueByte) {
			return false
		}
		s = s[wordSize:]
	}
	return all(s, valueByte)
}

// wordSize is how many bytes a word has.
const wordSize = 8

// word is the first bytes of s.
func word[T string | []byte](s T) uint64 {
	_ = s[wordSize-1] // one check of bounds, and one load
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// controls has a bit for the first byte of a word that is less than the given one, which
// is ASCII, or is DEL, and maybe for bytes after it; it is 0 where there is none.
func controls(w, least uint64) uint64 {
	const ones, highest, del = 0x0101010101010101, 0x8080808080808080, 0x7f7f7f7f7f7f7f7f
	less := (w - least*ones) &^ w
	same := ((w ^ del) - ones) &^ (w ^ del)
	return (less | same) & highest
}

// IsDigits reports whether s has only decimal digits, and at least one.
func IsDigits[T string | []byte](s T) bool { return len(s) > 0 && all(s, digitByte) }

// IsHost reports whether all bytes of s may stand in a Host.
func IsHost(s string) bool { return all(s, hostByte) }

// IsVisible reports whether s may stand in a request target: nothing of it ends or
// splits the line.
func IsVisible(s string) bool {
	for ; len(s) >= wordSize; s = s[wordSize:] {
		if controls(word(s), ' '+1) != 0 {
			return false
		}
	}
	for i := range len(s) {
		if s[i] <= ' ' || s[i] == 0x7f {
			return false
		}
	}
	return true
}

// TrimSpace cuts off spaces and tabs.
func TrimSpace(s string) string {
	for len(s) > 0 && (s[0] == ' ' || s[0] == '\t') {
		s = s[1:]
	}
	for len(s) > 0 && (s[len(s)-1] == ' ' || s[len(s)-1] == '\t') {
		s = s[:len(s)-1]
	}
	return s
}

// HasToken reports whether a token is an element of one of the values, which are lists
// with commas.
func HasToken(values []string, token string) bool {
	for _, value := range values {
		for part := range strings.SplitSeq(value, ",") {
			if EqualFold(TrimSpace(part), token) {
				return true
			}
		}
	}
	return false
}

// EqualFold compares without regard to the case of ASCII letters, and of no others: in
// Unicode a Kelvin sign is a k.
func EqualFold(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if lower(a[i]) != lower(b[i]) {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

// ContentLength reads the length that a message declares: -1 where it declares none. The
// same one twice becomes one; ok is false for what is not one number.
func ContentLength(h http.Header) (n int64, ok bool) {
	sent := h["Content-Length"]
	if len(sent) == 0 {
		return -1, true
	}
	for _, other := range sent[1:] {
		if other != sent[0] {
			return 0, false
		}
	}
	if len(sent) > 1 {
		h["Content-Length"] = sent[:1]
	}
	if !IsDigits(sent[0]) {
		return 0, false
	}
	n, err := strconv.ParseInt(sent[0], 10, 64)
	return n, err == nil
}
