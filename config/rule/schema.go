package rule

import (
	"fmt"
	"slices"
)

// Schema is the part of a rule that a JSON schema can express. It accepts everything that the rule
// accepts, except unquoted texts that YAML reads as numbers or booleans.
type Schema struct {
	Type        string // the JSON type, other than string, that YAML may read
	Bounded     bool   // Least and Most apply to numbers
	Least, Most float64
	Words       []string // all valid texts
	Patterns    []string // all must match; in the syntax common to Go and ECMAScript
	MaxLength   int      // in characters; 0: no limit
}

const (
	digits          = `^[0-9]+$`
	notZero         = `[1-9]`
	guidPattern     = `[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}`
	hostPattern     = `[0-9A-Za-z._-]+`
	templatePattern = `([0-9A-Za-z._-]|\{region\}|\{subservice\}|\{namespace\})+`
	anyPath         = `(/[^?#\s]*)?`
	locationPattern = `^\s*[A-Za-z][0-9A-Za-z\s]*$`
	// Case of suffixes does not matter, which a short pattern cannot express.
	apiVersionPattern = `^[0-9]{4}-[0-9]{2}-[0-9]{2}(-[A-Za-z]+)?$`
)

func matching(pattern string) Schema { return Schema{Patterns: []string{pattern}} }

func (s Schema) matching(pattern string) Schema {
	s.Patterns = append(slices.Clip(s.Patterns), pattern)
	return s
}

// numberSchema allows numbers, also as strings.
func numberSchema(kind string, least, most float64) Schema {
	return Schema{Type: kind, Bounded: true, Least: least, Most: most}
}

func oneWord[T any](values []T) Schema {
	var s Schema
	for _, v := range values {
		s.Words = append(s.Words, fmt.Sprint(v))
	}
	return s
}

// durationSchema allows durations in Go's syntax that are not negative.
func durationSchema(orZero bool) Schema {
	s := matching(`^(\+?(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+|[-+]?0)$`)
	if !orZero {
		return s.matching(notZero)
	}
	s.Type, s.Bounded = "integer", true // 0 is the only number without a unit
	return s
}

// addressSchema allows URLs with a host, and with a path if the pattern path matches one.
func addressSchema(host, path string) Schema {
	return matching(`^[Hh][Tt][Tt][Pp][Ss]?://(\[[0-9A-Fa-f:.]+\]|` + host + `)(:[1-9][0-9]{0,4})?` + path + `$`)
}
