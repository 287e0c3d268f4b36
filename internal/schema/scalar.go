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

// Number returns a keyword's numeric value, or otherwise if it has none.
func Number(v any, otherwise float64) float64 {
	if n, ok := v.(float64); ok {
		return n
	}
	return otherwise
}

// scalar holds a schema's keywords for strings, numbers and booleans.
type scalar struct {
	kind                             string
	allowed                          []any // values of enum or const; nil means any
	open                             bool  // strings outside of the enum are valid too
	least, greatest                  float64
	leastExcluded, greatestExcluded  bool
	multipleOf, minLength, maxLength float64
	pattern                          string
	matcher                          *regexp.Regexp // nil if there is no pattern, or RE2 cannot express it
}

// scalar reads the schema's keywords for scalars.
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
	c.open = ObjectAt(k, "x-ms-enum")["modelAsString"] == true && k["const"] == nil
	// In version 3.1 the keyword is itself a bound; before, true makes the other bound exclusive.
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

// Bounds returns the minimum, the maximum, and the step between valid numbers.
func (s *Schema) Bounds() (least, greatest, step float64) {
	c := s.scalar()
	return c.least, c.greatest, Number(s.Keywords["multipleOf"], 1)
}

// Admits reports whether a scalar certainly fits the schema.
func (s *Schema) Admits(v any) bool {
	c := s.scalar()
	if v == nil || c.explainMismatch(v) != "" || !c.allows(v) {
		return false
	}
	_, isText := v.(string)
	return !isText || c.kind != "string" || c.pattern == "" || c.matcher != nil
}

func (c *scalar) allows(v any) bool {
	return len(c.allowed) == 0 || slices.ContainsFunc(c.allowed, func(other any) bool { return reflect.DeepEqual(v, other) })
}

// explainMismatch returns what is allowed instead of a scalar, or "" if it is valid. Patterns that RE2
// cannot express are ignored.
func (c *scalar) explainMismatch(v any) (allowed string) {
	if _, isText := v.(string); !c.allows(v) && !(c.open && isText) {
		return "one of " + quoteList(c.allowed) + " must stand here"
	}
	switch c.kind {
	case "boolean":
		if _, ok := v.(bool); !ok {
			return "a boolean must stand here"
		}
	case "integer", "number":
		return c.explainNumberMismatch(v)
	case "string":
		return c.explainTextMismatch(v)
	}
	return ""
}

func (c *scalar) explainNumberMismatch(v any) string {
	n, ok := v.(float64)
	switch {
	case c.kind == "integer" && (!ok || n != math.Trunc(n)):
		return "an integer must stand here"
	case !ok:
		return "a number must stand here"
	case n < c.least:
		return "it must be at least " + formatNumber(c.least)
	case n == c.least && c.leastExcluded:
		return "it must be greater than " + formatNumber(c.least)
	case n > c.greatest:
		return "it must be at most " + formatNumber(c.greatest)
	case n == c.greatest && c.greatestExcluded:
		return "it must be less than " + formatNumber(c.greatest)
	}
	if q := n / c.multipleOf; c.multipleOf > 0 && math.Abs(q-math.Round(q)) > 1e-9 {
		return "it must be a multiple of " + formatNumber(c.multipleOf)
	}
	return ""
}

func (c *scalar) explainTextMismatch(v any) string {
	text, ok := v.(string)
	if !ok {
		return "a string must stand here"
	}
	length := float64(utf8.RuneCountInString(text))
	switch {
	case length < c.minLength:
		return "it must have at least " + formatNumber(c.minLength) + " characters"
	case length > c.maxLength:
		return "it must have at most " + formatNumber(c.maxLength) + " characters"
	case c.matcher != nil && !c.matcher.MatchString(text):
		return "it must match the pattern " + c.pattern
	}
	return ""
}

func formatNumber(n float64) string { return strconv.FormatFloat(n, 'f', -1, 64) }

// maxListed is the maximum number of enum values that a fault names.
const maxListed = 20

func quoteList(values []any) string {
	var b strings.Builder
	for i, v := range values {
		switch {
		case i == maxListed:
			return b.String() + ", …"
		case i > 0:
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "'%v'", v)
	}
	return b.String()
}
