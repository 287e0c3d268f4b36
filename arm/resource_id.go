package arm

// ValidResourceID reports whether s is the fully qualified ID of a resource in a
// resource group, as IDs stand in bodies: plainly, without host and query
// (resource reference, arguments).
func ValidResourceID(s string) bool {
	var p Path
	if p.Parse(s) != nil || p.String() != s || p.Hops() == 0 || !ValidGUID(p.Subscription()) || !ValidGroupName(p.Group()) {
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
