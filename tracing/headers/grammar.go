package headers

import (
	"net/http"
	"strconv"
	"strings"
)

// Classes of bytes in HTTP/1.1 messages (RFC 9110 and 9112), as bits of classes.
const (
	tokenByte = 1 << iota // valid in a name
	valueByte             // valid in a value
	digitByte
	hostByte // valid in a Host
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

// allInClass reports whether every byte of s is in a class.
func allInClass[T string | []byte](s T, class byte) bool {
	for i := range len(s) {
		if classes[s[i]]&class == 0 {
			return false
		}
	}
	return true
}

// IsToken reports whether s is a token, such as a method or a header's name.
func IsToken[T string | []byte](s T) bool { return len(s) > 0 && allInClass(s, tokenByte) }

// IsFieldValue reports whether s is valid as a header's value. Values are many and may be long,
// above all tokens. It therefore tests eight bytes at a time, and four such words together while
// they have no control characters.
func IsFieldValue[T string | []byte](s T) bool {
	for len(s) >= 4*wordSize && findControls(loadWord(s), ' ')|findControls(loadWord(s[wordSize:]), ' ')|findControls(loadWord(s[2*wordSize:]), ' ')|
		findControls(loadWord(s[3*wordSize:]), ' ') == 0 {
		s = s[4*wordSize:]
	}
	for len(s) >= wordSize {
		if findControls(loadWord(s), ' ') != 0 && !allInClass(s[:wordSize], valueByte) {
			return false
		}
		s = s[wordSize:]
	}
	return allInClass(s, valueByte)
}

// wordSize is the number of bytes in a word.
const wordSize = 8

// loadWord returns the first bytes of s.
func loadWord[T string | []byte](s T) uint64 {
	_ = s[wordSize-1] // a single bounds check, and a single load
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// findControls sets a bit for the first byte of a word that is less than least, an ASCII character,
// or is DEL, and possibly for bytes after it. It returns 0 if there is none.
func findControls(w, least uint64) uint64 {
	const ones, highest, del = 0x0101010101010101, 0x8080808080808080, 0x7f7f7f7f7f7f7f7f
	less := (w - least*ones) &^ w
	same := ((w ^ del) - ones) &^ (w ^ del)
	return (less | same) & highest
}

// IsDigits reports whether s consists of decimal digits, and is not empty.
func IsDigits[T string | []byte](s T) bool { return len(s) > 0 && allInClass(s, digitByte) }

// IsHost reports whether all bytes of s are valid in a Host.
func IsHost(s string) bool { return allInClass(s, hostByte) }

// IsVisible reports whether s is valid in a request target: it has no byte that ends or splits the
// request line.
func IsVisible(s string) bool {
	for ; len(s) >= wordSize; s = s[wordSize:] {
		if findControls(loadWord(s), ' '+1) != 0 {
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

// TrimSpace removes spaces and tabs at both ends.
func TrimSpace(s string) string {
	for len(s) > 0 && (s[0] == ' ' || s[0] == '\t') {
		s = s[1:]
	}
	for len(s) > 0 && (s[len(s)-1] == ' ' || s[len(s)-1] == '\t') {
		s = s[:len(s)-1]
	}
	return s
}

// HasToken reports whether one of the values, which are comma-separated lists, contains a token.
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

// EqualFold compares ignoring the case of ASCII letters only. Unicode folding would equate the
// Kelvin sign with k.
func EqualFold(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if lowerASCII(a[i]) != lowerASCII(b[i]) {
			return false
		}
	}
	return true
}

func lowerASCII(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

// ContentLength returns the declared length of a message, or -1 if there is none. It merges
// identical lines into one. ok is false if the header is not a single number.
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
