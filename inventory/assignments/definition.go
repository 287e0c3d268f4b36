package assignments

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"portico/access/roles"
	"portico/arm"
	"portico/events"
	"portico/inventory/engine"
	"portico/inventory/index"
	"portico/inventory/memory"
	"portico/inventory/transaction"
)

var (
	// ErrDefinitionNotFound refuses an assignment of a role that does not exist in the
	// tenant, or may not be assigned at the scope.
	ErrDefinitionNotFound = errors.New("inventory: the role definition does not exist")

	// ErrNameExists refuses a custom role with the name of another role of the tenant.
	ErrNameExists = errors.New("inventory: a role definition of that name exists")

	// ErrBuiltIn refuses to change a built-in role.
	ErrBuiltIn = errors.New("inventory: the role definition is built in")

	// ErrAssigned refuses to delete a role definition that is assigned.
	ErrAssigned = errors.New("inventory: the role definition is assigned")
)

// Definition is a custom role of a tenant. Built-in roles are not stored.
type Definition struct {
	TenantID string // folded
	roles.Definition
	Generation [16]byte
	ETag       string
}

// definitionProperties holds the properties that have no column.
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

func scanRoleDefinition(tenant string) func(engine.Scanner) (Definition, error) {
	return func(scan engine.Scanner) (Definition, error) {
		d := Definition{TenantID: arm.Fold(tenant)}
		var (
			partition, key, properties string
			generation                 []byte
			created, changed           int64
		)
		if err := scan(&partition, &d.ID, &key, &properties, &generation, &d.ETag, &created, &changed); err != nil {
			return Definition{}, err
		}
		var p definitionProperties
		if err := json.Unmarshal([]byte(properties), &p); err != nil {
			return Definition{}, fmt.Errorf("properties of the role definition %s: %w", d.ID, err)
		}
		d.Name, d.Description, d.Permissions, d.AssignableScopes = p.Name, p.Description, p.Permissions, p.AssignableScopes
		d.CreatedBy, d.UpdatedBy = p.CreatedBy, p.UpdatedBy
		copy(d.Generation[:], generation)
		d.CreatedOn, d.UpdatedOn = engine.TimeOf(created), engine.TimeOf(changed)
		return d, nil
	}
}

// put stores the definition. before lists the scopes at which it was assignable until now.
func (d *Definition) put(t *transaction.Tx, before []string) error {
	properties, err := json.Marshal(definitionProperties{d.Name, d.Description, d.Permissions, d.AssignableScopes, d.CreatedBy, d.UpdatedBy})
	if err != nil {
		return err
	}
	partition := memory.TenantPartition(d.TenantID)
	t.ChangesScope(partition)
	if err := d.recordChange(t, before, index.WriteVerb); err != nil {
		return err
	}
	return t.Later(putRoleDefinition, partition, d.ID, arm.Fold(d.Name), string(properties), d.Generation[:], d.ETag,
		engine.Micros(d.CreatedOn), engine.Micros(d.UpdatedOn))
}

// Definition returns a custom role, or ErrNotFound.
func (r *Roles) Definition(ctx context.Context, tenant, id string) (Definition, error) {
	return loadRoleDefinition(r.database.Read(ctx), selectRoleDefinition, tenant, id)
}

func loadRoleDefinition(from engine.Source, statement, tenant, id string) (Definition, error) {
	d, err := scanRoleDefinition(tenant)(from.One(statement, memory.TenantPartition(tenant), arm.Fold(id)))
	return d, engine.OrNotFound(err)
}

// Definitions lists custom roles of a tenant in the order of their ids, after a given id;
// a limit of 0 means all.
func (r *Roles) Definitions(ctx context.Context, tenant, after string, limit int) ([]Definition, error) {
	return engine.Collect(r.database.Read(ctx), scanRoleDefinition(tenant), listRoleDefinitions,
		memory.TenantPartition(tenant), arm.Fold(after), engine.LimitArg(limit))
}

// PutDefinition creates or changes the custom role with an id, which is a GUID. edit is as
// for the inventory's EditGroup, but always returns a definition or an error; it sets
// Name, Description, Permissions, AssignableScopes, CreatedBy, UpdatedBy and ETag. The
// error is ErrBuiltIn for a built-in role, ErrNameExists if another role of the tenant
// has the name, and *transaction.QuotaError at the tenant's limit of roles.
func (r *Roles) PutDefinition(
	ctx context.Context, tenant, id string, edit func(current *Definition) (*Definition, error),
) (stored Definition, created bool, err error) {
	open := func(t *transaction.Tx) (*Definition, error) { return r.openDefinition(t, tenant, id) }
	return transaction.Edit(ctx, r.database, tenantLocks(tenant), open, edit, func(t *transaction.Tx, current *Definition, d Definition) (Definition, error) {
		d.TenantID, d.ID, d.BuiltIn = arm.Fold(tenant), arm.Fold(id), false
		d.Generation, d.CreatedOn, d.UpdatedOn = engine.NewID(), t.Now, t.Now
		var before []string
		if current != nil {
			d.CreatedOn, d.CreatedBy, before = current.CreatedOn, current.CreatedBy, current.AssignableScopes
		}
		if err := r.checkDefinition(t, d, current == nil); err != nil {
			return d, err
		}
		err := d.put(t, before)
		return d, err
	})
}

// openDefinition locks the tenant's roles and returns the present definition, nil if there
// is none.
func (r *Roles) openDefinition(t *transaction.Tx, tenant, id string) (*Definition, error) {
	if r.builtIn[arm.Fold(id)] != nil {
		return nil, ErrBuiltIn
	}
	if err := lockTenant(t, tenant); err != nil {
		return nil, err
	}
	current, err := loadRoleDefinition(t, lockRoleDefinition, tenant, id)
	if errors.Is(err, engine.ErrNotFound) {
		return nil, nil
	}
	return &current, err
}

// checkDefinition returns the errors of PutDefinition for a new or changed definition.
func (r *Roles) checkDefinition(t *transaction.Tx, d Definition, created bool) error {
	for _, role := range r.builtIn {
		if arm.EqualFold(role.Name(), d.Name) {
			return ErrNameExists
		}
	}
	taken := false
	if err := t.One(roleNameTaken, memory.TenantPartition(d.TenantID), arm.Fold(d.Name), d.ID)(&taken); err != nil {
		return fmt.Errorf("check the name of a role: %w", err)
	}
	if taken {
		return ErrNameExists
	}
	limit, n := r.limits.DefinitionsPerTenant, 0
	if !created || limit <= 0 {
		return nil
	}
	if err := t.One(countRoleDefinitions, memory.TenantPartition(d.TenantID), limit)(&n); err != nil || n < limit {
		return err
	}
	return &transaction.QuotaError{Kind: transaction.QuotaRoleDefinitions, Limit: limit, Current: n}
}

// lockAssignable returns ErrDefinitionNotFound unless the assignment's role may be assigned
// at its scope. It locks a custom role, because a concurrent deletion of the role cannot
// see the assignment before its commit.
func (r *Roles) lockAssignable(t *transaction.Tx, a Assignment) error {
	if r.builtIn[a.RoleDefinition] != nil {
		return nil
	}
	d, err := loadRoleDefinition(t, lockRoleDefinition, a.TenantID, a.RoleDefinition)
	if errors.Is(err, engine.ErrNotFound) || err == nil && !d.AssignableAt(a.ScopeKey) {
		return ErrDefinitionNotFound
	}
	return err
}

// DeleteDefinition removes a custom role, if check accepts it. The error is
// engine.ErrNotFound if there is none, ErrAssigned while the role is assigned in the
// tenant, and ErrBuiltIn for a built-in role.
func (r *Roles) DeleteDefinition(ctx context.Context, tenant, id string, check func(Definition) error) error {
	open := func(t *transaction.Tx) (*Definition, error) { return r.openDefinition(t, tenant, id) }
	return transaction.Remove(ctx, r.database, tenantLocks(tenant), open, check, func(t *transaction.Tx, current Definition) error {
		assigned := false
		if err := t.One(roleAssigned, current.TenantID, current.ID)(&assigned); err != nil {
			return fmt.Errorf("read whether a role is assigned: %w", err)
		}
		if assigned {
			return ErrAssigned
		}
		t.ChangesScope(memory.TenantPartition(tenant))
		if err := current.recordChange(t, nil, index.DeleteVerb); err != nil {
			return err
		}
		return t.Later(deleteRoleDefinition, memory.TenantPartition(tenant), current.ID)
	})
}

// recordChange records the event of a change of a custom role. before lists the scopes at
// which the role was assignable until now.
func (d *Definition) recordChange(t *transaction.Tx, before []string, verb string) error {
	const typ = "Microsoft.Authorization/roleDefinitions"
	at := slices.Concat(d.AssignableScopes, before)
	slices.Sort(at)
	return t.RecordOwn(memory.TenantPartition(d.TenantID), events.Payload{
		Resource: "/providers/" + typ + "/" + d.ID, Action: typ + verb, Status: events.Succeeded, ETag: d.ETag,
		AssignableAt: strings.Join(slices.Compact(at), " "),
	})
}
