package assignments

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"portico/access/roles"
	"portico/arm"
	"portico/events"
	"portico/inventory/engine"
	"portico/inventory/index"
	"portico/inventory/transaction"
)

// ErrUpdate refuses to change an assignment's scope, principal or role.
var ErrUpdate = errors.New("inventory: scope, principal and role of a role assignment never change")

// ExistsError refuses a second assignment of the same role to the same principal at the
// same scope.
type ExistsError struct {
	Name string // of the first
}

func (e *ExistsError) Error() string {
	return "inventory: the role assignment exists by the name " + e.Name
}

// Assignment gives a principal a role at a scope and at everything below it. Its JSON form
// holds the fields that have no column.
type Assignment struct {
	TenantID     string `json:"-"` // folded
	Subscription string `json:"-"` // folded; "" at the tenant
	ScopeKey     string `json:"-"` // the folded id of the scope
	ScopeID      string `json:"-"` // the id in the casing of the latest PUT
	Name         string `json:"-"` // a GUID in lower case

	PrincipalID    string `json:"-"` // an object id, in lower case if it is a GUID
	PrincipalType  string `json:"principalType,omitempty"`
	RoleDefinition string `json:"-"` // the GUID of the definition, in lower case
	Description    string `json:"description,omitempty"`
	// An assignment with a condition grants nothing, because Portico does not evaluate
	// conditions.
	Condition        string `json:"-"`
	ConditionVersion string `json:"conditionVersion,omitempty"`
	// DelegatedManagedIdentity is stored for clients and has no effect.
	DelegatedManagedIdentity string `json:"delegatedManagedIdentity,omitempty"`

	CreatedOn  time.Time `json:"-"`
	UpdatedOn  time.Time `json:"-"`
	CreatedBy  string    `json:"createdBy,omitempty"`
	UpdatedBy  string    `json:"updatedBy,omitempty"`
	Generation [16]byte  `json:"-"`
	ETag       string    `json:"-"`
	// Host is the key of a tracked resource, the scope or its ancestor. The assignment is
	// removed with it. Empty: none. Only PutAssignment reads it.
	Host string `json:"-"`
}

const (
	assignmentColumns = `subscription, scope, name, tenant, principal, role, scope_id, condition, properties, generation, etag, created, changed`

	selectRoleAssignment = `SELECT ` + assignmentColumns + ` FROM role_assignments WHERE subscription = ? AND scope = ? AND name = ?`
	putRoleAssignment    = `INSERT INTO role_assignments (` + assignmentColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (subscription, scope, name) DO UPDATE SET scope_id = excluded.scope_id, condition = excluded.condition,
			properties = excluded.properties, generation = excluded.generation, etag = excluded.etag, changed = excluded.changed`
	deleteRoleAssignment = `DELETE FROM role_assignments WHERE subscription = ? AND scope = ? AND name = ?`
	roleAssignmentNamed  = `SELECT EXISTS (SELECT 1 FROM role_assignments WHERE subscription = ? AND name = ?)`
	sameRoleAssignment   = `SELECT name FROM role_assignments WHERE subscription = ? AND principal = ? AND role = ? AND scope = ? LIMIT 1`
	countRoleAssignments = `SELECT COUNT(*) FROM (SELECT name FROM role_assignments WHERE subscription = ? LIMIT ?) AS counted`
)

func scanRoleAssignment(scan engine.Scanner) (Assignment, error) {
	var (
		a                Assignment
		properties       string
		generation       []byte
		created, changed int64
	)
	err := scan(&a.Subscription, &a.ScopeKey, &a.Name, &a.TenantID, &a.PrincipalID, &a.RoleDefinition, &a.ScopeID,
		&a.Condition, &properties, &generation, &a.ETag, &created, &changed)
	if err != nil {
		return Assignment{}, err
	}
	if err := json.Unmarshal([]byte(properties), &a); err != nil {
		return Assignment{}, fmt.Errorf("properties of the role assignment %s: %w", a.Name, err)
	}
	if a.ScopeKey == roles.TenantScope {
		a.Subscription = ""
	}
	copy(a.Generation[:], generation)
	a.CreatedOn, a.UpdatedOn = engine.TimeOf(created), engine.TimeOf(changed)
	return a, nil
}

// scope returns the scope of an assignment, without its group.
func (a *Assignment) scope() Scope {
	return Scope{TenantID: a.TenantID, Subscription: a.Subscription, ID: a.ScopeKey}
}

// put stores an assignment, and makes all replicas forget what they remember of its
// subscription.
func (a *Assignment) put(t *transaction.Tx) error {
	properties, err := json.Marshal(a)
	if err != nil {
		return err
	}
	partition := a.scope().partition()
	if err := t.LockScopeChange(partition); err != nil {
		return err
	}
	if err := a.recordChange(t, index.WriteVerb); err != nil {
		return err
	}
	return t.Later(putRoleAssignment, partition, a.ScopeKey, a.Name, a.TenantID, a.PrincipalID, a.RoleDefinition, a.ScopeID,
		a.Condition, string(properties), a.Generation[:], a.ETag, engine.Micros(a.CreatedOn), engine.Micros(a.UpdatedOn))
}

// Assignment returns the assignment at a scope with a name, or ErrNotFound.
func (r *Roles) Assignment(ctx context.Context, at Scope, name string) (Assignment, error) {
	a, err := scanRoleAssignment(r.database.Read(ctx).One(selectRoleAssignment, at.partition(), arm.Fold(at.ID), arm.Fold(name)))
	return a, engine.OrNotFound(err)
}

// PutAssignment creates or changes the assignment with a name, which is a GUID. edit is as
// for the inventory's EditGroup, but always returns an assignment or an error; it sets
// ScopeID, PrincipalID, PrincipalType, RoleDefinition, Description, Condition,
// ConditionVersion, DelegatedManagedIdentity, CreatedBy, UpdatedBy, ETag and Host.
//
// The error is *ExistsError if another assignment grants the same, ErrUpdate if another
// assignment in the subscription has the name, ErrDefinitionNotFound if the role does not
// exist or may not be assigned at the scope, *transaction.QuotaError at the limit of
// assignments, and engine.ErrNotFound if the host does not exist. The subscription and
// the group must admit the change, as for the inventory's Locks.Edit.
func (r *Roles) PutAssignment(
	ctx context.Context, at Scope, name string, edit func(current *Assignment) (*Assignment, error),
) (stored Assignment, created bool, err error) {
	open := func(t *transaction.Tx) (*Assignment, error) { return at.openAssignment(t, name, false) }
	return transaction.Edit(ctx, r.database, at.lockSet(), open, edit, func(t *transaction.Tx, current *Assignment, a Assignment) (Assignment, error) {
		a.TenantID, a.Subscription, a.ScopeKey, a.Name = arm.Fold(at.TenantID), arm.Fold(at.Subscription), arm.Fold(at.ID), arm.Fold(name)
		a.PrincipalID, a.RoleDefinition = principalKey(a.PrincipalID), arm.Fold(a.RoleDefinition)
		a.Generation, a.CreatedOn, a.UpdatedOn = engine.NewID(), t.Now, t.Now
		if a.Host != "" { // its removal removes the assignments at it
			if err := t.Scopes.LockResource(a.Subscription, a.Host); err != nil {
				return a, err
			}
		}
		switch {
		case current == nil:
			if err := r.checkNew(t, a, at.quota(r.limits)); err != nil {
				return a, err
			}
		case current.PrincipalID != a.PrincipalID || current.RoleDefinition != a.RoleDefinition:
			return a, ErrUpdate
		default:
			a.CreatedOn, a.CreatedBy = current.CreatedOn, current.CreatedBy
		}
		err := a.put(t)
		return a, err
	})
}

// openAssignment locks the scope and returns the present assignment, nil if there is none.
func (at Scope) openAssignment(t *transaction.Tx, name string, deletes bool) (*Assignment, error) {
	if err := at.lock(t, deletes); err != nil {
		return nil, err
	}
	current, err := scanRoleAssignment(t.One(selectRoleAssignment, at.partition(), arm.Fold(at.ID), arm.Fold(name)))
	if err := engine.OrNotFound(err); errors.Is(err, engine.ErrNotFound) {
		return nil, nil
	}
	return &current, err
}

// checkNew returns the errors of PutAssignment for a new assignment. All changes of
// assignments in a subscription, or at a tenant, lock the same row, so no two are checked at
// once.
func (r *Roles) checkNew(t *transaction.Tx, a Assignment, limit transaction.QuotaError) error {
	partition := a.scope().partition()
	taken := false
	if err := t.One(roleAssignmentNamed, partition, a.Name)(&taken); err != nil {
		return fmt.Errorf("check the name of an assignment: %w", err)
	}
	if taken {
		return ErrUpdate
	}
	exists := &ExistsError{}
	err := engine.OrNotFound(t.One(sameRoleAssignment, partition, a.PrincipalID, a.RoleDefinition, a.ScopeKey)(&exists.Name))
	switch {
	case err == nil:
		return exists
	case !errors.Is(err, engine.ErrNotFound):
		return err
	}
	if err := r.lockAssignable(t, a); err != nil || limit.Limit <= 0 {
		return err
	}
	if err := t.One(countRoleAssignments, partition, limit.Limit)(&limit.Current); err != nil || limit.Current < limit.Limit {
		return err
	}
	return &limit
}

// quota returns the limit for the number of assignments at the scope.
func (at Scope) quota(l Limits) transaction.QuotaError {
	if at.Subscription == "" {
		return transaction.QuotaError{Kind: transaction.QuotaTenantRoleAssignments, Limit: l.PerTenant}
	}
	return transaction.QuotaError{Kind: transaction.QuotaRoleAssignments, Limit: l.PerSubscription}
}

// DeleteAssignment removes an assignment, if check accepts it. It returns engine.ErrNotFound
// if there is none. The subscription and the group must admit the change.
func (r *Roles) DeleteAssignment(ctx context.Context, at Scope, name string, check func(Assignment) error) error {
	open := func(t *transaction.Tx) (*Assignment, error) { return at.openAssignment(t, name, true) }
	return transaction.Remove(ctx, r.database, at.lockSet(), open, check, func(t *transaction.Tx, current Assignment) error {
		if err := t.LockScopeChange(at.partition()); err != nil {
			return err
		}
		if err := current.recordChange(t, index.DeleteVerb); err != nil {
			return err
		}
		return t.Later(deleteRoleAssignment, at.partition(), current.ScopeKey, current.Name)
	})
}

func (a *Assignment) recordChange(t *transaction.Tx, verb string) error {
	const typ = "Microsoft.Authorization/roleAssignments"
	return t.RecordOwn(a.scope().partition(), events.Payload{
		Resource: ID(a.ScopeID, a.Name), Action: typ + verb, Status: events.Succeeded, ETag: a.ETag,
	})
}
