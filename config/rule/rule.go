// Package rule defines which texts are valid for a single value of a configuration: how they are
// parsed, how faults and the reference describe them, and what a JSON schema can check. It knows
// neither files nor settings.
package rule

import (
	"fmt"

	"portico/config/yamltree"
)

// Rule defines the valid texts of a single value.
type Rule[T any] struct {
	Parse   func(text string) (T, bool)
	Noun    string // what is expected, for "is not a valid …"
	Allowed string
	Secret  bool // the text must not be quoted
	// Shown means that a valid value is neither secret nor names a person, so operators may see it.
	// Values of rules without it are shown as REDACTED.
	Shown         bool
	Schema        Schema
	describeWrong func(text string) string // describes the error, instead of "is not a valid …"
}

// Fault describes a text at path that Parse rejected.
func (r Rule[T]) Fault(path, text string) string {
	switch {
	case r.describeWrong != nil:
		return BadAddress(path, text, r.describeWrong(text))
	case r.Secret:
		return fmt.Sprintf("%s: the value is not a valid %s", path, r.Noun)
	}
	return fmt.Sprintf("%s: %s is not a valid %s", path, yamltree.Quote(text), r.Noun)
}

// Bool accepts true and false.
func Bool() Rule[bool] {
	return Rule[bool]{
		Parse: func(text string) (bool, bool) {
			return text == "true", text == "true" || text == "false"
		},
		Shown:   true,
		Noun:    "boolean",
		Allowed: "true, false",
		Schema:  Schema{Type: "boolean", Words: []string{"true", "false"}},
	}
}

// Enum accepts one of several words.
func Enum[E fmt.Stringer](values []E) Rule[E] {
	return Rule[E]{
		Parse: func(text string) (v E, ok bool) {
			for _, v := range values {
				if v.String() == text {
					return v, true
				}
			}
			return v, false
		},
		Shown:   true,
		Noun:    "value",
		Allowed: yamltree.Choice(values),
		Schema:  oneWord(values),
	}
}

type word string

func (w word) String() string { return string(w) }

// OneOf accepts one of several words, as a string.
func OneOf(words ...word) Rule[string] {
	e := Enum(words)
	return Rule[string]{
		Parse: func(text string) (string, bool) {
			w, ok := e.Parse(text)
			return string(w), ok
		},
		Shown:   true,
		Noun:    e.Noun,
		Allowed: e.Allowed,
		Schema:  e.Schema,
	}
}
