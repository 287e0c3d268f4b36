package schema

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"portico/internal/jsontext"
)

// Fault says which member of a body does not fit its shape.
type Fault struct {
	Path    string // "properties.disks[2].size"; "" for the body itself
	Allowed string // what is, as the beginning of a sentence
}

func (f *Fault) Error() string { return f.Path + ": " + f.Allowed }

// in returns the fault as that of what holds the value.
func (f *Fault) in(name string) *Fault {
	if f.Path != "" && f.Path[0] != '[' {
		name += "."
	}
	f.Path = name + f.Path
	return f
}

// depth is how deep in the value the fault lies.
func (f *Fault) depth() int {
	if f.Path == "" {
		return 0
	}
	return 1 + strings.Count(f.Path, ".") + strings.Count(f.Path, "[")
}

// Mode says what a body may hold besides values.
type Mode bool

// The modes.
const (
	Literal Mode = false
	// Planned bodies hold values that are [Unknown]. They fit any shape.
	Planned Mode = true
)

// Check returns the first fault of a body, which is JSON, or nil. Members that the shape
// does not know fit, and so does a body that would take more than so many looks at it.
func (s *Shape) Check(body []byte, mode Mode) *Fault {
	c := checker{planned: mode == Planned, bytes: mostLooks*len(body) + 1<<16}
	return c.value(s, body)
}

// mostLooks bounds how often the bytes of a body are read: every level of nesting reads
// what it holds, and every option of a schema does.
const mostLooks = 64

type checker struct {
	planned bool
	bytes   int // that may still be read
}

func (c *checker) value(s *Shape, v []byte) *Fault {
	if c.bytes -= len(v); c.bytes < 0 || c.planned && Unknown(v) {
		return nil
	}
	if len(s.options) > 0 {
		return c.option(s, v)
	}
	if jsontext.Null(v) {
		if s.nullable || s.kind == "" && s.lists(nil) {
			return nil
		}
		return &Fault{Allowed: "null cannot stand here: " + s.wanted()}
	}
	switch s.kind {
	case "object":
		return c.object(s, v)
	case "array":
		return c.array(s, v)
	}
	return s.text(v)
}

// wanted says of what kind a value is.
func (s *Shape) wanted() string {
	switch kind := s.kind; kind {
	case "":
		return "one of " + listed(s.allowed) + " must"
	case "object", "array", "integer":
		return "an " + kind + " must"
	default:
		return "a " + kind + " must"
	}
}

// Unknown reports whether a value of a planned body is not known yet: it is an expression,
// "[…]". "[[…]" is a literal.
func Unknown(v []byte) bool {
	if len(v) == 0 || v[0] != '"' {
		return false
	}
	text, _ := jsontext.Text(v)
	return UnknownText(text)
}

// UnknownText is [Unknown] of a text.
func UnknownText(text string) bool {
	return strings.HasPrefix(text, "[") && !strings.HasPrefix(text, "[[") && strings.HasSuffix(text, "]")
}

// text checks a value that is no object or array by its shape.
func (s *Shape) text(v []byte) *Fault {
	if s.kind == "" && len(s.allowed) == 0 {
		return nil
	}
	var scalar any
	switch v[0] {
	case '"':
		scalar, _ = jsontext.Text(v)
	case 't', 'f':
		scalar = v[0] == 't'
	case '{', '[':
		scalar = struct{}{} // which is none
	default:
		n, err := strconv.ParseFloat(string(v), 64)
		if err != nil {
			return &Fault{Allowed: "a number in the range of 64 bits must stand here"}
		}
		scalar = n
	}
	if allowed := s.refuse(scalar); allowed != "" {
		return &Fault{Allowed: allowed}
	}
	return nil
}

// option checks that a value fits one of several shapes. Of several faults that of the
// shape comes out which the value fits furthest.
func (c *checker) option(s *Shape, v []byte) *Fault {
	if s.nullable && jsontext.Null(v) {
		return nil
	}
	var deepest *Fault
	for _, o := range s.options {
		fault := c.value(o, v)
		if fault == nil {
			return nil
		}
		if deepest == nil || fault.depth() > deepest.depth() {
			deepest = fault
		}
	}
	if len(s.options) > 1 && deepest.Path == "" {
		deepest.Allowed = fmt.Sprintf("it fits none of the %d forms that it may have: %s", len(s.options), deepest.Allowed)
	}
	return deepest
}

// errFound stops the reading of an object or an array.
var errFound = errors.New("a fault is found")

func (c *checker) object(s *Shape, v []byte) *Fault {
	if v[0] != '{' {
		return &Fault{Allowed: "an object must stand here"}
	}
	if s.discriminator != "" {
		if kind, ok := jsontext.Text(jsontext.Value(v, s.discriminator)); ok && s.variants[kind] != nil {
			s = s.variants[kind]
		}
	}
	var fault *Fault
	seen := make([]bool, len(s.required))
	_ = jsontext.Object(v, func(m jsontext.Member) error {
		its, declared := s.members[string(m.Key)]
		switch {
		case declared && its.required > 0:
			seen[its.required-1] = true
		case !declared:
			its.Shape = s.further
		}
		if its.Shape == nil || its.readOnly || its.nullable && jsontext.Null(m.Value) {
			return nil
		}
		if fault = c.value(its.Shape, m.Value); fault == nil {
			return nil
		}
		fault = fault.in(string(m.Key))
		return errFound
	})
	for i, name := range s.required {
		if fault == nil && !seen[i] {
			fault = &Fault{Path: name, Allowed: "the member is required"}
		}
	}
	return fault
}

func (c *checker) array(s *Shape, v []byte) *Fault {
	if v[0] != '[' {
		return &Fault{Allowed: "an array must stand here"}
	}
	var fault *Fault
	n := 0
	_ = jsontext.Array(v, func(e jsontext.Element) error {
		if fault = c.value(s.items, e.Text); fault != nil {
			fault = fault.in("[" + strconv.Itoa(n) + "]")
			return errFound
		}
		n++
		return nil
	})
	switch {
	case fault != nil:
	case n < s.minItems:
		fault = &Fault{Allowed: fmt.Sprintf("it must have at least %d items", s.minItems)}
	case n > s.maxItems:
		fault = &Fault{Allowed: fmt.Sprintf("it must have at most %d items", s.maxItems)}
	}
	return fault
}
