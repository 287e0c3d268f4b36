// Package jsontext reads JSON text without decoding it, and writes objects member by
// member.
//
// Reading checks the whole text for well-formedness in one pass and hands out the members
// of the outermost object, or the elements of the outermost array, as the bytes that
// they are: numbers, key order and escapes stay unchanged, and a resource of a
// megabyte costs no more memory than itself. On the way of a request only a few
// top-level members matter (location, tags, value, nextLink); decoding into
// maps for their sake would cost several times as much.
//
// [ObjectWriter] writes the bytes that encoding/json would write for a struct, at a
// fraction of the cost. It is for what is stored with every change; all else uses
// encoding/json.
package jsontext

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxDepth bounds nesting, and with it the stack that hostile text can claim.
const maxDepth = 512

// SyntaxError tells where text stops being JSON.
type SyntaxError struct {
	Reason   string
	Path     string // members and elements down to the fault, such as "properties.disks[2]"; "" at the outermost level
	Line     int    // counted from 1
	Position int    // bytes before the fault in its line
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s. Path '%s', line %d, position %d.", e.Reason, e.Path, e.Line, e.Position)
}

// Member is one member of the outermost object.
type Member struct {
	Key    []byte // decoded; valid during the visit only
	Value  []byte // the bytes of the value, without surrounding space: a part of the text
	Offset int    // where in the text Value begins
}

// Object checks text, which must be one JSON object and nothing else, and calls
// visit for each member of it in order. The error is a *[SyntaxError], or what
// visit returned.
func Object(text []byte, visit func(Member) error) error {
	s := scanner{text: text}
	return s.outermost('{', "an object", func() error { return s.object(visit) })
}

// Valid checks that text is one JSON value and nothing else.
func Valid(text []byte) error {
	s := scanner{text: text}
	return s.outermost(0, "", s.value)
}

type scanner struct {
	text  []byte
	at    int
	depth int
	path  []string // filled while a fault travels outwards
	key   []byte   // of the member at hand, where its name holds an escape
	bad   bool     // skip has met a fault, which is looked for level by level

	// Of Elements alone.
	of      string // the array
	quoted  string // the key, with its quotes
	element func(Element) error
	note    func(Member) error
	found   Member
}

func (s *scanner) outermost(open byte, what string, read func() error) error {
	if !utf8.Valid(s.text) {
		for s.at < len(s.text) { // find the first bad byte
			r, n := utf8.DecodeRune(s.text[s.at:])
			if r == utf8.RuneError && n <= 1 {
				break
			}
			s.at += n
		}
		return s.locate(s.fault("the text is not UTF-8"))
	}
	s.space()
	if open != 0 && (s.at == len(s.text) || s.text[s.at] != open) {
		return s.locate(s.unexpected(what))
	}
	if err := read(); err != nil {
		return s.locate(err)
	}
	s.space()
	if s.at < len(s.text) {
		return s.locate(s.unexpected("the end"))
	}
	return nil
}

// locate fills in where a fault lies; other errors pass.
func (s *scanner) locate(err error) error {
	fault, ok := err.(*SyntaxError) //nolint:errorlint // only the scanner's own bare faults are completed
	if !ok {
		return err
	}
	var path strings.Builder
	for i := len(s.path) - 1; i >= 0; i-- {
		if path.Len() > 0 && !strings.HasPrefix(s.path[i], "[") { // a name may be empty
			path.WriteByte('.')
		}
		path.WriteString(s.path[i])
	}
	fault.Path = path.String()
	fault.Line, fault.Position = Place(s.text, s.at)
	return fault
}

// Place tells an offset in text as a [SyntaxError] does.
func Place(text []byte, offset int) (line, position int) {
	before := text[:min(offset, len(text))]
	return 1 + bytes.Count(before, []byte{'\n'}), len(before) - 1 - bytes.LastIndexByte(before, '\n')
}

func (s *scanner) fault(reason string) error { return &SyntaxError{Reason: reason} }

func (s *scanner) unexpected(wanted string) error {
	if s.at >= len(s.text) {
		return s.fault("Unexpected end of content, where " + wanted + " should stand")
	}
	r, _ := utf8.DecodeRune(s.text[s.at:])
	return s.fault(fmt.Sprintf("Unexpected character %q, where %s should stand", r, wanted))
}

func (s *scanner) space() { s.at = pastSpace(s.text, s.at) }

func (s *scanner) value() error {
	if s.at >= len(s.text) {
		return s.unexpected("a value")
	}
	switch c := s.text[s.at]; {
	case (c == '{' || c == '[') && s.skip():
		return nil
	case c == '{':
		return s.object(nil)
	case c == '[':
		return s.array(s.value)
	case c == '"':
		_, err := s.string()
		return err
	case c == '-' || '0' <= c && c <= '9':
		return s.number()
	case c == 't':
		return s.word("true")
	case c == 'f':
		return s.word("false")
	case c == 'n':
		return s.word("null")
	}
	return s.unexpected("a value")
}

func (s *scanner) enter() error {
	s.depth++
	if s.depth > maxDepth {
		return s.fault(fmt.Sprintf("The content is nested deeper than %d levels", maxDepth))
	}
	s.at++
	s.space()
	return nil
}

func (s *scanner) object(visit func(Member) error) error {
	if err := s.enter(); err != nil {
		return err
	}
	if s.at < len(s.text) && s.text[s.at] == '}' {
		s.at++
		s.depth--
		return nil
	}
	for {
		if s.at >= len(s.text) || s.text[s.at] != '"' {
			return s.unexpected("a property name")
		}
		raw, err := s.string()
		if err != nil {
			return err
		}
		s.space()
		if s.at >= len(s.text) || s.text[s.at] != ':' {
			return s.unexpected("a colon")
		}
		s.at++
		s.space()
		begin := s.at
		if s.depth == 1 {
			err = s.member(raw)
		} else {
			err = s.value()
		}
		if err != nil {
			s.path = append(s.path, s.step(raw))
			return err
		}
		if visit != nil {
			if err := visit(Member{s.name(raw), s.text[begin:s.at], begin}); err != nil {
				return err
			}
		}
		more, err := s.next('}', "a comma or a closing brace")
		if err != nil || !more {
			return err
		}
	}
}

// next reads what stands behind a member or an element: a comma, or the end of
// what was entered.
func (s *scanner) next(end byte, wanted string) (more bool, err error) {
	s.space()
	if s.at < len(s.text) {
		switch s.text[s.at] {
		case ',':
			s.at++
			s.space()
			return true, nil
		case end:
			s.at++
			s.depth--
			return false, nil
		}
	}
	return false, s.unexpected(wanted)
}

// within notes in which element a fault lies.
func (s *scanner) within(n int, fault error) error {
	s.path = append(s.path, fmt.Sprintf("[%d]", n))
	return fault
}

// array reads an array, each element of it by read.
func (s *scanner) array(read func() error) error {
	if err := s.enter(); err != nil {
		return err
	}
	if s.at < len(s.text) && s.text[s.at] == ']' {
		s.at++
		s.depth--
		return nil
	}
	for n := 0; ; n++ {
		if err := read(); err != nil {
			return s.within(n, err)
		}
		more, err := s.next(']', "a comma or a closing bracket")
		if err != nil || !more {
			return err
		}
	}
}

// string reads a string and returns it with its quotes.
func (s *scanner) string() ([]byte, error) {
	begin := s.at
	for s.at++; ; s.at++ {
		if s.at = pastPlain(s.text, s.at); s.at >= len(s.text) {
			break
		}
		switch c := s.text[s.at]; {
		case c == '"':
			s.at++
			return s.text[begin:s.at], nil
		case c < ' ':
			return nil, s.fault("A string holds a bare control character")
		case c == '\\':
			s.at++
			if s.at >= len(s.text) {
				return nil, s.unexpected("an escaped character")
			}
			switch s.text[s.at] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				for range 4 {
					s.at++
					if s.at >= len(s.text) || !hexadecimal(s.text[s.at]) {
						return nil, s.unexpected("a hexadecimal digit")
					}
				}
			default:
				return nil, s.unexpected("an escaped character")
			}
		}
	}
	return nil, s.unexpected("a closing quote")
}

func hexadecimal(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func (s *scanner) number() error {
	if s.text[s.at] == '-' {
		s.at++
	}
	if s.at < len(s.text) && s.text[s.at] == '0' {
		s.at++
	} else if err := s.digits(); err != nil {
		return err
	}
	if s.at < len(s.text) && s.text[s.at] == '.' {
		s.at++
		if err := s.digits(); err != nil {
			return err
		}
	}
	if s.at < len(s.text) && (s.text[s.at] == 'e' || s.text[s.at] == 'E') {
		s.at++
		if s.at < len(s.text) && (s.text[s.at] == '+' || s.text[s.at] == '-') {
			s.at++
		}
		return s.digits()
	}
	return nil
}

func (s *scanner) digits() error {
	begin := s.at
	for s.at < len(s.text) && '0' <= s.text[s.at] && s.text[s.at] <= '9' {
		s.at++
	}
	if s.at == begin {
		return s.unexpected("a digit")
	}
	return nil
}

func (s *scanner) word(word string) error {
	for i := range len(word) {
		if s.at >= len(s.text) || s.text[s.at] != word[i] {
			return s.unexpected(word)
		}
		s.at++
	}
	return nil
}

// longestStep is how much of a member's name the path to a fault shows.
const longestStep = 256

// step returns a member's name as it stands in the path to a fault.
func (s *scanner) step(quoted []byte) string {
	name := s.name(quoted)
	if len(name) <= longestStep {
		return string(name)
	}
	return strings.ToValidUTF8(string(name[:longestStep]), "") + "…"
}

// name returns what a member's name says. It is valid until the next one is read.
func (s *scanner) name(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	s.key = appendText(s.key[:0], quoted)
	return s.key
}

// Text returns what value says when it is a JSON string, and whether it is one.
// value must be well-formed, as [Object] hands it out.
func Text(value []byte) (string, bool) {
	if len(value) < 2 || value[0] != '"' {
		return "", false
	}
	if bytes.IndexByte(value, '\\') < 0 {
		return string(value[1 : len(value)-1]), true
	}
	return string(appendText(nil, value)), true
}

// Null reports whether value is absent or the word null.
func Null(value []byte) bool { return len(value) == 0 || string(value) == "null" }

// Value returns the value of an object's member as it is written, of the last one where
// several have the key; nil where none has, or where the text is no object as far as the
// member. Whether the object is well-formed to its end is not said.
func Value(object []byte, key string) (value []byte) {
	_ = Object(object, func(m Member) error {
		if string(m.Key) == key {
			value = m.Value
		}
		return nil
	})
	return value
}
