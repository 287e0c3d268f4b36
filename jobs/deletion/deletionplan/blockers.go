package deletionplan

import (
	"strings"

	"portico/arm"
)

// mostBlockers bounds the blockers that are read from one refusal.
const mostBlockers = 64

// BlockersIn finds the resources of a group that a refusal names: every id in its text
// that begins with scope, which is the folded id of the group with a slash at its end.
// Providers name them in prose, so an id ends at the first character that ids do not have; an
// id below a known resource names that resource. known reports whether a folded id is the key
// of a resource; self is the resource that was refused. named reports whether the text names any resource of the
// group but self, even one that is gone.
func BlockersIn(text, scope, self string, known func(key string) bool) (keys []string, named bool) {
	text = arm.Fold(strings.ReplaceAll(text, `\/`, "/"))
	for len(keys) < mostBlockers {
		i := strings.Index(text, scope)
		if i < 0 {
			return keys, named
		}
		id := text[i:]
		text = id[len(scope):]
		if end := strings.IndexAny(id, "\"'<>\\?&\r\n\t"); end >= 0 {
			id = id[:end]
		}
		key, is := id, known(id) // a name may contain a character that ends an id in prose
		if !is {
			if end := strings.IndexAny(id, " ,;()[]{}"); end >= 0 {
				id = id[:end]
			}
			id = strings.TrimRight(id, ".:")
			if key, is = resourceIn(id, len(scope), known); !is {
				key = id
			}
		}
		if key == self {
			continue
		}
		named = true
		if is {
			keys = append(keys, key)
		}
	}
	return keys, named
}

// resourceIn returns the longest beginning of an id that is a resource's key.
func resourceIn(id string, least int, known func(string) bool) (string, bool) {
	for len(id) > least {
		if known(id) {
			return id, true
		}
		i := strings.LastIndexByte(id, '/')
		if i < 0 {
			return "", false
		}
		id = id[:i]
	}
	return "", false
}
