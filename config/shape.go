package config

import (
	"encoding/json"
	"fmt"
	"time"
)

// shape is what of a rule a JSON schema can say. It refuses nothing that the
// rule accepts, except texts that YAML reads as numbers or truth values: these
// it wants quoted.
type shape struct {
	other       string // the JSON type, beside strings, that YAML may read the text as
	bounded     bool   // a number is at least least and at most most
	least, most float64
	words       []string // all legal texts
	patterns    []string // that the text has; in the syntax that Go and ECMAScript share
	length      int      // the most characters; 0: any
}

const (
	digits          = `^[0-9]+$`
	notZero         = `[1-9]`
	guidPattern     = `[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}`
	hostPattern     = `[0-9A-Za-z._-]+`
	templatePattern = `([0-9A-Za-z._-]|\{region\}|\{subservice\}|\{namespace\})+`
	anyPath         = `(/[^?#\s]*)?`
	locationPattern = `^\s*[A-Za-z][0-9A-Za-z\s]*$`
	// Suffixes may be in any casing, which patterns cannot say for short.
	apiVersionPattern = `^[0-9]{4}-[0-9]{2}-[0-9]{2}(-[A-Za-z]+)?$`
)

func (s shape) empty() bool {
	return s.other == "" && len(s.words) == 0 && len(s.patterns) == 0 && s.length == 0
}

func matching(pattern string) shape { return shape{patterns: []string{pattern}} }

func (s shape) matching(pattern string) shape {
	s.patterns = append(s.patterns[:len(s.patterns):len(s.patterns)], pattern)
	return s
}

func (s shape) atMost(characters int) shape {
	s.length = characters
	return s
}

// between is a number, which may also be written as a text.
func between(kind string, least, most float64) shape {
	return shape{other: kind, bounded: true, least: least, most: most}
}

func oneWord[T any](values []T) shape {
	var s shape
	for _, v := range values {
		s.words = append(s.words, fmt.Sprint(v))
	}
	return s
}

// durationShape is Go's form of a time that is not negative.
func durationShape(orZero bool) shape {
	s := matching(`^(\+?(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+|[-+]?0)$`)
	if !orZero {
		return s.matching(notZero)
	}
	s.other, s.bounded = "integer", true // of numbers without unit 0 alone
	return s
}

func sizeShape() shape {
	return between("integer", 1, 1<<40).matching(`^[0-9]+(KiB|MiB|GiB)?$`).matching(notZero)
}

// addressShape is the URL of a host, with a path where path matches one.
func addressShape(host, path string) shape {
	return matching(`^[Hh][Tt][Tt][Pp][Ss]?://(\[[0-9A-Fa-f:.]+\]|` + host + `)(:[1-9][0-9]{0,4})?` + path + `$`)
}

// shapeOf is the shape of a rule that names none.
func shapeOf(v any) shape {
	switch v.(type) {
	case bool:
		return shape{other: "boolean", words: []string{"true", "false"}}
	case int, int64:
		return shape{other: "integer"}
	case time.Duration:
		return durationShape(true)
	}
	return shape{}
}

// schema is the shape as a JSON schema.
func (s shape) schema() schema {
	var out schema
	switch {
	case s.other == "boolean":
		return schema{{"type", s.other}}
	case len(s.words) > 0:
		return schema{{"enum", s.words}}
	case s.other != "":
		out = schema{{"type", []string{s.other, "string"}}}
	default:
		out = schema{{"type", "string"}}
	}
	if s.bounded {
		out = append(out, member{"minimum", s.least}, member{"maximum", s.most})
	}
	if s.length > 0 {
		out = append(out, member{"minLength", 1}, member{"maxLength", s.length})
	}
	if len(s.patterns) == 1 {
		return append(out, member{"pattern", s.patterns[0]})
	}
	var all []schema
	for _, p := range s.patterns {
		all = append(all, schema{{"pattern", p}})
	}
	if len(all) > 0 {
		out = append(out, member{"allOf", all})
	}
	return out
}

// value is a written text as JSON has it.
func (s shape) value(text string) any {
	if (s.other == "integer" || s.other == "boolean") && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return text
}
