package arm

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// milestones lists the suffixes that the contract allows after the date of an
// api-version, from the least to the most finished; a version without suffix
// comes after all of them.
var milestones = []string{"alpha", "privatepreview", "beta", "preview", "rc"}

// ValidAPIVersion reports whether v has the form of an api-version: YYYY-MM-DD with an
// existing day, optionally followed by -preview, -alpha, -beta, -rc or -privatepreview
// in any casing (resource reference, arguments).
func ValidAPIVersion(v string) bool {
	if len(v) < len(time.DateOnly) {
		return false
	}
	if _, err := time.Parse(time.DateOnly, v[:10]); err != nil {
		return false
	}
	return len(v) == 10 || v[10] == '-' && milestone(v) >= 0
}

// NumberedAPIVersion reports whether v has the form of api-versions before
// dates, such as 1.0: two numbers of at most four digits.
func NumberedAPIVersion(v string) bool {
	major, minor, _ := strings.Cut(v, ".")
	return number(major) && number(minor)
}

func number(s string) bool {
	const most = 4
	return s != "" && len(s) <= most && strings.Trim(s, "0123456789") == ""
}

// milestone ranks the suffix of a version; -1 if the contract does not allow it.
func milestone(v string) int {
	if len(v) == 10 {
		return len(milestones)
	}
	for i, m := range milestones {
		if strings.EqualFold(v[11:], m) {
			return i
		}
	}
	return -1
}

// StableAPIVersion reports whether v, a valid api-version, has no suffix.
func StableAPIVersion(v string) bool { return len(v) == 10 }

// CompareAPIVersions orders two valid api-versions from older to newer: by
// date, then by milestone, the version without suffix last.
func CompareAPIVersions(a, b string) int {
	if c := strings.Compare(a[:10], b[:10]); c != 0 {
		return c
	}
	return cmp.Compare(milestone(a), milestone(b))
}

// NewestFirst returns a copy of versions in ARM's order for lists.
func NewestFirst(versions []string) []string {
	sorted := slices.Clone(versions)
	slices.SortStableFunc(sorted, func(a, b string) int { return CompareAPIVersions(b, a) })
	return sorted
}
