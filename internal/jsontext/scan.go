package jsontext

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"encoding/json/jsontext"
	"math/bits"
)

// maxDepth bounds nesting, and with it the stack that hostile text can use.
const maxDepth = 512

// scanner finds the ends of values. Its methods take the start of something
// and return its end, or nowhere if the text is not well-formed or a visitor
// stopped. [fault] then describes the fault.
type scanner struct {
	text    []byte
	key     []byte // of the current member, if its name has an escape
	stopped error  // error of a visitor that stopped
}

const nowhere = -1

func (s *scanner) value(at, depth int) int {
	if at >= len(s.text) {
		return nowhere
	}
	switch s.text[at] {
	case '{', '[':
		return s.parts(at, depth, nil)
	case '"':
		return pastString(s.text, at)
	case 't':
		return pastWord(s.text, at, "true")
	case 'f':
		return pastWord(s.text, at, "false")
	case 'n':
		return pastWord(s.text, at, "null")
	}
	return pastNumber(s.text, at)
}

// parts reads an object or an array, calling part, if given, to read each member's or
// element's value. part gets the name of a member with its quotes.
func (s *scanner) parts(at, depth int, part func(name []byte, at int) int) int {
	t, closing := s.text, s.text[at]+2 // the brackets of a pair are two apart
	if depth++; depth > maxDepth {
		return nowhere
	}
	if at = pastSpace(t, at+1); at < len(t) && t[at] == closing {
		return at + 1
	}
	for {
		begin, end := at, at
		if closing == '}' {
			if end = pastString(t, at); end < 0 {
				return nowhere
			}
			if at = pastSpace(t, end); at >= len(t) || t[at] != ':' {
				return nowhere
			}
			at = pastSpace(t, at+1)
		}
		if part == nil {
			at = s.value(at, depth)
		} else {
			at = part(t[begin:end], at)
		}
		if at < 0 {
			return nowhere
		}
		if at = pastSpace(t, at); at >= len(t) || t[at] != ',' && t[at] != closing {
			return nowhere
		}
		if t[at] == closing {
			return at + 1
		}
		at = pastSpace(t, at+1)
	}
}

// name returns the decoded name of a member. It is valid until the next call.
func (s *scanner) name(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	s.key, _ = jsontext.AppendUnquote(s.key[:0], quoted)
	return s.key
}

// pastSpace returns the offset of the first byte that is not a space.
func pastSpace(t []byte, at int) int {
	for at < len(t) && t[at] <= ' ' && (t[at] == ' ' || t[at] == '\n' || t[at] == '\t' || t[at] == '\r') {
		at++
	}
	return at
}

func pastWord(t []byte, at int, word string) int {
	if len(t)-at < len(word) || string(t[at:at+len(word)]) != word {
		return nowhere
	}
	return at + len(word)
}

func pastNumber(t []byte, at int) int {
	if t[at] == '-' {
		at++
	}
	end := pastDigits(t, at)
	if end > at+1 && t[at] == '0' {
		return nowhere
	}
	if end >= 0 && end < len(t) && t[end] == '.' {
		end = pastDigits(t, end+1)
	}
	if end >= 0 && end < len(t) && (t[end] == 'e' || t[end] == 'E') {
		if end++; end < len(t) && (t[end] == '+' || t[end] == '-') {
			end++
		}
		end = pastDigits(t, end)
	}
	return end
}

func pastDigits(t []byte, at int) int {
	begin := at
	for at < len(t) && '0' <= t[at] && t[at] <= '9' {
		at++
	}
	if at == begin {
		return nowhere
	}
	return at
}

// pastString skips eight ordinary bytes at a time, because most of a text is strings.
func pastString(t []byte, at int) int {
	if at >= len(t) || t[at] != '"' {
		return nowhere
	}
	for at++; ; {
		if len(t)-at >= 8 {
			found := special(binary.LittleEndian.Uint64(t[at : at+8]))
			if found == 0 {
				at += 8
				continue
			}
			at += bits.TrailingZeros64(found) / 8
		}
		switch {
		case at >= len(t) || t[at] < ' ':
			return nowhere
		case t[at] == '"':
			return at + 1
		case t[at] != '\\':
			at++
		default:
			if at = pastEscape(t, at); at < 0 {
				return nowhere
			}
		}
	}
}

// special examines eight bytes. The lowest bit of its result is in the first byte that
// is a quote, a backslash or below a space; the result is 0 if none is.
func special(v uint64) uint64 {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	// With its second bit inverted, a quote becomes a space; only it and the
	// bytes below a space are below '!' then.
	low, escape := v^2*ones, v^'\\'*ones
	return ((low-'!'*ones)&^low | (escape-ones)&^escape) & tops
}

func pastEscape(t []byte, at int) int {
	if len(t)-at < 2 {
		return nowhere
	}
	switch t[at+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return at + 2
	case 'u':
		var unit [2]byte
		if len(t)-at < 6 {
			return nowhere
		}
		if _, err := hex.Decode(unit[:], t[at+2:at+6]); err == nil {
			return at + 6
		}
	}
	return nowhere
}
