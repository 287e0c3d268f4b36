package inventory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"portico/access/roles"
	"portico/arm"
	"portico/inventory/engine"
	"portico/inventory/scopes"
	"portico/inventory/transaction"
)

var (
	// ErrRoleDefinitionNotFound refuses an assignment of a role that the tenant lacks, or
	// that may not be assigned at the scope.
	ErrRoleDefinitionNotFound = errors.New("inventory: the role definition does not exist")

	// ErrRoleNameExists refuses a custom role whose name another role of the tenant has.
	ErrRoleNameExists = errors.New("inventory: a role definition of that name exists")

	// ErrRoleBuiltIn refuses to change a role that is built in.
	ErrRoleBuiltIn = errors.New("inventory: the role definition is built in")

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

// definitionProperties are those that no statement looks at.
type definitionProperties struct {
	Name             string             `json:"roleName"`
	Description      string             `json:"description,omitempty"`
	Permissions      []roles.Permission `json:"permissions"`
	AssignableScopes []string           `json:"assignableScopes"`
	CreatedBy        string             `json:"createdBy,omitempty"`
	UpdatedBy        string             `json:"updatedBy,omitempty"`
}

const (
	definitionColumns = `subscription, id, name, properties, generation, etag, created, changed`

	selectRoleDefinition = `SELECT ` + definitionColumns + ` FROM role_definitions WHERE subscription = ? AND id = ?`
	lockRoleDefinition   = selectRoleDefinition + engine.ForUpdate
	listRoleDefinitions  = `SELECT ` + definitionColumns + ` FROM role_definitions WHERE subscription = ? AND id > ? ORDER BY id LIMIT ?`
	putRoleDefinition    = `INSERT INTO role_definitions (` + definitionColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (subscription, id) DO UPDATE SET name = excluded.name, properties = excluded.properties,
			generation = excluded.generation, etag = excluded.etag, changed = excluded.changed`
	deleteRoleDefinition = `DELETE FROM role_definitions WHERE subscription = ? AND id = ?`
	roleNameTaken        = `SELECT EXISTS (SELECT 1 FROM role_definitions WHERE subscription = ? AND name = ? AND id <> ?)`
	countRoleDefinitions = `SELECT COUNT(*) FROM (SELECT id FROM role_definitions WHERE subscription = ? LIMIT ?) AS counted`
	roleAssigned         = `SELECT EXISTS (SELECT 1 FROM role_assignments WHERE tenant = ? AND role = ?)`
)

func scanRoleDefinition(tenant string) func(engine.Scanner) (RoleDefinition, error) {
	return func(scan engine.Scanner) (RoleDefinition, error) {
		d := RoleDefinition{TenantID: arm.Fold(tenant)}
		var (
			partition, key, properties string
			generation                 []byte
			created, changed           int64
		)
		if err := scan(&partition, &d.ID, &key, &properties, &generation, &d.ETag, &created, &changed); err != nil {
			return RoleDefinition{}, err
		}
		var p definitionProperties
		if err := json.Unmarshal([]byte(properties), &p); err != nil {
			return RoleDefinition{}, fmt.Errorf("properties of the role definition %s: %w", d.ID, err)
		}
		d.Name, d.Description, d.Permissions, d.AssignableScopes = p.Name, p.Description, p.Permissions, p.AssignableScopes
		d.CreatedBy, d.UpdatedBy = p.CreatedBy, p.UpdatedBy
		copy(d.Generation[:], generation)
		d.CreatedOn, d.UpdatedOn = engine.Moment(created), engine.Moment(changed)
		return d, nil
	}
}

// put stores the definition, which was assignable at scopes before.
func (d *RoleDefinition) put(t *tx, before []string) error {
	properties, err := json.Marshal(definitionProperties{d.Name, d.Description, d.Permissions, d.AssignableScopes, d.CreatedBy, d.UpdatedBy})
	if err != nil {
		return err
	}
	partition := scopes.OfTenant(d.TenantID)
	t.ChangesScope(partition)
	if err := t.recordRoleDefinition(d, before, writeVerb); err != nil {
		return err
	}
	return t.Later(putRoleDefinition, partition, d.ID, arm.Fold(d.Name), string(properties), d.Generation[:], d.ETag,
		engine.Micros(d.CreatedOn), engine.Micros(d.UpdatedOn))
}

// RoleDefinition returns a custom role, or ErrNotFound.
func (s *Store) RoleDefinition(ctx context.Context, tenant, id string) (RoleDefinition, error) {
	return loadRoleDefinition(s.read(ctx), selectRoleDefinition, tenant, id)
}

func loadRoleDefinition(from engine.Source, statement, tenant, id string) (RoleDefinition, error) {
	d, err := scanRoleDefinition(tenant)(from.One(statement, scopes.OfTenant(tenant), arm.Fold(id)))
	return d, engine.OrNotFound(err)
}

// RoleDefinitions lists custom roles of a tenant in the order of their ids, after one of
// them; a limit of 0 means all.
func (s *Store) RoleDefinitions(ctx context.Context, tenant, after string, limit int) ([]RoleDefinition, error) {
	return engine.Collect(s.read(ctx), scanRoleDefinition(tenant), listRoleDefinitions,
		scopes.OfTenant(tenant), arm.Fold(after), engine.AtMost(limit))
}

// PutRoleDefinition creates or changes the custom role with an id, a GUID. edit is as
// for [Store.EditGroup], but always returns a definition or an error; it decides on
// Name, Description, Permissions, AssignableScopes, CreatedBy, UpdatedBy and ETag.
// ErrRoleBuiltIn for a role that is built in, ErrRoleNameExists where another role of the
// tenant has its name, *transaction.QuotaError where the tenant has all the roles that it may have.
func (s *Store) PutRoleDefinition(ctx context.Context, tenant, id string, edit func(current *RoleDefinition) (*RoleDefinition, error)) (stored RoleDefinition, created bool, err error) {
	result, err := commit(ctx, s, engine.Flushed, tenantLocks(tenant), func(t *tx) (put[RoleDefinition], error) {
		current, err := t.openRoleDefinition(tenant, id)
		if err != nil {
			return put[RoleDefinition]{}, err
		}
		wanted, err := edit(current)
		if err != nil {
			return put[RoleDefinition]{}, err
		}
		d := *wanted
		d.TenantID, d.ID, d.BuiltIn = arm.Fold(tenant), arm.Fold(id), false
		d.Generation, d.CreatedOn, d.UpdatedOn = engine.NewID(), t.Now, t.Now
		var before []string
		if current != nil {
			d.CreatedOn, d.CreatedBy, before = current.CreatedOn, current.CreatedBy, current.AssignableScopes
		}
		if err := t.checkRoleDefinition(d, current == nil); err != nil {
			return put[RoleDefinition]{}, err
		}
		return put[RoleDefinition]{stored: d, created: current == nil}, d.put(t, before)
	})
	return result.stored, result.created, err
}

// openRoleDefinition locks the tenant's roles and returns the present one, nil where
// there is none.
func (t *tx) openRoleDefinition(tenant, id string) (*RoleDefinition, error) {
	if t.store.builtIn[arm.Fold(id)] != nil {
		return nil, ErrRoleBuiltIn
	}
	if err := t.lockTenant(tenant); err != nil {
		return nil, err
	}
	current, err := loadRoleDefinition(t, lockRoleDefinition, tenant, id)
	if errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	return &current, err
}

// checkRoleDefinition refuses what PutRoleDefinition says.
func (t *tx) checkRoleDefinition(d RoleDefinition, created bool) error {
	for _, role := range t.store.builtIn {
		if arm.EqualFold(role.Name(), d.Name) {
			return ErrRoleNameExists
		}
	}
	taken := false
	if err := t.One(roleNameTaken, scopes.OfTenant(d.TenantID), arm.Fold(d.Name), d.ID)(&taken); err != nil {
		return err
	}
	if taken {
		return ErrRoleNameExists
	}
	limit, n := t.store.options.Limits.RoleDefinitionsPerTenant, 0
	if !created || limit <= 0 {
		return nil
	}
	if err := t.One(countRoleDefinitions, scopes.OfTenant(d.TenantID), limit)(&n); err != nil || n < limit {
		return err
	}
	return &transaction.QuotaError{Kind: transaction.QuotaRoleDefinitions, Limit: limit, Current: n}
}

// holdAssignableRole returns ErrRoleDefinitionNotFound unless the role of an assignment
// may be assigned at its scope. A custom one is locked: until then whoever deletes it
// does not see the assignment.
func (t *tx) holdAssignableRole(a RoleAssignment) error {
	if t.store.builtIn[a.RoleDefinition] != nil {
		return nil
	}
	d, err := loadRoleDefinition(t, lockRoleDefinition, a.TenantID, a.RoleDefinition)
	if errors.Is(err, ErrNotFound) || err == nil && !d.AssignableAt(a.ScopeKey) {
		return ErrRoleDefinitionNotFound
	}
	return err
}

// DeleteRoleDefinition removes a custom role that check accepts. ErrNotFound where
// there is none, ErrRoleAssigned while it is assigned in the tenant, ErrRoleBuiltIn for
// one that is built in.
func (s *Store) DeleteRoleDefinition(ctx context.Context, tenant, id string, check func(RoleDefinition) error) error {
	return s.write(ctx, engine.Flushed, tenantLocks(tenant), func(t *tx) error {
		current, err := t.openRoleDefinition(tenant, id)
		if err != nil {
			return err
		}
		if current == nil {
			return ErrNotFound
		}
		if err := check(*current); err != nil {
			return err
		}
		assigned := false
		if err := t.One(roleAssigned, current.TenantID, current.ID)(&assigned); err != nil {
			return err
		}
		if assigned {
			return ErrRoleAssigned
		}
		t.ChangesScope(scopes.OfTenant(tenant))
		if err := t.recordRoleDefinition(current, nil, deleteVerb); err != nil {
			return err
		}
		return t.Later(deleteRoleDefinition, scopes.OfTenant(tenant), current.ID)
	})
}
