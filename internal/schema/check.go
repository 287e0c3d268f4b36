package schema

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"portico/internal/jsontext"
)

// Fault is a mismatch between a body and its shape.
type Fault struct {
	Path    string // such as "properties.disks[2].size"; "" for the body itself
	Allowed string // what is allowed, as a sentence without its full stop
}

func (f *Fault) Error() string { return f.Path + ": " + f.Allowed }

// withParent prefixes the fault's path with the member or index that holds the value.
func (f *Fault) withParent(name string) *Fault {
	if f.Path != "" && f.Path[0] != '[' {
		name += "."
	}
	f.Path = name + f.Path
	return f
}

// depth returns the number of path segments.
func (f *Fault) depth() int {
	if f.Path == "" {
		return 0
	}
	return 1 + strings.Count(f.Path, ".") + strings.Count(f.Path, "[")
}

// Mode selects whether a body may contain expressions.
type Mode bool

// The modes of a check.
const (
	Literal Mode = false
	// Planned bodies may hold [Unknown] values, which fit any shape.
	Planned Mode = true
)

// Check returns the first fault of a JSON body, or nil. Members that the shape does not declare are
// accepted. So is a body that would take more than maxPasses passes to check.
func (s *Shape) Check(body []byte, mode Mode) *Fault {
	c := checker{planned: mode == Planned, bytesLeft: maxPasses*len(body) + 1<<16}
	return c.checkValue(s, body)
}

// maxPasses limits how often the bytes of a body are read. Every level of nesting reads its content
// again, and so does every option of a schema.
const maxPasses = 64

type checker struct {
	planned   bool
	bytesLeft int // how many bytes may still be read
}

func (c *checker) checkValue(s *Shape, v []byte) *Fault {
	if c.bytesLeft -= len(v); c.bytesLeft < 0 || c.planned && Unknown(v) {
		return nil
	}
	if len(s.options) > 0 {
		return c.checkOptions(s, v)
	}
	if jsontext.Null(v) {
		if s.nullable || s.kind == "" && s.allows(nil) {
			return nil
		}
		return &Fault{Allowed: "null cannot stand here: " + s.expected()}
	}
	switch s.kind {
	case "object":
		return c.checkObject(s, v)
	case "array":
		return c.checkArray(s, v)
	}
	return s.checkScalar(v)
}

// expected returns the beginning of a sentence that names the expected kind.
func (s *Shape) expected() string {
	switch kind := s.kind; kind {
	case "":
		return "one of " + quoteList(s.allowed) + " must"
	case "object", "array", "integer":
		return "an " + kind + " must"
	default:
		return "a " + kind + " must"
	}
}

// Unknown reports whether a value is a template expression, "[…]". "[[…]" is a literal.
func Unknown(v []byte) bool {
	if len(v) == 0 || v[0] != '"' {
		return false
	}
	text, _ := jsontext.Text(v)
	return UnknownText(text)
}

// UnknownText reports the same as [Unknown], for a decoded string.
func UnknownText(text string) bool {
	return strings.HasPrefix(text, "[") && !strings.HasPrefix(text, "[[") && strings.HasSuffix(text, "]")
}

// checkScalar checks a value that should be neither an object nor an array.
func (s *Shape) checkScalar(v []byte) *Fault {
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
		scalar = struct{}{} // no scalar at all
	default:
		n, err := strconv.ParseFloat(string(v), 64)
		if err != nil {
			return &Fault{Allowed: "a number in the range of 64 bits must stand here"}
		}
		scalar = n
	}
	if allowed := s.explainMismatch(scalar); allowed != "" {
		return &Fault{Allowed: allowed}
	}
	return nil
}

// checkOptions checks that a value fits one of several shapes. If none fits, it returns the deepest
// fault, because that shape fits best.
func (c *checker) checkOptions(s *Shape, v []byte) *Fault {
	if s.nullable && jsontext.Null(v) {
		return nil
	}
	var deepest *Fault
	for _, o := range s.options {
		fault := c.checkValue(o, v)
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

// errStop ends the iteration over an object or array.
var errStop = errors.New("a fault is found")

func (c *checker) checkObject(s *Shape, v []byte) *Fault {
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
		case declared && its.requiredIndex > 0:
			seen[its.requiredIndex-1] = true
		case !declared:
			its.Shape = s.additional
		}
		if its.Shape == nil || its.readOnly || its.nullable && jsontext.Null(m.Value) {
			return nil
		}
		if fault = c.checkValue(its.Shape, m.Value); fault == nil {
			return nil
		}
		fault = fault.withParent(string(m.Key))
		return errStop
	})
	for i, name := range s.required {
		if fault == nil && !seen[i] {
			fault = &Fault{Path: name, Allowed: "the member is required"}
		}
	}
	return fault
}

func (c *checker) checkArray(s *Shape, v []byte) *Fault {
	if v[0] != '[' {
		return &Fault{Allowed: "an array must stand here"}
	}
	var fault *Fault
	n := 0
	_ = jsontext.Array(v, func(e jsontext.Element) error {
		if fault = c.checkValue(s.items, e.Text); fault != nil {
			fault = fault.withParent("[" + strconv.Itoa(n) + "]")
			return errStop
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
