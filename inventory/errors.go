package inventory

import (
	"errors"
	"fmt"

	"portico/inventory/engine"
)

var (
	// ErrUnavailable is wrapped by every error that is the store's and not the request's:
	// the store is closed, full, broken, or used by another process. A write that failed so
	// may have been committed.
	ErrUnavailable = engine.ErrUnavailable

	// ErrNotFound is returned if the store has no such record.
	ErrNotFound = engine.ErrNotFound

	// ErrParentNotFound refuses a PUT of a nested resource whose parent is absent or
	// being deleted.
	ErrParentNotFound = errors.New("inventory: the parent resource does not exist")

	// ErrScopeChanged refuses a write that was admitted under an older version of its
	// subscription.
	ErrScopeChanged = errors.New("inventory: the subscription has changed")

	// ErrParentMoved refuses a PUT of a nested resource because its parent was recreated in
	// another region.
	ErrParentMoved = errors.New("inventory: the parent resource lies in another region")
)

// RegistrationStateError refuses a write because the subscription is not registered for
// its namespace.
type RegistrationStateError struct {
	Namespace string // folded
	State     RegistrationState
	// Region is set if the state permits writes, but the registration does not cover this
	// region.
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
	Strays    []Stray  // at most 100
	Intents   int      // writes that may still be on their way
	Total     int      // resources in the group
}

func (e *GroupNotEmptyError) Error() string {
	return fmt.Sprintf("inventory: the resource group holds %d resources and %d strays, and %d writes are on their way", e.Total, len(e.Strays), e.Intents)
}

// LocationConflictError refuses a write to a resource that the index has in another
// region or, for a PUT, in another location. The row is proof only if it needs no
// verification and RemovalOpen is false: see [Store.ResourceAndRemoval].
type LocationConflictError struct {
	Row         Resource
	RemovalOpen bool
}

func (e *LocationConflictError) Error() string {
	return "inventory: the resource exists in " + e.Row.Region + ", location " + e.Row.Location
}
