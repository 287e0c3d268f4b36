package inventory

import "portico/inventory/index"

// The names of package index that callers of the inventory use.
type (
	// WriteKind is [index.WriteKind].
	WriteKind = index.WriteKind
	// Outcome is [index.Outcome].
	Outcome = index.Outcome
	// Phase is [index.Phase].
	Phase = index.Phase
	// GroupState is [index.GroupState].
	GroupState = index.GroupState
	// GroupStateError is [index.GroupStateError].
	GroupStateError = index.GroupStateError
)

// The kinds of writes, what became of them, and what is known of a resource or a
// group.
const (
	Put    = index.Put
	Delete = index.Delete
	Patch  = index.Patch
	Move   = index.Move

	Ambiguous = index.Ambiguous
	NotSent   = index.NotSent
	Refused   = index.Refused
	Succeeded = index.Succeeded
	Accepted  = index.Accepted
	Gone      = index.Gone

	Pending  = index.Pending
	Live     = index.Live
	Deleting = index.Deleting

	GroupActive   = index.GroupActive
	GroupDeleting = index.GroupDeleting
	GroupMoving   = index.GroupMoving
)

// ErrGroupNotFound is [index.ErrGroupNotFound].
var ErrGroupNotFound = index.ErrGroupNotFound

// OutcomeOf is [index.OutcomeOf].
func OutcomeOf(kind WriteKind, status int, absent bool) Outcome {
	return index.OutcomeOf(kind, status, absent)
}

// Terminal is [index.Terminal].
func Terminal(provisioningState string) bool { return index.Terminal(provisioningState) }
