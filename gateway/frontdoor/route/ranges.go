package route

import (
	"cmp"
	"slices"
)

// KeyRange is the single key First, or, if Before is not empty, all keys after First and
// before Before.
type KeyRange struct{ First, Before string }

// One reports whether the range is a single key.
func (r KeyRange) One() bool { return r.Before == "" }

// endsBy reports whether no key of the range follows after.
func (r KeyRange) endsBy(after string) bool {
	if r.One() {
		return r.First <= after
	}
	return r.Before <= after
}

// end returns a text that follows every key of the range and precedes every key of the
// next.
func (r KeyRange) end() string {
	if r.One() {
		return r.First
	}
	return r.First + "\U0010FFFF"
}

// SingleKeys returns ranges of one key each.
func SingleKeys(keys []string) []KeyRange {
	ranges := make([]KeyRange, 0, len(keys))
	for _, key := range keys {
		ranges = append(ranges, KeyRange{First: key})
	}
	return sortRanges(ranges)
}

// KeysAtAndBelow returns the ranges of keys, which are folded ids, inside the given
// scopes, and the scopes themselves if key returns true for them. No scope may lie in
// another.
func KeysAtAndBelow(scopes []string, key func(scope string) bool) []KeyRange {
	ranges := make([]KeyRange, 0, 2*len(scopes))
	for _, scope := range scopes {
		if key(scope) {
			ranges = append(ranges, KeyRange{First: scope})
		}
		ranges = append(ranges, KeyRange{scope + "/", scope + "0"}) // '0' follows '/' bytewise
	}
	return sortRanges(ranges)
}

func sortRanges(ranges []KeyRange) []KeyRange {
	slices.SortFunc(ranges, func(a, b KeyRange) int { return cmp.Compare(a.First, b.First) })
	return ranges
}
