package inventory

// WriteKind tells the writes that a tracked resource is sent. The numbers are
// stored.
type WriteKind uint8

// The kinds of writes. A PUT and a DELETE oppose each other: one says that the
// resource exists, the other that it is gone. A PATCH changes no existence, so it
// opposes neither; but a DELETE opposes it.
const (
	Put WriteKind = iota
	Delete
	Patch
)

var writeKinds = [...]string{"PUT", "DELETE", "PATCH"}

func (k WriteKind) String() string { return nameOf(writeKinds[:], int(k)) }

// opposedBy tells whether another write can overturn what this one's answer says
// of the resource's existence.
func (k WriteKind) opposedBy(other WriteKind) bool {
	if k == Delete {
		return other == Put
	}
	return other == Delete
}

// Outcome is what an answer to a write means.
type Outcome uint8

// The outcomes of a write.
const (
	// Ambiguous: no answer, a broken one, 408 or 5xx. The write may have been
	// applied, or may yet be.
	Ambiguous Outcome = iota
	// NotSent: no byte of it has left.
	NotSent
	// Refused: any other 3xx or 4xx, but a 404 to a DELETE.
	Refused
	// Succeeded: a PUT's 200 or 201, a PATCH's 200.
	Succeeded
	// Accepted: 202, or a PATCH's success that does not show what it made.
	Accepted
	// Gone: a DELETE's 200, 204 or 404.
	Gone
)

var outcomes = [...]string{"Ambiguous", "NotSent", "Refused", "Succeeded", "Accepted", "Gone"}

func (o Outcome) String() string { return nameOf(outcomes[:], int(o)) }
