package preflight

import (
	"fmt"
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
	if schema.Unknown(value) {
		*u = append(*u, path)
		return []byte(standIn)
	}
	before := len(*u)
	var all []member
	switch {
	case depth == deepest || len(value) == 0:
	case value[0] == '{':
		_ = jsontext.Object(value, func(m jsontext.Member) error {
			inner := strings.TrimPrefix(path+"."+string(m.Key), ".")
			if text := u.within(m.Value, inner, depth+1); depth > 0 || !u.has(inner) {
				all = append(all, member{string(m.Key), text})
			}
			return nil
		})
	case value[0] == '[':
		_ = jsontext.Array(value, func(e jsontext.Element) error {
			all = append(all, member{"", u.within(e.Text, fmt.Sprintf("%s[%d]", path, len(all)), depth+1)})
			return nil
		})
	}
	switch {
	case len(*u) == before:
		return value
	case value[0] == '{':
		return objectOf(all...)
	}
	return listOf(all)
}

func listOf(all []member) []byte {
	text := []byte{'['}
	for i, m := range all {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(text, m.value...)
	}
	return append(text, ']')
}

func (u unknowns) has(path string) bool { return slices.Contains(u, path) }

// touch reports whether the value at a path is not known, or a part of it, or what it is a
// part of.
func (u unknowns) touch(path string) bool {
	return path != "" && slices.ContainsFunc(u, func(unknown string) bool { return inside(unknown, path) || inside(path, unknown) })
}

// inside reports whether a path is that of a value, or leads into it.
func inside(path, value string) bool {
	return len(path) >= len(value) && strings.EqualFold(path[:len(value)], value) && (len(path) == len(value) || path[len(value)] == '.' || path[len(value)] == '[')
}
