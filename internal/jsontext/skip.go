package jsontext

import (
	"bytes"
	"encoding/binary"
	"math/bits"
)

// skip passes over an object or an array that nothing asks for, most of any text:
// without recursion, and with nothing kept but which of the two it is in at each level.
// It returns false, and has not moved, where the text is not well-formed: the path that
// can report the reason then starts over without this one.
func (s *scanner) skip() bool {
	if s.bad {
		return false
	}
	_, ok := s.skipped("")
	s.bad = !ok
	return ok
}

// deepest is how far skipped looks into a text: it keeps one bit of each level.
const deepest = 64

// skipped is skip for an object with one string member that may matter; key is its name
// with the quotes. Where the member is something else, or may be one that is spelled in
// another way, it is for another way to tell.
func (s *scanner) skipped(key string) (found Member, ok bool) {
	t, at, level := s.text, s.at, 0
	objects := uint64(0) // the lowest bit is of the innermost level: set in an object
	for {
		// A value begins here.
		if at >= len(t) {
			return found, false
		}
		switch c := t[at]; c {
		case '"':
			if at = pastString(t, at); at < 0 {
				return found, false
			}
		case '{', '[':
			if level++; level > deepest || s.depth+level > maxDepth {
				return found, false
			}
			objects <<= 1
			if c == '{' {
				objects |= 1
			}
			at = pastSpace(t, at+1)
			if at < len(t) && t[at] == c+2 { // the brackets of a pair are two apart
				break
			}
			if c == '[' {
				continue
			}
			name := at
			if at = pastKey(t, at); at < 0 || level == 1 && !found.note(t, key, name, at) {
				return found, false
			}
			continue
		default:
			if at = pastScalar(t, at); at < 0 {
				return found, false
			}
		}
		// It has ended, or the empty one ends: close what ends with it.
		for {
			if at = pastSpace(t, at); at >= len(t) {
				return found, false
			}
			c := t[at]
			at++
			if c == ',' {
				at = pastSpace(t, at)
				break
			}
			if c != ']'+byte(objects&1)*('}'-']') {
				return found, false
			}
			objects >>= 1
			if level--; level == 0 {
				s.at = at
				return found, true
			}
		}
		if objects&1 != 0 {
			name := at
			if at = pastKey(t, at); at < 0 || level == 1 && found.Value == nil && !found.note(t, key, name, at) {
				return found, false
			}
		}
	}
}

// note looks at a member whose name, with its quotes, begins at one place and
// whose value at another. It returns false where it cannot tell.
func (m *Member) note(t []byte, key string, name, value int) bool {
	switch {
	case key == "" || m.Value != nil:
		return true
	case bytes.IndexByte(t[name:value], '\\') >= 0:
		return false
	case value-name < len(key) || string(t[name:name+len(key)]) != key:
		return true
	case value >= len(t) || t[value] != '"':
		return false
	}
	end := pastString(t, value)
	if end < 0 {
		return false
	}
	m.Value, m.Offset = t[value:end], value
	return true
}

// pastSpace returns where the first byte is that is no space. Most often there is
// none.
func pastSpace(t []byte, at int) int {
	if at < len(t) && t[at] > ' ' {
		return at
	}
	return pastSpaces(t, at)
}

func pastSpaces(t []byte, at int) int {
	for at < len(t) && (t[at] == ' ' || t[at] == '\n' || t[at] == '\t' || t[at] == '\r') {
		at++
	}
	return at
}

// pastKey returns where the value of a member begins whose name begins at at, -1
// where there is no name with a colon.
func pastKey(t []byte, at int) int {
	if at >= len(t) || t[at] != '"' {
		return -1
	}
	if at = pastString(t, at); at < 0 {
		return -1
	}
	if at < len(t) && t[at] != ':' {
		at = pastSpaces(t, at)
	}
	if at >= len(t) || t[at] != ':' {
		return -1
	}
	return pastSpace(t, at+1)
}

// pastScalar returns where the string, number or word that begins at at has
// ended, -1 where there is none.
func pastScalar(t []byte, at int) int {
	switch c := t[at]; {
	case c == '"':
		return pastString(t, at)
	case c == '-' || '0' <= c && c <= '9':
		one := scanner{text: t, at: at}
		if one.number() != nil {
			return -1
		}
		return one.at
	case c == 't':
		return pastWord(t, at, "true")
	case c == 'f':
		return pastWord(t, at, "false")
	case c == 'n':
		return pastWord(t, at, "null")
	}
	return -1
}

func pastWord(t []byte, at int, word string) int {
	if len(t)-at < len(word) || string(t[at:at+len(word)]) != word {
		return -1
	}
	return at + len(word)
}

// special looks at eight bytes. The lowest bit that it returns is in the first of them
// that is a quote, a backslash or below a space; 0: none is.
func special(v uint64) uint64 {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	// With its second bit turned over, a quote is a space: it and what is below a space
	// are below '!' then, and nothing else is.
	low, escape := v^2*ones, v^'\\'*ones
	return ((low-'!'*ones)&^low | (escape-ones)&^escape) & tops
}

// pastString returns where the string that begins at at has ended, -1 where it
// does not end well.
func pastString(t []byte, at int) int {
	for at++; len(t)-at >= 8; at += 8 {
		found := special(binary.LittleEndian.Uint64(t[at : at+8]))
		if found == 0 {
			continue
		}
		if at += bits.TrailingZeros64(found) / 8; t[at] == '"' {
			return at + 1
		}
		break
	}
	one := scanner{text: t, at: at - 1} // as if it began here
	if _, err := one.string(); err != nil {
		return -1
	}
	return one.at
}

// pastPlain passes over what is nothing special in a string, eight bytes at a
// time: strings are most of a text.
func pastPlain(t []byte, at int) int {
	for len(t)-at >= 8 {
		if found := special(binary.LittleEndian.Uint64(t[at:])); found != 0 {
			return at + bits.TrailingZeros64(found)/8
		}
		at += 8
	}
	for at < len(t) && t[at] != '"' && t[at] != '\\' && t[at] >= ' ' {
		at++
	}
	return at
}
