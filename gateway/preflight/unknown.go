package preflight

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"portico/internal/jsontext"
	"portico/schema"
)

// unknowns are the values of a planned body that are not known yet, by their paths: a
// provider's answer, or a secret.
type unknowns []string

// standIn takes the place of a text that is not known: most texts may be it.
const standIn = `"00000000-0000-0000-0000-000000000000"`

// deepest is how deep the gateway reads a body. The rest is judged by those who are told
// that it is not known.
const deepest = 8

// knownOf returns what is known of a planned body. A member that is not known is left out;
// further below, a text stands in for it.
func knownOf(body []byte) (known []byte, unknown unknowns) {
	known = unknown.within(body, "", 0)
	return known, unknown
}

func (u *unknowns) within(value []byte, path string, depth int) []byte {
	if schema.Unknown(value) || holdsUnknown(value, depth) {
		*u = append(*u, path)
		return []byte(standIn)
	}
	if depth == deepest || len(value) == 0 || value[0] != '{' {
		return value
	}
	before, text := len(*u), []byte{'{'}
	_ = jsontext.Object(value, func(m jsontext.Member) error {
		inner := strings.TrimPrefix(path+"."+string(m.Key), ".")
		v := u.within(m.Value, inner, depth+1)
		if depth == 0 && len(*u) > before && (*u)[len(*u)-1] == inner {
			return nil
		}
		if len(text) > 1 {
			text = append(text, ',')
		}
		name, _ := json.Marshal(string(m.Key)) // a string can be written
		text = append(append(append(text, name...), ':'), v...)
		return nil
	})
	if len(*u) == before {
		return value
	}
	return append(text, '}')
}

// errFound ends the reading of an array.
var errFound = errors.New("something is not known")

// holdsUnknown reports whether a value is an array of which something is not known: none of it
// is judged.
func holdsUnknown(value []byte, depth int) bool {
	if depth >= deepest || len(value) == 0 || value[0] != '[' {
		return false
	}
	return jsontext.Array(value, func(e jsontext.Element) error {
		var unknown unknowns
		if unknown.within(e.Text, "", depth+1); len(unknown) > 0 {
			return errFound
		}
		return nil
	}) != nil
}

// touch reports whether the value at a path is not known, or a part of it, or what it is a
// part of.
func (u unknowns) touch(path string) bool {
	return path != "" && slices.ContainsFunc(u, func(unknown string) bool { return inside(unknown, path) || inside(path, unknown) })
}

// inside reports whether a path is that of a value, or leads into it.
func inside(path, value string) bool {
	return len(path) >= len(value) && strings.EqualFold(path[:len(value)], value) && (len(path) == len(value) || path[len(value)] == '.' || path[len(value)] == '[')
}
