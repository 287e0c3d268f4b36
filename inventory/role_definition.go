package inventory

import (
	"context"
	"errors"

	"portico/access/roles"
)

var (
	// ErrRoleDefinitionNotFound refuses an assignment of a role that the tenant lacks.
	ErrRoleDefinitionNotFound = errors.New("inventory: the role definition does not exist")

	// ErrRoleNameExists refuses a custom role whose name another role of the tenant has.
	ErrRoleNameExists = errors.New("inventory: a role definition of that name exists")

	// ErrRoleAssigned refuses to delete a role definition that is assigned.
	ErrRoleAssigned = errors.New("inventory: the role definition is assigned")
)

// RoleDefinition is a custom role of a tenant. Those that are built in are not stored.
type RoleDefinition struct {
	TenantID string // folded
	roles.Definition
	Generation [16]byte
	ETag       string
}

// PutRoleDefinition creates or changes the custom role with an id, a GUID. edit is as
// for [Store.EditGroup], but always returns a definition or an error; it decides on
// Name, Description, Permissions, AssignableScopes, CreatedBy, UpdatedBy and ETag.
// ErrRoleNameExists where another role of the tenant has its name, *QuotaError where
// the tenant has all the roles that it may have.
func (s *Store) PutRoleDefinition(ctx context.Context, tenant, id string, edit func(current *RoleDefinition) (*RoleDefinition, error)) (stored RoleDefinition, created bool, err error) {
	return RoleDefinition{}, false, errors.ErrUnsupported
}

// RoleDefinition returns a custom role, or ErrNotFound.
func (s *Store) RoleDefinition(ctx context.Context, tenant, id string) (RoleDefinition, error) {
	return RoleDefinition{}, errors.ErrUnsupported
}

// RoleDefinitions lists custom roles of a tenant in the order of their ids, after one of
// them, at most so many.
func (s *Store) RoleDefinitions(ctx context.Context, tenant, after string, limit int) ([]RoleDefinition, error) {
	return nil, errors.ErrUnsupported
}

// DeleteRoleDefinition removes a custom role that check accepts. ErrNotFound where
// there is none, ErrRoleAssigned while it is assigned in the tenant.
func (s *Store) DeleteRoleDefinition(ctx context.Context, tenant, id string, check func(RoleDefinition) error) error {
	return errors.ErrUnsupported
}
