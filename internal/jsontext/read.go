// Package jsontext reads JSON text without decoding it.
//
// Reading checks the whole text for well-formedness in one pass and passes
// the members of the outermost object, or the elements of the outermost
// array, to visitors as unchanged bytes: numbers, key order and escapes stay,
// and a resource of a megabyte costs no more memory than itself. A request
// needs only a few top-level members (location, tags, value, nextLink);
// decoding all into maps would cost several times as much.
//
// encoding/json/jsontext decodes strings and explains faults. Its Decoder
// could also find the ends of values, but then a list of eight regions took
// 1.4 times the processor time.
package jsontext

import (
	"bytes"
	"encoding/json/jsontext"
	"unicode/utf8"
)

// Member is one member of the outermost object.
type Member struct {
	Key    []byte // decoded; valid only during the visit
	Value  []byte // the bytes of the value, without surrounding space: a part of the text
	Offset int    // offset of Value in the text
}

// Element is one element of the array that [Elements] reads.
type Element struct {
	Text   []byte // without surrounding space: a part of the text
	Offset int    // offset of Text in the text
	// Key is the value of the element's first member with the requested name:
	// a part of the text, nil if the element is not an object or has no such
	// member. It begins at KeyAt.
	Key   []byte
	KeyAt int
}

// Valid checks that text is one JSON value and nothing else.
func Valid(text []byte) error {
	s := scanner{text: text}
	return s.read(0, func(at int) int { return s.value(at, 0) })
}

// Object checks text, which must be one JSON object and nothing else, and
// calls visit for each member of it in order. The error describes where text
// stops being JSON, or is the error of visit.
func Object(text []byte, visit func(Member) error) error {
	return Elements(text, "", "", visit, nil)
}

// Array checks text, which must be one JSON array and nothing else, and calls
// visit for each element of it in order, without a key. The error describes
// where text stops being JSON, or is the error of visit.
func Array(text []byte, visit func(Element) error) error {
	s := scanner{text: text}
	return s.read('[', func(at int) int { return s.elements(at, 0, "", visit) })
}

// Elements is like [Object], and also visits the elements of one array
// member, in a single pass: for a member called array that is an array, it
// calls element with each element and the value of the element's own member
// called key, before it calls member with the array itself.
func Elements(text []byte, array, key string, member func(Member) error, element func(Element) error) error {
	s := scanner{text: text}
	return s.read('{', func(at int) int {
		return s.parts(at, 0, func(name []byte, at int) int {
			if element != nil && at < len(text) && text[at] == '[' && string(s.name(name)) == array {
				return s.member(name, at, s.elements(at, 1, key, element), member)
			}
			return s.member(name, at, s.value(at, 1), member)
		})
	})
}

// member passes a member to its visitor.
func (s *scanner) member(name []byte, at, end int, visit func(Member) error) int {
	if end < 0 || visit == nil {
		return end
	}
	return s.stopOr(visit(Member{s.name(name), s.text[at:end], at}), end)
}

// elements reads an array and passes its elements to the visitor.
func (s *scanner) elements(at, depth int, key string, visit func(Element) error) int {
	var e Element
	member := func(name []byte, at int) int {
		end := s.value(at, depth+2)
		if end >= 0 && e.Key == nil && string(s.name(name)) == key {
			e.Key, e.KeyAt = s.text[at:end], at
		}
		return end
	}
	return s.parts(at, depth, func(_ []byte, at int) (end int) {
		e = Element{Offset: at}
		if key != "" && at < len(s.text) && s.text[at] == '{' {
			end = s.parts(at, depth+1, member)
		} else {
			end = s.value(at, depth+1)
		}
		if end < 0 {
			return end
		}
		e.Text = s.text[at:end]
		return s.stopOr(visit(e), end)
	})
}

// read reads the whole text.
func (s *scanner) read(open byte, outermost func(at int) int) error {
	at := pastSpace(s.text, 0)
	if utf8.Valid(s.text) && at < len(s.text) && (open == 0 || s.text[at] == open) {
		end := outermost(at)
		if s.stopped != nil {
			return s.stopped
		}
		if end >= 0 && pastSpace(s.text, end) == len(s.text) {
			return nil
		}
	}
	return fault(s.text, open)
}

// stopOr returns end, or nowhere if a visitor stopped.
func (s *scanner) stopOr(stopped error, end int) int {
	if s.stopped = stopped; stopped != nil {
		return nowhere
	}
	return end
}

// Text returns the decoded value of a JSON string, and whether value is one.
// value must be well-formed, like the value of a [Member].
func Text(value []byte) (string, bool) {
	if len(value) < 2 || value[0] != '"' {
		return "", false
	}
	if bytes.IndexByte(value, '\\') < 0 {
		return string(value[1 : len(value)-1]), true
	}
	text, _ := jsontext.AppendUnquote(nil, value)
	return string(text), true
}

// Null reports whether value is absent or the word null.
func Null(value []byte) bool { return len(value) == 0 || string(value) == "null" }

// Value returns the unchanged value of an object's member, of the last one if
// several have the key; nil if none has, or if the text up to the member is
// not an object. It does not check the rest of the text.
func Value(object []byte, key string) (value []byte) {
	_ = Object(object, func(m Member) error {
		if string(m.Key) == key {
			value = m.Value
		}
		return nil
	})
	return value
}
