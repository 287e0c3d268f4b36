package route

import (
	"cmp"
	"slices"
)

// KeyRange is a run of keys: First, or all those behind First and before Before, unless
// that is empty. First is then no key itself.
type KeyRange struct{ First, Before string }

// One reports whether the range is that of one key.
func (r KeyRange) One() bool { return r.Before == "" }

// endsBy reports whether no key of the range follows after.
func (r KeyRange) endsBy(after string) bool {
	if r.One() {
		return r.First <= after
	}
	return r.Before <= after
}

// end is a text that no key of the range follows, and every key of the next one does.
func (r KeyRange) end() string {
	if r.One() {
		return r.First
	}
	return r.First + "\U0010FFFF"
}

// SingleKeys are ranges of one key each.
func SingleKeys(keys []string) []KeyRange {
	ranges := make([]KeyRange, 0, len(keys))
	for _, key := range keys {
		ranges = append(ranges, KeyRange{First: key})
	}
	return inOrder(ranges)
}

// KeysAtAndBelow are the ranges of the keys, which are folded ids, of what lies in one of
// several scopes, or is one that may be a key itself. No scope lies in another.
func KeysAtAndBelow(scopes []string, key func(scope string) bool) []KeyRange {
	ranges := make([]KeyRange, 0, 2*len(scopes))
	for _, scope := range scopes {
		if key(scope) {
			ranges = append(ranges, KeyRange{First: scope})
		}
		ranges = append(ranges, KeyRange{scope + "/", scope + "0"}) // '0' follows '/' bytewise
	}
	return inOrder(ranges)
}

func inOrder(ranges []KeyRange) []KeyRange {
	slices.SortFunc(ranges, func(a, b KeyRange) int { return cmp.Compare(a.First, b.First) })
	return ranges
}
