package index

import (
	"fmt"
	"net/http"
)

// WriteKind is a kind of write to a tracked resource. The numbers are stored.
type WriteKind uint8

// The kinds of writes. A PUT and a DELETE oppose each other: after one the resource exists,
// after the other it does not. A PATCH opposes neither, because it does not change whether
// the resource exists; but a DELETE opposes a PATCH.
const (
	Put WriteKind = iota
	Delete
	Patch
	// Move is Portico's own: a provider was asked to move the resource away from this ID,
	// or may be creating it at this ID. While it is open no GET of the resource is proof,
	// and only its job ends it.
	Move
)

var writeKinds = [...]string{"PUT", "DELETE", "PATCH", "MOVE"}

func (k WriteKind) String() string { return NameOf(writeKinds[:], int(k)) }

// opposedBy reports whether another write can overturn what this write's answer proves
// about the resource's existence.
func (k WriteKind) opposedBy(other WriteKind) bool {
	if k == Delete {
		return other == Put
	}
	return other == Delete
}

// removes reports whether a write of the kind may remove a resource.
func (k WriteKind) removes() bool { return k == Delete || k == Move }

// Outcome is the outcome of a write, according to its answer.
type Outcome uint8

// The outcomes of a write.
const (
	// Ambiguous: no answer, a broken one, 408 or 5xx, or the success of a DELETE with a body
	// that cannot be read. The write may have been applied, or may still be.
	Ambiguous Outcome = iota
	// NotSent: no byte of it was sent.
	NotSent
	// Refused: any other 3xx or 4xx, except a 404 to a DELETE that is about the resource.
	Refused
	// Succeeded: a PUT's 200 or 201, a PATCH's 200.
	Succeeded
	// Accepted: 202, or another success of a PUT or PATCH whose answer does not show the
	// resource.
	Accepted
	// Gone: a DELETE's 200 or 204 with a body that can be read, or a 404 that is about the
	// resource.
	Gone
)

var outcomes = [...]string{"Ambiguous", "NotSent", "Refused", "Succeeded", "Accepted", "Gone"}

func (o Outcome) String() string { return NameOf(outcomes[:], int(o)) }

// ReadAnswer returns the outcome of a write, given the status of its answer (index protocol,
// R3 and R4). about: the body is about the resource. For a PUT or PATCH that means that it
// is the resource; otherwise the provider has only accepted the write. For a DELETE it means
// a success with a body that can be read, or a 404 whose error is about the resource;
// otherwise a proxy in front of the provider may have answered.
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
