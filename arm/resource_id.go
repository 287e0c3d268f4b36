package arm

import "strings"

// PathOf returns the request path of a resource's ID, for [Path.Parse]. IDs in bodies
// and in the index are not escaped (resource reference, Get Resource, field id): a
// number sign in an ID belongs to a name, but would begin a fragment in a path. No
// other character of a valid ID has another meaning in a path.
func PathOf(id string) string { return strings.ReplaceAll(id, "#", "%23") }

// ValidScope reports whether s is an unescaped scope for role assignments: "/" for a
// whole tenant, or the ID of a subscription, of a group or of a resource in a group.
func ValidScope(s string) bool {
	if s == "/" {
		return true
	}
	var p Path
	if p.Parse(PathOf(s)) != nil || p.String() != s || !ValidGUID(p.Subscription()) {
		return false
	}
	_, below := p.Own()
	switch {
	case p.Hops() > 0:
		return ValidResourceID(s)
	case below:
		return false
	}
	return p.Group() == "" || ValidGroupName(p.Group())
}

// ValidResourceID reports whether s is the unescaped, fully qualified ID of a resource
// in a resource group, without host and query (resource reference, arguments).
func ValidResourceID(s string) bool {
	var p Path
	if p.Parse(PathOf(s)) != nil || p.String() != s || p.Hops() == 0 || !ValidGUID(p.Subscription()) || !ValidGroupName(p.Group()) {
		return false
	}
	for i := range p.Hops() {
		if hop := p.Hop(i); hop.Len() == 0 || hop.Len()%2 != 0 || !hop.Valid() {
			return false
		}
	}
	return true
}

// Valid reports whether the hop's namespace, types and names are valid.
func (h Hop) Valid() bool {
	for i := range h.Len() {
		if i%2 == 0 && !ValidTypeName(h.Segment(i)) || i%2 == 1 && !ValidResourceName(h.Segment(i)) {
			return false
		}
	}
	return ValidNamespace(h.Namespace())
}

// TypeIn returns the resource type in an ID, in the ID's casing, such as
// "Contoso.Compute/virtualMachines/disks"; "" for an ID of another form.
func TypeIn(id string) string {
	const providers = "/providers/"
	at := -1
	for i := 0; i+len(providers) <= len(id); i++ {
		if EqualFold(id[i:i+len(providers)], providers) {
			at = i
		}
	}
	if at < 0 {
		return ""
	}
	segments := strings.Split(id[at+len(providers):], "/")
	name := segments[0]
	for i := 1; i < len(segments); i += 2 {
		name += "/" + segments[i]
	}
	return name
}

// GroupOf returns the subscription and the resource group of a folded ID, both empty if
// it has no group.
func GroupOf(id string) (sub, group string) {
	const at = 4 // "", subscriptions, its id, resourcegroups
	if parts := strings.SplitN(id, "/", at+2); len(parts) > at {
		return parts[2], parts[at]
	}
	return "", ""
}

// ShortName returns an ID without its group: it begins with the namespace.
func ShortName(id string) string {
	var p Path
	if p.Parse(id) != nil || p.Hops() == 0 || p.Hop(0).Namespace() == "" {
		return id
	}
	return p.String()[len(p.Prefix(p.Hop(0).Start()+1))+1:]
}
