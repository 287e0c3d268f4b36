package authorize

import "portico/access/roles"

// Readable is what of a list its caller may see. nil is all of it.
type Readable struct {
	action         string
	owned, granted roles.Grants
}

// Shows reports whether the caller may see the element with an ID, in any casing, by
// the action of the list. It allocates nothing.
func (r *Readable) Shows(id string) bool { return r == nil || r.Allows(r.action, id) }

// Allows reports whether the caller may do an action at an ID, both in any casing. It is
// for lists of elements of several types, and allocates nothing.
func (r *Readable) Allows(action, id string) bool {
	if r == nil {
		return true
	}
	if _, ok := r.owned.Find(action, id); ok {
		return true
	}
	_, ok := r.granted.Find(action, id)
	return ok
}
