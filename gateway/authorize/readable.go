package authorize

// Readable is what of a list its caller may see. nil is all of it.
type Readable struct {
	action string
}

// Shows reports whether the caller may see the element with an ID, in any casing, by
// the action of the list.
func (r *Readable) Shows(id string) bool { return r == nil || r.Allows(r.action, id) }

// Allows reports whether the caller may do an action at an ID, in any casing. It is for
// lists of elements of several types.
func (r *Readable) Allows(_, _ string) bool { return true }
