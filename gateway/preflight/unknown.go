package preflight

import (
	"slices"
	"strings"

	"portico/internal/jsontext"
	"portico/internal/schema"
)

// unknowns are the paths of values in a planned body that are not known yet, such as a
// provider's answer or a secret.
type unknowns []string

// placeholder replaces an unknown text. It is valid for most texts.
const placeholder = `"00000000-0000-0000-0000-000000000000"`

// maxDepth bounds how deep strip descends into a body. It keeps deeper objects and arrays
// unexamined: the provider's documents and the provider judge them.
const maxDepth = 8

// strip returns the known part of the value at a path, or nil if it is not known, and adds the
// unknown paths to u. Unknown members of the body itself are left out; deeper ones become
// placeholders. An array with an unknown value in it is unknown as a whole.
func (u *unknowns) strip(value []byte, path string, depth int) []byte {
	deeper := depth < maxDepth && len(value) > 0
	switch {
	case deeper && value[0] == '{':
		before := len(*u)
		if known := u.stripObject(value, path, depth); len(*u) > before {
			return known
		}
		return value
	case deeper && value[0] == '[':
		var inner unknowns
		_ = jsontext.Array(value, func(e jsontext.Element) error {
			if inner == nil {
				inner.strip(e.Text, "", depth+1)
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

// stripObject strips the members of an object.
func (u *unknowns) stripObject(object []byte, path string, depth int) (known []byte) {
	known = []byte{'{'}
	_ = jsontext.Object(object, func(m jsontext.Member) error {
		v := u.strip(m.Value, strings.TrimPrefix(path+"."+string(m.Key), "."), depth+1)
		if v == nil && depth > 0 {
			v = []byte(placeholder)
		}
		if v != nil {
			known = appendMember(known, member{string(m.Key), v})
		}
		return nil
	})
	return append(known, '}')
}

// overlap reports whether the value at a path is unknown, contains an unknown value, or is part
// of one.
func (u unknowns) overlap(path string) bool {
	return path != "" && slices.ContainsFunc(u, func(unknown string) bool { return inside(unknown, path) || inside(path, unknown) })
}

// inside reports whether path is the path value, or leads into the value there.
func inside(path, value string) bool {
	return len(path) >= len(value) && strings.EqualFold(path[:len(value)], value) &&
		(len(path) == len(value) || path[len(value)] == '.' || path[len(value)] == '[')
}
