package document

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"portico/template/expr"
)

// MaxBytes is the maximum length of a document, as in ARM.
const MaxBytes = 4 << 20

// MaxValues is the maximum number of values in a document: each takes more memory than its text.
// Real documents of 4 MiB have half as many.
const MaxValues = 300_000

// MaxDepth is the maximum nesting of arrays and objects.
const MaxDepth = expr.MaxDepth

// Form is a dialect of JSON.
type Form int

// Strict is standard JSON; Relaxed is what az accepts.
const (
	Strict  Form = iota
	Relaxed      // adds comments, unquoted names, single quotes, line breaks in strings, trailing commas
)

// Read parses a document. If an object repeats a name, the last value counts, as in ARM; names that
// differ in case are distinct. Faults get the given code. After a syntax error, the document is
// nil.
func Read(text []byte, form Form, code string) (*Document, []*Fault) {
	d := &Document{text: text}
	s := &scanner{text: text, relaxed: form == Relaxed, document: d, code: code}
	if len(text) > MaxBytes {
		fault := d.fault(0, code, fmt.Sprintf("the document has %d bytes, and %d are the most", len(text), MaxBytes))
		fault.Exceeds = true
		return nil, []*Fault{fault}
	}
	if !utf8.Valid(text) {
		at := 0
		for r, n := utf8.DecodeRune(text); r != utf8.RuneError || n > 1; r, n = utf8.DecodeRune(text[at:]) {
			at += n
		}
		return nil, []*Fault{d.fault(at, code, "the document is not in UTF-8 here")}
	}
	s.skipMark()
	root, err := s.value()
	if err == nil {
		d.Root = root
		if err = s.skipSpace(); err == nil && s.at < len(text) {
			err = s.unexpected("the end of the document")
		}
	}
	if err != nil {
		line, column := Place(text, err.at)
		return nil, []*Fault{{Code: code, Path: s.path(), Line: line, Column: column, Message: err.message, Exceeds: err.exceeds}}
	}
	return d, s.faults
}

type syntaxError struct {
	at      int
	message string
	exceeds bool
}

type scanner struct {
	text     []byte
	at       int
	relaxed  bool
	values   int
	steps    []string // the path to the current value
	document *Document
	code     string
	faults   []*Fault
}

func (s *scanner) path() string { return "$" + strings.Join(s.steps, "") }

// skipMark skips the byte order mark that editors put before a file's text.
func (s *scanner) skipMark() {
	if strings.HasPrefix(string(s.text[:min(3, len(s.text))]), "\ufeff") {
		s.at = 3
	}
}

func (s *scanner) fail(at int, format string, args ...any) *syntaxError {
	return &syntaxError{at: at, message: fmt.Sprintf(format, args...)}
}

// tooLarge returns the error for a document that exceeds a limit.
func (s *scanner) tooLarge(format string, most int) *syntaxError {
	return &syntaxError{s.at, fmt.Sprintf(format, most), true}
}

func (s *scanner) unexpected(wanted string) *syntaxError {
	if s.at >= len(s.text) {
		return s.fail(s.at, "the document ends where %s is expected", wanted)
	}
	r, _ := utf8.DecodeRune(s.text[s.at:])
	return s.fail(s.at, "%q stands where %s is expected", r, wanted)
}

// skipSpace skips white space and comments.
func (s *scanner) skipSpace() *syntaxError {
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case ' ', '\t', '\r', '\n':
			s.at++
		case '/':
			if err := s.comment(); err != nil {
				return err
			}
		default:
			return nil
		}
	}
	return nil
}

func (s *scanner) comment() *syntaxError {
	rest := string(s.text[s.at:min(s.at+2, len(s.text))])
	end, length := "*/", 2
	switch rest {
	case "//":
		end, length = "\n", 0
	case "/*":
	default:
		return s.unexpected("a value")
	}
	if !s.relaxed {
		return s.fail(s.at, "comments are not allowed in JSON")
	}
	at := bytes.Index(s.text[s.at+2:], []byte(end))
	switch {
	case at >= 0:
		s.at += 2 + at + length
	case length == 0:
		s.at = len(s.text)
	default:
		return s.fail(s.at, "the comment that begins here has no end")
	}
	return nil
}

func (s *scanner) value() (*Node, *syntaxError) {
	if err := s.skipSpace(); err != nil {
		return nil, err
	}
	if s.at >= len(s.text) {
		return nil, s.unexpected("a value")
	}
	if s.values++; s.values > MaxValues {
		return nil, s.tooLarge("the document holds more than %d values", MaxValues)
	}
	n := &Node{Offset: s.at, document: s.document}
	var err *syntaxError
	switch c := s.text[s.at]; {
	case c == '{':
		err = s.object(n)
	case c == '[':
		err = s.array(n)
	case s.quoted():
		var text string
		text, err = s.string()
		n.Value = expr.StringOf(text)
	case c == '-' || c >= '0' && c <= '9':
		n.Value, err = s.number()
	default:
		n.Value, err = s.keyword()
	}
	return n, err
}

func (s *scanner) keyword() (expr.Value, *syntaxError) {
	from := s.at
	switch word := s.identifier(); word {
	case "true", "false":
		return expr.BoolOf(word == "true"), nil
	case "null":
		return expr.Value{}, nil
	}
	s.at = from
	return expr.Value{}, s.unexpected("a value")
}

// identifier reads an identifier; it returns "" if there is none.
func (s *scanner) identifier() string {
	from := s.at
	for s.at < len(s.text) && (s.text[s.at] == '_' || s.text[s.at] == '$' || s.text[s.at]|0x20 >= 'a' && s.text[s.at]|0x20 <= 'z' ||
		s.at > from && s.text[s.at] >= '0' && s.text[s.at] <= '9') {
		s.at++
	}
	return string(s.text[from:s.at])
}

// nextPart skips the separator and reports whether another part of the array or object follows.
func (s *scanner) nextPart(first bool, end byte) (bool, *syntaxError) {
	if err := s.skipSpace(); err != nil {
		return false, err
	}
	if s.at < len(s.text) && s.text[s.at] == end {
		s.at++
		return false, nil
	}
	if first {
		return true, nil
	}
	if s.at >= len(s.text) || s.text[s.at] != ',' {
		return false, s.unexpected("',' or '" + string(end) + "'")
	}
	s.at++
	if err := s.skipSpace(); err != nil {
		return false, err
	}
	if s.relaxed && s.at < len(s.text) && s.text[s.at] == end {
		s.at++
		return false, nil
	}
	return true, nil
}

// readParts reads the parts of an array or object.
func (s *scanner) readParts(end byte, part func() *syntaxError) *syntaxError {
	if len(s.steps) >= MaxDepth {
		return s.tooLarge("the document nests deeper than %d levels", MaxDepth)
	}
	s.at++
	s.steps = append(s.steps, "")
	for first := true; ; first = false {
		more, err := s.nextPart(first, end)
		if err != nil {
			s.steps[len(s.steps)-1] = ""
			return err
		}
		if !more {
			s.steps = s.steps[:len(s.steps)-1]
			return nil
		}
		if err := part(); err != nil {
			return err
		}
	}
}

func (s *scanner) array(n *Node) *syntaxError {
	n.Elements = []*Node{}
	err := s.readParts(']', func() *syntaxError {
		s.steps[len(s.steps)-1] = "[" + strconv.Itoa(len(n.Elements)) + "]"
		e, err := s.value()
		n.Elements = append(n.Elements, e)
		return err
	})
	if err != nil {
		return err
	}
	values := make([]expr.Value, len(n.Elements))
	for i, e := range n.Elements {
		values[i] = e.Value
	}
	n.Value = expr.ArrayOf(values...)
	return nil
}

func (s *scanner) object(n *Node) *syntaxError {
	n.Members = []Member{}
	seen := map[string]int{}
	err := s.readParts('}', func() *syntaxError {
		m := Member{Offset: s.at}
		var err *syntaxError
		if m.Name, err = s.name(); err != nil {
			return err
		}
		s.steps[len(s.steps)-1] = string(appendName(nil, m.Name))
		if err := s.skipSpace(); err != nil {
			return err
		}
		if s.at >= len(s.text) || s.text[s.at] != ':' {
			return s.unexpected("':'")
		}
		s.at++
		if m.Node, err = s.value(); err != nil {
			return err
		}
		s.add(n, m, seen)
		return nil
	})
	if err != nil {
		return err
	}
	if len(seen) < len(n.Members) {
		n.Members = slices.DeleteFunc(n.Members, func(m Member) bool { return m.Node == nil })
	}
	values := make([]expr.Member, len(n.Members))
	for i, m := range n.Members {
		values[i] = expr.Member{Name: m.Name, Value: m.Node.Value}
	}
	n.Value = expr.ObjectOf(values...)
	return nil
}

// add appends a member to an object. If the name is repeated, it removes the earlier member's node.
func (s *scanner) add(n *Node, m Member, seen map[string]int) {
	if at, twice := seen[m.Name]; twice {
		n.Members[at].Node = nil
	}
	seen[m.Name] = len(n.Members)
	n.Members = append(n.Members, m)
}

func (s *scanner) name() (string, *syntaxError) {
	if s.quoted() {
		return s.string()
	}
	if s.relaxed {
		if name := s.identifier(); name != "" {
			return name, nil
		}
	}
	return "", s.unexpected("a member's name in double quotes")
}

// quoted reports whether a string begins here.
func (s *scanner) quoted() bool {
	return s.at < len(s.text) && (s.text[s.at] == '"' || s.relaxed && s.text[s.at] == '\'')
}

func (s *scanner) string() (string, *syntaxError) {
	from, quote := s.at, s.text[s.at]
	s.at++
	var b []byte
	plain := s.at // start of the text not yet copied to b
	for s.at < len(s.text) {
		switch c := s.text[s.at]; {
		case c == quote:
			b = append(b, s.text[plain:s.at]...)
			s.at++
			return string(b), nil
		case c == '\\':
			b = append(b, s.text[plain:s.at]...)
			var err *syntaxError
			if b, err = s.escape(b); err != nil {
				return "", err
			}
			plain = s.at
		case c < ' ' && !s.relaxed:
			return "", s.fail(s.at, "a control character stands in a string without being escaped")
		default:
			s.at++
		}
	}
	return "", s.fail(from, "the string that begins here has no closing quote")
}

const escapes, escaped = `"\/bfnrt`, "\"\\/\b\f\n\r\t"

// escape decodes an escape sequence and appends the result.
func (s *scanner) escape(b []byte) ([]byte, *syntaxError) {
	from := s.at
	if s.at++; s.at < len(s.text) {
		c := s.text[s.at]
		s.at++
		if at := strings.IndexByte(escapes, c); at >= 0 {
			return append(b, escaped[at]), nil
		}
		if c == '\'' && s.relaxed {
			return append(b, c), nil
		}
		if c == 'u' {
			if r, ok := s.hexUnit(); ok {
				return utf8.AppendRune(b, s.joinSurrogates(r)), nil
			}
		}
	}
	return nil, s.fail(from, "the escape sequence that begins here is none of JSON's")
}

// joinSurrogates returns the character whose first UTF-16 unit is r, reading the second one. Half a
// pair becomes U+FFFD.
func (s *scanner) joinSurrogates(r rune) rune {
	if !utf16.IsSurrogate(r) || s.at+1 >= len(s.text) || s.text[s.at] != '\\' || s.text[s.at+1] != 'u' {
		return r
	}
	from := s.at
	s.at += 2
	if low, ok := s.hexUnit(); ok {
		if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
			return pair
		}
	}
	s.at = from
	return r
}

func (s *scanner) hexUnit() (rune, bool) {
	if s.at+4 > len(s.text) {
		return 0, false
	}
	n, err := strconv.ParseUint(string(s.text[s.at:s.at+4]), 16, 16)
	if err != nil {
		return 0, false
	}
	s.at += 4
	return rune(n), true
}

func (s *scanner) number() (expr.Value, *syntaxError) {
	from := s.at
	integer := true
	for ; s.at < len(s.text); s.at++ {
		c := s.text[s.at]
		if c == '.' || c|0x20 == 'e' {
			integer = false
		} else if c != '-' && c != '+' && (c < '0' || c > '9') {
			break
		}
	}
	text := string(s.text[from:s.at])
	if !isNumber(text) {
		return expr.Value{}, s.fail(from, "what begins here is not a number of JSON")
	}
	if integer {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return expr.IntOf(n), nil
		}
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return expr.Value{}, s.fail(from, "the number is too large")
	}
	return expr.FloatOf(f), nil
}

func isNumber(text string) bool {
	digits := func() bool {
		rest := strings.TrimLeft(text, "0123456789")
		some := len(rest) < len(text)
		text = rest
		return some
	}
	text = strings.TrimPrefix(text, "-")
	if strings.HasPrefix(text, "0") {
		text = text[1:]
	} else if !digits() {
		return false
	}
	if strings.HasPrefix(text, ".") {
		if text = text[1:]; !digits() {
			return false
		}
	}
	if text != "" && text[0]|0x20 == 'e' {
		text = text[1:]
		if text != "" && (text[0] == '+' || text[0] == '-') {
			text = text[1:]
		}
		return digits() && text == ""
	}
	return text == ""
}
