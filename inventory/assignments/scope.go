package assignments

import (
	"fmt"
	"slices"
	"strings"

	"portico/access/roles"
	"portico/arm"
	"portico/inventory/engine"
	"portico/inventory/memory"
	"portico/inventory/transaction"
)

// Scope is a scope of role assignments. Ids may have any casing.
type Scope struct {
	TenantID string
	// Subscription and Group contain the scope; both are "" for the tenant itself.
	Subscription, Group string
	// ID is the scope's id, roles.TenantScope for the tenant.
	ID string
}

func (at Scope) partition() string {
	if at.Subscription == "" {
		return memory.TenantPartition(at.TenantID)
	}
	return arm.Fold(at.Subscription)
}

// validate returns an error unless the scope lies in its subscription. The error is a fault
// of the calling code.
func (at Scope) validate() error {
	holder := subscriptionID(arm.Fold(at.Subscription))
	if at.Subscription == "" && at.ID == roles.TenantScope ||
		at.Subscription != "" && (arm.EqualFold(at.ID, holder) || strings.HasPrefix(arm.Fold(at.ID), holder+"/")) {
		return nil
	}
	return fmt.Errorf("inventory: the scope %q does not lie in the subscription %q", at.ID, at.Subscription)
}

// lockSet returns the lock set of a write that changes assignments at the scope.
func (at Scope) lockSet() engine.LockSet {
	switch {
	case at.Subscription == "":
		return tenantLocks(at.TenantID)
	case at.Group == "":
		return transaction.SubscriptionLocks(at.Subscription)
	}
	return transaction.NewGroupLocks(at.Subscription, at.Group)
}

// tenantLocks returns the lock set of a write that changes a tenant's records. The write
// also has to call lockTenant.
func tenantLocks(tenant string) engine.LockSet {
	return engine.LockSet{Partition: memory.TenantPartition(tenant)}
}

// lockTenant lets one transaction at a time change a tenant's records. It locks the row in
// the change sequence, the only row that a tenant has. The removal of a resource also locks
// such a row before the rows of assignments.
func lockTenant(t *transaction.Tx, tenant string) error {
	return t.LockScopeChange(memory.TenantPartition(tenant))
}

// lock locks the tenant, or the subscription and the group, of a scope, and returns an error
// unless they admit the write. It always locks the subscription's row, so that one
// transaction at a time counts and compares the assignments.
func (at Scope) lock(t *transaction.Tx, deletes bool) error {
	if err := at.validate(); err != nil {
		return err
	}
	if at.Subscription == "" {
		return lockTenant(t, at.TenantID)
	}
	if err := t.Scopes.OpenSubscription(arm.Fold(at.Subscription), arm.Fold(at.TenantID), deletes); err != nil || at.Group == "" {
		return err
	}
	return t.Scopes.OpenGroup(at.Subscription, at.Group, deletes)
}

const (
	deleteRoleAssignments    = `DELETE FROM role_assignments WHERE subscription = ?`
	deleteRoleAssignmentsAt  = `DELETE FROM role_assignments WHERE subscription = ? AND (scope = ? OR scope >= ? AND scope < ?)`
	removeRoleAssignmentsAt  = deleteRoleAssignmentsAt + ` RETURNING name`
	changeScopeOfAssignments = `UPDATE scope_changes SET generation = ?, changed = ?
		WHERE subscription = ? AND EXISTS (SELECT 1 FROM role_assignments WHERE subscription = ? AND (scope = ? OR scope >= ? AND scope < ?))`
)

// Removals lists the scopes that a transaction removed, to remove their assignments at its
// end.
type Removals []removedScope

type removedScope struct{ subscription, scope string }

// Add schedules the removal of the assignments at a removed scope and below it. If there
// are none, as nearly always, the replicas' memory of the subscription stays valid.
func (r *Removals) Add(t *transaction.Tx, sub, scope string) error {
	if t.Isolated() && !t.Proves() {
		from, to := engine.KeysBelow(scope)
		n, err := t.Exec(deleteRoleAssignmentsAt, sub, scope, from, to)
		if n > 0 {
			t.ChangesScope(sub)
		}
		return err
	}
	t.MarkChanged()
	*r = append(*r, removedScope{sub, scope})
	return nil
}

// Complete removes the assignments that Add scheduled. Before that, its statements record a
// change of the scopes that have any. It does not wait for the database.
func (r Removals) Complete(t *transaction.Tx) error {
	slices.SortFunc(r, func(a, b removedScope) int { return strings.Compare(a.scope, b.scope) })
	for _, of := range r {
		from, to := engine.KeysBelow(of.scope)
		generation := engine.NewID()
		err := t.Later(changeScopeOfAssignments, generation[:], engine.Micros(t.Now), of.subscription, of.subscription, of.scope, from, to)
		if err != nil {
			return err
		}
	}
	for _, of := range r {
		from, to := engine.KeysBelow(of.scope)
		err := t.LookUpLater(engine.Lookup{
			Request: engine.Request{Statement: removeRoleAssignmentsAt, Args: []any{of.subscription, of.scope, from, to}},
			Row: func(engine.Scanner) error {
				t.ChangesScope(of.subscription) // takes effect after the commit
				return nil
			},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// RemoveAll removes the assignments in a subscription that gets another tenant, because
// principals and roles belong to a tenant.
func RemoveAll(t *transaction.Tx, sub string) error {
	if err := t.LockScopeChange(sub); err != nil {
		return err
	}
	return t.Later(deleteRoleAssignments, sub)
}

// Move moves the assignments at a scope of a subscription and below it. move sets the new
// scope of an assignment.
func Move(t *transaction.Tx, sub, scope string, move func(*Assignment)) error {
	first, last := engine.KeysBelow(scope)
	all, err := engine.Collect(t, scanRoleAssignment, roleAssignmentsIn, sub, scope, first, last)
	if err != nil || len(all) == 0 {
		return err
	}
	if err := t.LockScopeChange(sub); err != nil {
		return err
	}
	if _, err := t.Exec(deleteRoleAssignmentsAt, sub, scope, first, last); err != nil {
		return fmt.Errorf("delete the assignments at a scope: %w", err)
	}
	for _, a := range all {
		move(&a)
		a.Generation = engine.NewID()
		if err := a.put(t); err != nil {
			return err
		}
	}
	return nil
}
