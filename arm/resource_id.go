package arm

import "strings"

// PathOf returns the path by which the resource of an ID is called, as
// [Path.Parse] reads it. IDs stand in bodies and in the index plainly (resource
// reference, Get Resource, field id): a number sign in one belongs to a name,
// where that of a path would begin a fragment. No other character of a legal ID
// means something else in a path.
func PathOf(id string) string { return strings.ReplaceAll(id, "#", "%23") }

// ValidResourceID reports whether s is the fully qualified ID of a resource in a
// resource group, as IDs stand in bodies: plainly, without host and query
// (resource reference, arguments).
func ValidResourceID(s string) bool {
	var p Path
	if p.Parse(PathOf(s)) != nil || p.String() != s || p.Hops() == 0 || !ValidGUID(p.Subscription()) || !ValidGroupName(p.Group()) {
		return false
	}
	for i := range p.Hops() {
		hop := p.Hop(i)
		if !ValidNamespace(hop.Namespace()) || hop.Len() == 0 || hop.Len()%2 != 0 {
			return false
		}
		for j := range hop.Len() {
			if j%2 == 0 && !ValidTypeName(hop.Segment(j)) || j%2 == 1 && !ValidResourceName(hop.Segment(j)) {
				return false
			}
		}
	}
	return true
}
