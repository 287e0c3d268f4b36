package inventory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"portico/access/roles"
	"portico/arm"
	"portico/inventory/engine"
	"portico/inventory/transaction"
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

// RoleAssignment gives a role to a principal at a scope, and at all that lies below.
type RoleAssignment struct {
	TenantID     string // folded
	Subscription string // folded; "" at the tenant
	ScopeKey     string // the folded id of the scope
	ScopeID      string // the id as the latest PUT wrote it
	Name         string // a GUID in lower case

	PrincipalID    string // an object id, in lower case if it is a GUID
	PrincipalType  string
	RoleDefinition string // the GUID of the definition, in lower case
	Description    string
	// An assignment with a condition grants nothing: conditions are not judged.
	Condition, ConditionVersion string
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

// assignmentProperties are those that no statement looks at.
type assignmentProperties struct {
	PrincipalType            string `json:"principalType,omitempty"`
	Description              string `json:"description,omitempty"`
	ConditionVersion         string `json:"conditionVersion,omitempty"`
	DelegatedManagedIdentity string `json:"delegatedManagedIdentity,omitempty"`
	CreatedBy                string `json:"createdBy,omitempty"`
	UpdatedBy                string `json:"updatedBy,omitempty"`
}

const (
	assignmentColumns = `subscription, scope, name, tenant, principal, role, scope_id, only_if, properties, generation, etag, created, changed`

	selectRoleAssignment = `SELECT ` + assignmentColumns + ` FROM role_assignments WHERE subscription = ? AND scope = ? AND name = ?`
	putRoleAssignment    = `INSERT INTO role_assignments (` + assignmentColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (subscription, scope, name) DO UPDATE SET scope_id = excluded.scope_id, only_if = excluded.only_if,
			properties = excluded.properties, generation = excluded.generation, etag = excluded.etag, changed = excluded.changed`
	deleteRoleAssignment = `DELETE FROM role_assignments WHERE subscription = ? AND scope = ? AND name = ?`
	roleAssignmentNamed  = `SELECT EXISTS (SELECT 1 FROM role_assignments WHERE subscription = ? AND name = ?)`
	sameRoleAssignment   = `SELECT name FROM role_assignments WHERE subscription = ? AND principal = ? AND role = ? AND scope = ? LIMIT 1`
	countRoleAssignments = `SELECT COUNT(*) FROM (SELECT name FROM role_assignments WHERE subscription = ? LIMIT ?) AS counted`
)

func scanRoleAssignment(scan engine.Scanner) (RoleAssignment, error) {
	var (
		a                RoleAssignment
		properties       string
		generation       []byte
		created, changed int64
	)
	err := scan(&a.Subscription, &a.ScopeKey, &a.Name, &a.TenantID, &a.PrincipalID, &a.RoleDefinition, &a.ScopeID,
		&a.Condition, &properties, &generation, &a.ETag, &created, &changed)
	if err != nil {
		return RoleAssignment{}, err
	}
	var p assignmentProperties
	if err := json.Unmarshal([]byte(properties), &p); err != nil {
		return RoleAssignment{}, fmt.Errorf("properties of the role assignment %s: %w", a.Name, err)
	}
	if a.ScopeKey == roles.TenantScope {
		a.Subscription = ""
	}
	a.PrincipalType, a.Description, a.ConditionVersion = p.PrincipalType, p.Description, p.ConditionVersion
	a.DelegatedManagedIdentity, a.CreatedBy, a.UpdatedBy = p.DelegatedManagedIdentity, p.CreatedBy, p.UpdatedBy
	copy(a.Generation[:], generation)
	a.CreatedOn, a.UpdatedOn = engine.Moment(created), engine.Moment(changed)
	return a, nil
}

// scope is the scope of an assignment, without its group.
func (a *RoleAssignment) scope() RoleScope {
	return RoleScope{TenantID: a.TenantID, Subscription: a.Subscription, ID: a.ScopeKey}
}

// put stores an assignment, and has what is remembered of its subscription forgotten.
func (a *RoleAssignment) put(t *tx) error {
	properties, err := json.Marshal(assignmentProperties{
		a.PrincipalType, a.Description, a.ConditionVersion, a.DelegatedManagedIdentity, a.CreatedBy, a.UpdatedBy,
	})
	if err != nil {
		return err
	}
	partition := a.scope().partition()
	if err := t.LockScopeChange(partition); err != nil {
		return err
	}
	if err := t.recordRoleAssignment(a, writeVerb); err != nil {
		return err
	}
	return t.Later(putRoleAssignment, partition, a.ScopeKey, a.Name, a.TenantID, a.PrincipalID, a.RoleDefinition, a.ScopeID,
		a.Condition, string(properties), a.Generation[:], a.ETag, engine.Micros(a.CreatedOn), engine.Micros(a.UpdatedOn))
}

// RoleAssignment returns the assignment at a scope with a name, or ErrNotFound.
func (s *Store) RoleAssignment(ctx context.Context, at RoleScope, name string) (RoleAssignment, error) {
	a, err := scanRoleAssignment(s.read(ctx).One(selectRoleAssignment, at.partition(), arm.Fold(at.ID), arm.Fold(name)))
	return a, engine.OrNotFound(err)
}

// PutRoleAssignment creates or changes the assignment with a name, a GUID. edit is as
// for [Store.EditGroup], but always returns an assignment or an error; it decides on
// ScopeID, PrincipalID, PrincipalType, RoleDefinition, Description, Condition,
// ConditionVersion, DelegatedManagedIdentity, CreatedBy, UpdatedBy, ETag and Host.
//
// *RoleAssignmentExistsError where another assignment grants the same,
// ErrRoleAssignmentUpdate where the name stands for another grant in the subscription,
// ErrRoleDefinitionNotFound without a role in the tenant that may be assigned there,
// *transaction.QuotaError where there are all the assignments that there may be. ErrNotFound if the
// host does not exist; the subscription and the group must admit the change, as for
// [Store.EditLock].
func (s *Store) PutRoleAssignment(ctx context.Context, at RoleScope, name string, edit func(current *RoleAssignment) (*RoleAssignment, error)) (stored RoleAssignment, created bool, err error) {
	result, err := commit(ctx, s, engine.Flushed, at.lockSet(), func(t *tx) (put[RoleAssignment], error) {
		current, err := t.openRoleAssignment(at, name, false)
		if err != nil {
			return put[RoleAssignment]{}, err
		}
		wanted, err := edit(current)
		if err != nil {
			return put[RoleAssignment]{}, err
		}
		a := *wanted
		a.TenantID, a.Subscription, a.ScopeKey, a.Name = arm.Fold(at.TenantID), arm.Fold(at.Subscription), arm.Fold(at.ID), arm.Fold(name)
		a.PrincipalID, a.RoleDefinition = principalKey(a.PrincipalID), arm.Fold(a.RoleDefinition)
		a.Generation, a.CreatedOn, a.UpdatedOn = engine.NewID(), t.Now, t.Now
		if a.Host != "" { // whoever removes it removes what is assigned at it
			if _, err := loadResource(t, lockResourceRow, a.Subscription, a.Host); err != nil {
				return put[RoleAssignment]{}, err
			}
		}
		switch {
		case current == nil:
			if err := t.checkNewAssignment(a, at.limit(s.options.Limits)); err != nil {
				return put[RoleAssignment]{}, err
			}
		case current.PrincipalID != a.PrincipalID || current.RoleDefinition != a.RoleDefinition:
			return put[RoleAssignment]{}, ErrRoleAssignmentUpdate
		default:
			a.CreatedOn, a.CreatedBy = current.CreatedOn, current.CreatedBy
		}
		return put[RoleAssignment]{stored: a, created: current == nil}, a.put(t)
	})
	return result.stored, result.created, err
}

// openRoleAssignment opens the scope and returns the present assignment, nil where there
// is none.
func (t *tx) openRoleAssignment(at RoleScope, name string, deletes bool) (*RoleAssignment, error) {
	if err := t.openRoleScope(at, deletes); err != nil {
		return nil, err
	}
	current, err := scanRoleAssignment(t.One(selectRoleAssignment, at.partition(), arm.Fold(at.ID), arm.Fold(name)))
	if err := engine.OrNotFound(err); errors.Is(err, ErrNotFound) {
		return nil, nil
	}
	return &current, err
}

// checkNewAssignment refuses what PutRoleAssignment says. Whoever assigns something in
// the subscription, or at the tenant, holds the same row.
func (t *tx) checkNewAssignment(a RoleAssignment, limit transaction.QuotaError) error {
	partition := a.scope().partition()
	taken := false
	if err := t.One(roleAssignmentNamed, partition, a.Name)(&taken); err != nil {
		return err
	}
	if taken {
		return ErrRoleAssignmentUpdate
	}
	exists := &RoleAssignmentExistsError{}
	err := engine.OrNotFound(t.One(sameRoleAssignment, partition, a.PrincipalID, a.RoleDefinition, a.ScopeKey)(&exists.Name))
	switch {
	case err == nil:
		return exists
	case !errors.Is(err, ErrNotFound):
		return err
	}
	if err := t.holdAssignableRole(a); err != nil || limit.Limit <= 0 {
		return err
	}
	if err := t.One(countRoleAssignments, partition, limit.Limit)(&limit.Current); err != nil || limit.Current < limit.Limit {
		return err
	}
	return &limit
}

// limit is how many assignments there may be where the scope lies.
func (at RoleScope) limit(l Limits) transaction.QuotaError {
	if at.Subscription == "" {
		return transaction.QuotaError{Kind: transaction.QuotaTenantRoleAssignments, Limit: l.RoleAssignmentsPerTenant}
	}
	return transaction.QuotaError{Kind: transaction.QuotaRoleAssignments, Limit: l.RoleAssignmentsPerSubscription}
}

// DeleteRoleAssignment removes an assignment that check accepts. ErrNotFound where there
// is none; otherwise it refuses like PutRoleAssignment.
func (s *Store) DeleteRoleAssignment(ctx context.Context, at RoleScope, name string, check func(RoleAssignment) error) error {
	return s.write(ctx, engine.Flushed, at.lockSet(), func(t *tx) error {
		current, err := t.openRoleAssignment(at, name, true)
		if err != nil {
			return err
		}
		if current == nil {
			return ErrNotFound
		}
		if err := check(*current); err != nil {
			return err
		}
		if err := t.LockScopeChange(at.partition()); err != nil {
			return err
		}
		if err := t.recordRoleAssignment(current, deleteVerb); err != nil {
			return err
		}
		return t.Later(deleteRoleAssignment, at.partition(), current.ScopeKey, current.Name)
	})
}
