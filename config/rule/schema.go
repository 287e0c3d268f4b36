package rule

import (
	"fmt"
	"slices"
)

// Schema is what of a rule a JSON schema can say. It refuses nothing that the
// rule accepts, except texts that YAML reads as numbers or truth values: these
// it wants quoted.
type Schema struct {
	Type        string // the JSON type other than string that YAML may read the text as
	Bounded     bool   // a number is at least Least and at most Most
	Least, Most float64
	Words       []string // all legal texts
	Patterns    []string // that the text has; in the syntax that Go and ECMAScript share
	MaxLength   int      // in characters; 0: any
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

func matching(pattern string) Schema { return Schema{Patterns: []string{pattern}} }

func (s Schema) matching(pattern string) Schema {
	s.Patterns = append(slices.Clip(s.Patterns), pattern)
	return s
}

// numberBetween is a number, which may also be written as a text.
func numberBetween(kind string, least, most float64) Schema {
	return Schema{Type: kind, Bounded: true, Least: least, Most: most}
}

func oneWord[T any](values []T) Schema {
	var s Schema
	for _, v := range values {
		s.Words = append(s.Words, fmt.Sprint(v))
	}
	return s
}

// durationSchema is Go's form of a time that is not negative.
func durationSchema(orZero bool) Schema {
	s := matching(`^(\+?(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+|[-+]?0)$`)
	if !orZero {
		return s.matching(notZero)
	}
	s.Type, s.Bounded = "integer", true // of numbers without unit 0 alone
	return s
}

// addressSchema is the URL of a host, with a path where path matches one.
func addressSchema(host, path string) Schema {
	return matching(`^[Hh][Tt][Tt][Pp][Ss]?://(\[[0-9A-Fa-f:.]+\]|` + host + `)(:[1-9][0-9]{0,4})?` + path + `$`)
}
