package preflight

import (
	"slices"
	"strings"

	"portico/internal/jsontext"
	"portico/internal/schema"
)

// unknowns are the values of a planned body that are not known yet, by their paths: a
// provider's answer, or a secret.
type unknowns []string

// standIn takes the place of a text that is not known: most texts may be it.
const standIn = `"00000000-0000-0000-0000-000000000000"`

// deepest is how deep the gateway reads a body. The rest is judged by those who are told
// that it is not known.
const deepest = 8

// within returns what is known of the value at a path, nil if it is not known, and notes what
// is not. A member that is not known is left out of the whole body; further below, a text
// stands in for it. An array of which something is not known is not known.
func (u *unknowns) within(value []byte, path string, depth int) []byte {
	deeper := depth < deepest && len(value) > 0
	switch {
	case deeper && value[0] == '{':
		before := len(*u)
		if known := u.members(value, path, depth); len(*u) > before {
			return known
		}
		return value
	case deeper && value[0] == '[':
		var inner unknowns
		_ = jsontext.Array(value, func(e jsontext.Element) error {
			if inner == nil {
				inner.within(e.Text, "", depth+1)
			}
			return nil
		})
		if inner == nil {
			return value
		}
	case !schema.Unknown(value):
		return value
	}
	*u = append(*u, path)
	return nil
}

func (u *unknowns) members(object []byte, path string, depth int) (known []byte) {
	known = []byte{'{'}
	_ = jsontext.Object(object, func(m jsontext.Member) error {
		v := u.within(m.Value, strings.TrimPrefix(path+"."+string(m.Key), "."), depth+1)
		if v == nil && depth > 0 {
			v = []byte(standIn)
		}
		if v != nil {
			known = appendMember(known, member{string(m.Key), v})
		}
		return nil
	})
	return append(known, '}')
}

// touch reports whether the value at a path is not known, or a part of it, or what it is a
// part of.
func (u unknowns) touch(path string) bool {
	return path != "" && slices.ContainsFunc(u, func(unknown string) bool { return inside(unknown, path) || inside(path, unknown) })
}

// inside reports whether a path is that of a value, or leads into it.
func inside(path, value string) bool {
	return len(path) >= len(value) && strings.EqualFold(path[:len(value)], value) &&
		(len(path) == len(value) || path[len(value)] == '.' || path[len(value)] == '[')
}
