package index

import (
	"fmt"
	"net/http"
)

// WriteKind is a kind of write to a tracked resource. The numbers are stored.
type WriteKind uint8

// The kinds of writes. A PUT and a DELETE oppose each other: one says that the
// resource exists, the other that it is gone. A PATCH changes no existence, so it
// opposes neither; but a DELETE opposes it.
const (
	Put WriteKind = iota
	Delete
	Patch
	// Move is Portico's own: a provider was asked to move the resource, or may be
	// creating another one of this ID. It opposes every GET of either resource, and
	// only its job ends it.
	Move
)

var writeKinds = [...]string{"PUT", "DELETE", "PATCH", "MOVE"}

func (k WriteKind) String() string { return NameOf(writeKinds[:], int(k)) }

// opposedBy reports whether another write can overturn what this write's answer proves
// of the resource's existence.
func (k WriteKind) opposedBy(other WriteKind) bool {
	if k == Delete {
		return other == Put
	}
	return other == Delete
}

// removes reports whether a write of the kind may remove a resource.
func (k WriteKind) removes() bool { return k == Delete || k == Move }

// Outcome is the meaning of an answer to a write.
type Outcome uint8

// The outcomes of a write.
const (
	// Ambiguous: no answer, a broken one, 408 or 5xx, or the success of a DELETE in a
	// text that cannot be read. The write may have been applied, or may yet be.
	Ambiguous Outcome = iota
	// NotSent: no byte of it has left.
	NotSent
	// Refused: any other 3xx or 4xx, but a 404 to a DELETE that speaks of the
	// resource.
	Refused
	// Succeeded: a PUT's 200 or 201, a PATCH's 200.
	Succeeded
	// Accepted: 202; or the success, by its status, of a PUT or PATCH whose answer does not
	// show the resource.
	Accepted
	// Gone: a DELETE's 200 or 204 that can be read, or a 404 that speaks of the resource.
	Gone
)

var outcomes = [...]string{"Ambiguous", "NotSent", "Refused", "Succeeded", "Accepted", "Gone"}

func (o Outcome) String() string { return NameOf(outcomes[:], int(o)) }

// ReadAnswer returns what the answer to a write means for the existence of its resource
// (index protocol, R3 and R4). about: the text speaks of the resource. To a PUT or PATCH
// it is the resource; else nothing is known but that the provider has accepted the write.
// To a DELETE it is a success that can be read, or a 404 in such words; else what stands
// before the provider may have answered.
func ReadAnswer(kind WriteKind, status int, about bool) Outcome {
	success := status < http.StatusMultipleChoices
	switch {
	case status == http.StatusRequestTimeout || status >= http.StatusInternalServerError || status < http.StatusOK:
		return Ambiguous
	case status == http.StatusAccepted:
		return Accepted
	case success && (kind == Put || kind == Patch) && !about:
		return Accepted
	case kind == Delete && (success || status == http.StatusNotFound) && about:
		return Gone
	case success && kind == Delete:
		return Ambiguous
	case success:
		return Succeeded
	}
	return Refused
}

// NameOf returns the name of a stored number, given all names.
func NameOf(names []string, i int) string {
	if i < len(names) {
		return names[i]
	}
	return fmt.Sprintf("unknown (%d)", i)
}
