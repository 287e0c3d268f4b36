package schema

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Number is a keyword's value, or what counts where it is not given.
func Number(v any, otherwise float64) float64 {
	if n, ok := v.(float64); ok {
		return n
	}
	return otherwise
}

// scalar is what a schema says of strings, numbers and booleans.
type scalar struct {
	kind                             string
	allowed                          []any // enum or const; nil: all
	open                             bool  // other strings than the enum's are valid too
	least, greatest                  float64
	leastExcluded, greatestExcluded  bool
	multipleOf, minLength, maxLength float64
	pattern                          string
	matcher                          *regexp.Regexp // nil: RE2 cannot say, or there is no pattern
}

// scalar reads what the schema says of scalars.
func (s *Schema) scalar() *scalar {
	k := s.Keywords
	c := &scalar{
		kind:       s.Kind(),
		least:      Number(k["minimum"], math.Inf(-1)),
		greatest:   Number(k["maximum"], math.Inf(1)),
		multipleOf: Number(k["multipleOf"], 0),
		minLength:  Number(k["minLength"], 0),
		maxLength:  Number(k["maxLength"], math.Inf(1)),
	}
	c.allowed, _ = k["enum"].([]any)
	if only, given := k["const"]; given {
		c.allowed = []any{only}
	}
	c.open = At(k, "x-ms-enum")["modelAsString"] == true && k["const"] == nil
	// As a number it is a bound of its own (3.1), as true it says so of the other.
	if n, ok := k["exclusiveMinimum"].(float64); ok && n >= c.least {
		c.least, c.leastExcluded = n, true
	}
	if n, ok := k["exclusiveMaximum"].(float64); ok && n <= c.greatest {
		c.greatest, c.greatestExcluded = n, true
	}
	c.leastExcluded = c.leastExcluded || k["exclusiveMinimum"] == true
	c.greatestExcluded = c.greatestExcluded || k["exclusiveMaximum"] == true
	if c.pattern, _ = k["pattern"].(string); c.pattern != "" {
		c.matcher, _ = regexp.Compile(c.pattern)
	}
	return c
}

// Bounds are the least and the greatest number, and the distance between two.
func (s *Schema) Bounds() (least, greatest, step float64) {
	c := s.scalar()
	return c.least, c.greatest, Number(s.Keywords["multipleOf"], 1)
}

// Admits reports whether a scalar is certain to fit the schema.
func (s *Schema) Admits(v any) bool {
	c := s.scalar()
	if v == nil || c.refuse(v) != "" || !c.lists(v) {
		return false
	}
	_, isText := v.(string)
	return !isText || c.kind != "string" || c.pattern == "" || c.matcher != nil
}

func (c *scalar) lists(v any) bool {
	return len(c.allowed) == 0 || slices.ContainsFunc(c.allowed, func(other any) bool { return reflect.DeepEqual(v, other) })
}

// refuse says what is allowed in place of a scalar; "" if it is. No value is refused for a
// pattern that RE2 does not know.
func (c *scalar) refuse(v any) (allowed string) {
	if _, isText := v.(string); !c.lists(v) && !(c.open && isText) {
		return "one of " + listed(c.allowed) + " must stand here"
	}
	switch c.kind {
	case "boolean":
		if _, ok := v.(bool); !ok {
			return "a boolean must stand here"
		}
	case "integer", "number":
		return c.refuseNumber(v)
	case "string":
		return c.refuseText(v)
	}
	return ""
}

func (c *scalar) refuseNumber(v any) string {
	n, ok := v.(float64)
	switch {
	case c.kind == "integer" && (!ok || n != math.Trunc(n)):
		return "an integer must stand here"
	case !ok:
		return "a number must stand here"
	case n < c.least:
		return "it must be at least " + shown(c.least)
	case n == c.least && c.leastExcluded:
		return "it must be greater than " + shown(c.least)
	case n > c.greatest:
		return "it must be at most " + shown(c.greatest)
	case n == c.greatest && c.greatestExcluded:
		return "it must be less than " + shown(c.greatest)
	}
	if q := n / c.multipleOf; c.multipleOf > 0 && math.Abs(q-math.Round(q)) > 1e-9 {
		return "it must be a multiple of " + shown(c.multipleOf)
	}
	return ""
}

func (c *scalar) refuseText(v any) string {
	text, ok := v.(string)
	if !ok {
		return "a string must stand here"
	}
	length := float64(utf8.RuneCountInString(text))
	switch {
	case length < c.minLength:
		return "it must have at least " + shown(c.minLength) + " characters"
	case length > c.maxLength:
		return "it must have at most " + shown(c.maxLength) + " characters"
	case c.matcher != nil && !c.matcher.MatchString(text):
		return "it must match the pattern " + c.pattern
	}
	return ""
}

func shown(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// mostListed bounds how many of an enumeration's values are named.
const mostListed = 20

func listed(values []any) string {
	var b strings.Builder
	for i, v := range values {
		switch {
		case i == mostListed:
			return b.String() + ", …"
		case i > 0:
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "'%v'", v)
	}
	return b.String()
}
