package inventory

import (
	"fmt"
	"slices"
	"strings"

	"portico/access/roles"
	"portico/arm"
	"portico/inventory/engine"
	"portico/inventory/scopes"
	"portico/inventory/transaction"
)

// RoleScope is a scope at which roles are assigned. Ids may have any casing.
type RoleScope struct {
	TenantID string
	// Subscription and Group hold the scope; both are "" for the tenant itself.
	Subscription, Group string
	// ID is that of the scope, roles.TenantScope for the tenant.
	ID string
}

func (at RoleScope) partition() string {
	if at.Subscription == "" {
		return scopes.OfTenant(at.TenantID)
	}
	return arm.Fold(at.Subscription)
}

// check returns an error, which is a fault of the caller, unless the scope lies in what is
// said to hold it.
func (at RoleScope) check() error {
	holder := subscriptionScope(arm.Fold(at.Subscription))
	if at.Subscription == "" && at.ID == roles.TenantScope || at.Subscription != "" && (arm.EqualFold(at.ID, holder) || strings.HasPrefix(arm.Fold(at.ID), holder+"/")) {
		return nil
	}
	return fmt.Errorf("inventory: the scope %q does not lie in the subscription %q", at.ID, at.Subscription)
}

// lockSet is that of a write about what is assigned at the scope.
func (at RoleScope) lockSet() engine.LockSet {
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
	return engine.LockSet{Partition: scopes.OfTenant(tenant)}
}

// lockTenant lets one transaction at a time change what belongs to a tenant. A tenant
// has no row of its own but that in the change sequence.
func (t *tx) lockTenant(tenant string) error { return t.LockScopeChange(scopes.OfTenant(tenant)) }

// openRoleScope locks what holds a scope, after that admits the write: the subscription's
// row for every one, so that one at a time counts and compares its assignments.
func (t *tx) openRoleScope(at RoleScope, deletes bool) error {
	if err := at.check(); err != nil {
		return err
	}
	if at.Subscription == "" {
		return t.lockTenant(at.TenantID)
	}
	sub, err := t.openSubscription(arm.Fold(at.Subscription), deletes)
	switch {
	case err != nil:
		return err
	case sub.TenantID != arm.Fold(at.TenantID):
		return ErrSubscriptionNotFound
	case at.Group == "":
		return nil
	}
	return t.OpenGroup(at.Subscription, at.Group, deletes)
}

const (
	deleteRoleAssignments    = `DELETE FROM role_assignments WHERE subscription = ?`
	deleteRoleAssignmentsAt  = `DELETE FROM role_assignments WHERE subscription = ? AND (scope = ? OR scope >= ? AND scope < ?)`
	removeRoleAssignmentsAt  = deleteRoleAssignmentsAt + ` RETURNING name`
	changeScopeOfAssignments = `UPDATE scope_changes SET generation = ?, changed = ?
		WHERE subscription = ? AND EXISTS (SELECT 1 FROM role_assignments WHERE subscription = ? AND (scope = ? OR scope >= ? AND scope < ?))`
)

// dropRolesAt removes what is assigned at what has gone, and below it. Nearly always that
// is nothing, and what others remember of the subscription then stands.
func (t *tx) dropRolesAt(sub, scope string) error {
	if t.Isolated() && !t.Proves() {
		from, to := engine.Below(scope)
		n, err := t.Exec(deleteRoleAssignmentsAt, sub, scope, from, to)
		if n > 0 {
			t.ChangesScope(sub)
		}
		return err
	}
	t.MarkChanged()
	t.unassigned = append(t.unassigned, resourceOf{sub, scope})
	return nil
}

// dropRolesIn removes what is assigned in a subscription that another tenant takes over:
// principals and roles are those of a tenant.
func (t *tx) dropRolesIn(sub string) error {
	if err := t.LockScopeChange(sub); err != nil {
		return err
	}
	return t.Later(deleteRoleAssignments, sub)
}

// recordDrops records that roles change, if there is anything to remove: nobody waits for
// the answer.
func (t *tx) recordDrops() error {
	slices.SortFunc(t.unassigned, func(a, b resourceOf) int { return strings.Compare(a.key, b.key) })
	for _, of := range t.unassigned {
		from, to := engine.Below(of.key)
		generation := engine.NewID()
		err := t.Later(changeScopeOfAssignments, generation[:], engine.Micros(t.Now), of.subscription, of.subscription, of.key, from, to)
		if err != nil {
			return err
		}
	}
	return nil
}

// dropRoles does what dropRolesAt has put off.
func (t *tx) dropRoles() error {
	for _, of := range t.unassigned {
		from, to := engine.Below(of.key)
		err := t.LookUpLater(engine.Lookup{
			Request: engine.Request{Statement: removeRoleAssignmentsAt, Args: []any{of.subscription, of.key, from, to}},
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
