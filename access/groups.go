package access

import (
	"iter"
	"slices"
	"strings"

	"portico/arm"
)

// Groups are the object ids of groups, in lower case and sorted, with a space between
// two. A text can be compared, and costs a principal no allocation when it is copied.
type Groups string

// GroupsOf returns the groups of these ids; texts that are no GUIDs name none.
func GroupsOf(ids []string) Groups {
	var valid []string
	for _, id := range ids {
		if arm.ValidGUID(id) {
			valid = append(valid, strings.ToLower(id))
		}
	}
	slices.Sort(valid)
	return Groups(strings.Join(slices.Compact(valid), " "))
}

// All returns the ids.
func (g Groups) All() iter.Seq[string] { return strings.FieldsSeq(string(g)) }
