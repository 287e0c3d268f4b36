// Package rule says what may stand where a configuration has a single value:
// how its text is read, what faults and the reference say of it, and what a
// JSON schema can judge. It knows neither files nor settings.
package rule

import (
	"fmt"

	"portico/config/yamltree"
)

// Rule says how the text of a single value is read.
type Rule[T any] struct {
	Parse   func(text string) (T, bool)
	Noun    string // what the text should have been: "is no …"
	Allowed string
	Secret  bool // the text must not be quoted
	// Shown: what is legal can neither be a secret nor name a person, so that operators
	// are shown it. A rule has to say so: whatever does not is REDACTED.
	Shown  bool
	Schema Schema
	wrong  func(text string) string // says what is wrong, in place of "is no …"
}

// Fault says what is wrong with a text at path that Parse refused.
func (r Rule[T]) Fault(path, text string) string {
	switch {
	case r.wrong != nil:
		return BadAddress(path, text, r.wrong(text))
	case r.Secret:
		return fmt.Sprintf("%s: the value is no %s", path, r.Noun)
	}
	return fmt.Sprintf("%s: %s is no %s", path, yamltree.Quote(text), r.Noun)
}

// Bool is true or false.
func Bool() Rule[bool] {
	return Rule[bool]{
		Parse: func(text string) (bool, bool) {
			return text == "true", text == "true" || text == "false"
		},
		Shown:   true,
		Noun:    "truth value",
		Allowed: "true, false",
		Schema:  Schema{Type: "boolean", Words: []string{"true", "false"}},
	}
}

// Enum is one of several words.
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
		Noun:    "legal value",
		Allowed: yamltree.Choice(values),
		Schema:  oneWord(values),
	}
}

type word string

func (w word) String() string { return string(w) }

// OneOf is Enum for plain words.
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
