package inventory

import (
	"errors"
	"fmt"

	"portico/inventory/engine"
)

var (
	// ErrUnavailable is wrapped by every error that means that the store cannot serve
	// at present (closed, full, broken, held by another process): the request itself is
	// fine. Whether a write that failed so was committed is unknown.
	ErrUnavailable = engine.ErrUnavailable

	// ErrNotFound says that the store has no such thing.
	ErrNotFound = engine.ErrNotFound

	// ErrParentNotFound refuses a PUT of a nested resource whose parent is absent or
	// being deleted.
	ErrParentNotFound = errors.New("inventory: the parent resource does not exist")

	// ErrScopeChanged refuses a write that was admitted under another version of its
	// subscription than the store has.
	ErrScopeChanged = errors.New("inventory: the subscription has changed")

	// ErrParentMoved refuses a PUT of a nested resource whose parent was recreated in
	// another region than the write's.
	ErrParentMoved = errors.New("inventory: the parent resource lies in another region")
)

// RegistrationStateError refuses a write into a namespace for which the
// subscription is not registered.
type RegistrationStateError struct {
	Namespace string // folded
	State     RegistrationState
	// Region, when set, is one that the registration does not cover, though its state
	// permits writes.
	Region string
}

func (e *RegistrationStateError) Error() string {
	if e.Region != "" {
		return "inventory: the namespace " + e.Namespace + " is not registered for " + e.Region
	}
	return "inventory: the namespace " + e.Namespace + " is " + e.State.String()
}

// GroupNotEmptyError refuses to close a group that holds resources, or that a write
// may still reach.
type GroupNotEmptyError struct {
	Resources []string // their IDs as written, in the order of their keys, at most 100
	Strays    []Stray  // its members that another region holds than the index says, at most 100
	Intents   int      // writes that may still be on their way
	Total     int      // resources in the group
}

func (e *GroupNotEmptyError) Error() string {
	return fmt.Sprintf("inventory: the resource group holds %d resources and %d strays, and %d writes are on their way", e.Total, len(e.Strays), e.Intents)
}

// LocationConflictError refuses a write to a resource that the index has in another
// region or, for a PUT, in another location. Whether the row is proof depends on its
// Phase and Verify, and on RemovalOpen: see [Store.ResourceAndRemoval].
type LocationConflictError struct {
	Row         Resource
	RemovalOpen bool
}

func (e *LocationConflictError) Error() string {
	return "inventory: the resource exists in " + e.Row.Region + ", location " + e.Row.Location
}
