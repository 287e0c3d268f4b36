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

// Scope is a scope at which roles are assigned. Ids may have any casing.
type Scope struct {
	TenantID string
	// Subscription and Group hold the scope; both are "" for the tenant itself.
	Subscription, Group string
	// ID is that of the scope, roles.TenantScope for the tenant.
	ID string
}

func (at Scope) partition() string {
	if at.Subscription == "" {
		return memory.TenantPartition(at.TenantID)
	}
	return arm.Fold(at.Subscription)
}

// check returns an error unless the scope lies in its subscription and group. The error is
// a fault of the calling code.
func (at Scope) check() error {
	holder := subscriptionID(arm.Fold(at.Subscription))
	if at.Subscription == "" && at.ID == roles.TenantScope ||
		at.Subscription != "" && (arm.EqualFold(at.ID, holder) || strings.HasPrefix(arm.Fold(at.ID), holder+"/")) {
		return nil
	}
	return fmt.Errorf("inventory: the scope %q does not lie in the subscription %q", at.ID, at.Subscription)
}

// lockSet returns the locks of a write that changes assignments at the scope.
func (at Scope) lockSet() engine.LockSet {
	switch {
	case at.Subscription == "":
		return tenantLocks(at.TenantID)
	case at.Group == "":
		return transaction.SubscriptionLocks(at.Subscription)
	}
	return transaction.NewGroupLocks(at.Subscription, at.Group)
}

// tenantLocks are those of a write to a tenant's records, which calls lockTenant.
func tenantLocks(tenant string) engine.LockSet {
	return engine.LockSet{Partition: memory.TenantPartition(tenant)}
}

// lockTenant lets one transaction at a time change a tenant's records. A tenant's only
// row is that in the change sequence. The removal of a resource also takes that row
// before those of assignments.
func lockTenant(t *transaction.Tx, tenant string) error {
	return t.LockScopeChange(memory.TenantPartition(tenant))
}

// open checks that the holder of a scope admits the write, and locks it. It always locks
// the subscription's row, so that one transaction at a time counts and compares the
// assignments.
func (at Scope) open(t *transaction.Tx, deletes bool) error {
	if err := at.check(); err != nil {
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

// Removals are the scopes that a transaction removed: it removes their assignments at its
// end.
type Removals []place

type place struct{ subscription, scope string }

// Add schedules the removal of the assignments at a removed scope and below it. Nearly
// always there are none, and the replicas' memory of the subscription then stays valid.
func (r *Removals) Add(t *transaction.Tx, sub, scope string) error {
	if t.Isolated() && !t.Proves() {
		from, to := engine.Below(scope)
		n, err := t.Exec(deleteRoleAssignmentsAt, sub, scope, from, to)
		if n > 0 {
			t.ChangesScope(sub)
		}
		return err
	}
	t.MarkChanged()
	*r = append(*r, place{sub, scope})
	return nil
}

// Complete removes the assignments that Add scheduled, after the changes of scopes. If
// there is anything to remove, it first records that roles change, without waiting for
// the database's answer.
func (r Removals) Complete(t *transaction.Tx) error {
	slices.SortFunc(r, func(a, b place) int { return strings.Compare(a.scope, b.scope) })
	for _, of := range r {
		from, to := engine.Below(of.scope)
		generation := engine.NewID()
		err := t.Later(changeScopeOfAssignments, generation[:], engine.Micros(t.Now), of.subscription, of.subscription, of.scope, from, to)
		if err != nil {
			return err
		}
	}
	for _, of := range r {
		from, to := engine.Below(of.scope)
		err := t.LookUpLater(engine.Lookup{
			Request: engine.Request{Statement: removeRoleAssignmentsAt, Args: []any{of.subscription, of.scope, from, to}},
			Row: func(engine.Scanner) error {
				t.ChangesScope(of.subscription) // takes effect once the transaction is committed
				return nil
			},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// RemoveAll removes the assignments in a subscription that another tenant takes over,
// because principals and roles belong to a tenant.
func RemoveAll(t *transaction.Tx, sub string) error {
	if err := t.LockScopeChange(sub); err != nil {
		return err
	}
	return t.Later(deleteRoleAssignments, sub)
}

// Move moves the assignments at a scope of a subscription and below it. move returns the
// new scope of an assignment.
func Move(t *transaction.Tx, sub, scope string, move func(*Assignment)) error {
	first, last := engine.Below(scope)
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
