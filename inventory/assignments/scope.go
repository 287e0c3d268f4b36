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

// check returns an error, which is a fault of the caller, unless the scope lies in what is
// said to hold it.
func (at Scope) check() error {
	holder := subscriptionID(arm.Fold(at.Subscription))
	if at.Subscription == "" && at.ID == roles.TenantScope || at.Subscription != "" && (arm.EqualFold(at.ID, holder) || strings.HasPrefix(arm.Fold(at.ID), holder+"/")) {
		return nil
	}
	return fmt.Errorf("inventory: the scope %q does not lie in the subscription %q", at.ID, at.Subscription)
}

// lockSet is that of a write about what is assigned at the scope.
func (at Scope) lockSet() engine.LockSet {
	switch {
	case at.Subscription == "":
		return tenantLocks(at.TenantID)
	case at.Group == "":
		return transaction.SubscriptionLocks(at.Subscription)
	}
	return transaction.NewGroupLocks(at.Subscription, at.Group)
}

// tenantLocks are those of a write about what belongs to a tenant, which calls lockTenant.
func tenantLocks(tenant string) engine.LockSet {
	return engine.LockSet{Partition: memory.TenantPartition(tenant)}
}

// lockTenant lets one transaction at a time change what belongs to a tenant. A tenant
// has no row of its own but that in the change sequence. Whoever removes a resource takes
// the row in the change sequence before those of assignments too.
func lockTenant(t *transaction.Tx, tenant string) error {
	return t.LockScopeChange(memory.TenantPartition(tenant))
}

// open locks what holds a scope, after that admits the write: the subscription's row for
// every one, so that one at a time counts and compares its assignments.
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

// Removals are the places that have gone in a transaction: what is assigned there goes at
// its end.
type Removals []place

type place struct{ subscription, scope string }

// Add removes what is assigned at what has gone, and below it. Nearly always that is
// nothing, and what others remember of the subscription then stands.
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

// Complete does what Add has put off, behind the changes of scopes. It first records that
// roles change, if there is anything to remove: no one waits for the answer.
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
				t.ChangesScope(of.subscription) // here, once it is committed
				return nil
			},
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// RemoveAll removes what is assigned in a subscription that another tenant takes over:
// principals and roles are those of a tenant.
func RemoveAll(t *transaction.Tx, sub string) error {
	if err := t.LockScopeChange(sub); err != nil {
		return err
	}
	return t.Later(deleteRoleAssignments, sub)
}

// Move moves what is assigned at a scope of a subscription, and below it. move says where
// an assignment is from then on.
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
		return err
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
