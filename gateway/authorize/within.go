package authorize

import (
	"slices"
	"strings"
)

// Within returns the scopes below one, an ID in any casing, that hold all of the list
// there that the caller may see: folded, in order, and none in another. It must not be
// asked of nil.
func (r *Readable) Within(scope string) []string {
	all := r.granted.AppendBelow(r.owned.AppendBelow(nil, r.action, scope), r.action, scope)
	slices.Sort(all)
	all = slices.Compact(all)
	seen := make(map[string]bool, len(all))
	for _, s := range all {
		seen[s] = true
	}
	return slices.DeleteFunc(all, func(s string) bool {
		for i := strings.LastIndexByte(s, '/'); i > 0; i = strings.LastIndexByte(s[:i], '/') {
			if seen[s[:i]] {
				return true
			}
		}
		return false
	})
}
