package inventory

import (
	"context"
	"errors"
	"time"
)

// ErrRoleAssignmentUpdate refuses to change what an assignment grants: its scope, its
// principal or its role.
var ErrRoleAssignmentUpdate = errors.New("inventory: scope, principal and role of a role assignment never change")

// RoleAssignmentExistsError refuses a second assignment of a role to a principal at a
// scope.
type RoleAssignmentExistsError struct {
	Name string // of the first
}

func (e *RoleAssignmentExistsError) Error() string {
	return "inventory: the role assignment exists by the name " + e.Name
}

// RoleScope is a scope at which roles are assigned. Ids may have any casing.
type RoleScope struct {
	TenantID string
	// Subscription and Group hold the scope; both are "" for what belongs to the tenant.
	Subscription, Group string
	// ID is that of the scope, roles.TenantScope for the tenant.
	ID string
}

// RoleAssignment gives a role to a principal at a scope, and at all that lies below.
type RoleAssignment struct {
	TenantID     string // folded
	Subscription string // folded; "" at the tenant
	ScopeKey     string // the folded id of the scope
	ScopeID      string // the id as the latest PUT wrote it
	Name         string // a GUID in lower case

	PrincipalID      string // a GUID in lower case
	PrincipalType    string
	RoleDefinition   string // the GUID of the definition, in lower case
	Description      string
	Condition        string
	ConditionVersion string
	// DelegatedManagedIdentity is kept for clients.
	DelegatedManagedIdentity string

	CreatedOn, UpdatedOn time.Time
	CreatedBy, UpdatedBy string
	Generation           [16]byte
	ETag                 string
	// Host is the key of the tracked resource that the assignment goes with: the scope or
	// its ancestor. Only PutRoleAssignment's caller sets it; empty: there is none.
	Host string
}

// PutRoleAssignment creates or changes the assignment with a name, a GUID. edit is as
// for [Store.EditGroup], but always returns an assignment or an error; it decides on
// ScopeID, PrincipalID, PrincipalType, RoleDefinition, Description, Condition,
// ConditionVersion, DelegatedManagedIdentity, CreatedBy, UpdatedBy, ETag and Host.
//
// *RoleAssignmentExistsError where another assignment grants the same,
// ErrRoleAssignmentUpdate where the name stands for another grant in the subscription,
// ErrRoleDefinitionNotFound without such a role in the tenant, *QuotaError where there
// are all the assignments that there may be. ErrNotFound if the host does not exist; the
// subscription and the group must admit the change, as for [Store.EditLock].
func (s *Store) PutRoleAssignment(ctx context.Context, at RoleScope, name string, edit func(current *RoleAssignment) (*RoleAssignment, error)) (stored RoleAssignment, created bool, err error) {
	return RoleAssignment{}, false, errors.ErrUnsupported
}

// RoleAssignment returns the assignment at a scope with a name, or ErrNotFound.
func (s *Store) RoleAssignment(ctx context.Context, at RoleScope, name string) (RoleAssignment, error) {
	return RoleAssignment{}, errors.ErrUnsupported
}

// DeleteRoleAssignment removes an assignment that check accepts. ErrNotFound where there
// is none; otherwise it refuses like PutRoleAssignment.
func (s *Store) DeleteRoleAssignment(ctx context.Context, at RoleScope, name string, check func(RoleAssignment) error) error {
	return errors.ErrUnsupported
}

// RoleAssignmentQuery selects assignments.
type RoleAssignmentQuery struct {
	RoleScope
	// Above adds those above the scope, Below those below it. Those of the tenant are
	// above every subscription; those of subscriptions are not below the tenant.
	Above, Below bool
	// Principals, unless empty, are whose assignments are listed, by their object ids.
	Principals []string
	// After is the last assignment of the page before, nil for the first page.
	After *RoleAssignment
	Limit int
}

// RoleAssignments lists assignments: the tenant's, then those of the subscription, each
// in the order of their scopes and names.
func (s *Store) RoleAssignments(ctx context.Context, q RoleAssignmentQuery) ([]RoleAssignment, error) {
	return nil, errors.ErrUnsupported
}
