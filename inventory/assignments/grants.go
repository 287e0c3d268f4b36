// Package assignments keeps the roles that tenants define, and the assignments of roles
// to principals, at a scope in a subscription or at the tenant. A change of an
// assignment holds the subscription's row, so that names, grants and their number are
// compared one at a time. It also holds the rows of the group and of the resource of its
// scope: the assignment is removed with these, moves with them, and is removed when the
// subscription is given to another tenant. An assignment holds the row of its custom
// role, so a role cannot be removed while it is assigned. Records of a tenant are stored
// like those of a subscription, under a text that no subscription has
// ([memory.TenantPartition]). The change sequence therefore has a row for the tenant, and a
// change locks that row.
package assignments

import (
	"context"
	"slices"

	"portico/access"
	"portico/access/roles"
	"portico/arm"
	"portico/inventory/engine"
	"portico/inventory/memory"
	"portico/inventory/transaction"
)

// The end of these statements says which principals, or which roles: see
// [engine.Among].
const (
	grantsOf = `SELECT tenant, scope, scope_id, name, role FROM role_assignments WHERE subscription = ? AND only_if = ''`
	rolesOf  = `SELECT ` + definitionColumns + ` FROM role_definitions WHERE subscription = ?`
)

// grantedSubscriptions ends with which principals; see [engine.Among].
const (
	grantedSubscriptions = `SELECT DISTINCT subscription FROM role_assignments WHERE tenant = ? AND subscription > ? AND only_if = ''`
	subscriptionOrder    = ` ORDER BY subscription LIMIT ?`
)

// groupsAsked bounds the groups of a caller that count, in the order of their ids,
// because one statement names them all. Tokens of common issuers name 200 at most.
const groupsAsked = engine.AmongAtOnce - 1

// assigned is an assignment as a caller's grants need it.
type assigned struct{ tenant, scope, scopeID, name, role string }

func scanAssigned(scan engine.Scanner) (a assigned, err error) {
	err = scan(&a.tenant, &a.scope, &a.scopeID, &a.name, &a.role)
	return a, err
}

// Roles are the roles of a database, and their assignments.
type Roles struct {
	database *transaction.Database
	limits   Limits
	builtIn  map[string]*roles.Role // by their ids
}

// Limits bound the assignments and definitions; 0 means no bound. PerTenant bounds the
// assignments at the tenant itself.
type Limits struct{ PerSubscription, PerTenant, DefinitionsPerTenant int }

// New returns the roles of a database.
func New(d *transaction.Database, l Limits) *Roles {
	r := &Roles{database: d, limits: l, builtIn: map[string]*roles.Role{}}
	for _, built := range roles.BuiltIn() {
		r.builtIn[built.ID] = roles.Compile(built)
	}
	return r
}

// Grants returns a caller's grants, by its object id and its groups, at, above and below
// a subscription of a tenant; subscription "" selects the grants at the tenant alone. It
// reads the store.
func (r *Roles) Grants(ctx context.Context, tenant, subscription string, who access.Principal) (roles.Grants, error) {
	partitions := []string{memory.TenantPartition(tenant)}
	if subscription != "" {
		partitions = append(partitions, arm.Fold(subscription))
	}
	condition, ids := engine.Among("principal", principals(who), principalKey)
	var found []assigned
	var queries []engine.Lookup
	for _, partition := range partitions {
		queries = append(queries, engine.Lookup{
			Request: engine.Request{Statement: grantsOf + condition, Args: append([]any{partition}, ids...)},
			Row: func(scan engine.Scanner) error {
				a, err := scanAssigned(scan)
				if a.tenant == arm.Fold(tenant) {
					found = append(found, a)
				}
				return err
			},
		})
	}
	if err := r.database.LookUp(ctx, queries...); err != nil {
		return nil, err
	}
	known, err := r.rolesNamed(ctx, tenant, found)
	if err != nil {
		return nil, err
	}
	var granted roles.Grants
	for _, a := range found {
		if of, ok := known[a.role]; ok && of.countsAt(a.scope) {
			granted = append(granted, roles.Grant{Scope: a.scope, Role: of.role, Assignment: ID(a.scopeID, a.name)})
		}
	}
	granted.Sort()
	return granted, nil
}

// Subscriptions lists at most limit subscriptions of a tenant in which a role is assigned
// to a caller, in the order of their ids, after one of them.
func (r *Roles) Subscriptions(ctx context.Context, tenant string, who access.Principal, after string, limit int) ([]string, error) {
	condition, ids := engine.Among("principal", principals(who), principalKey)
	args := append([]any{arm.Fold(tenant), after}, ids...)
	return engine.Collect(r.database.Read(ctx), engine.ScanOne[string], grantedSubscriptions+condition+subscriptionOrder, append(args, limit)...)
}

// subscriptionID is the id of a subscription.
func subscriptionID(sub string) string { return "/subscriptions/" + sub }

// ID is the id of an assignment.
func ID(scope, name string) string {
	if scope == roles.TenantScope {
		scope = ""
	}
	return scope + "/providers/Microsoft.Authorization/roleAssignments/" + name
}

// principals returns the ids under which roles may be assigned to a caller.
func principals(who access.Principal) []string {
	ids := []string{who.ObjectID}
	for id := range who.Groups.All() {
		if len(ids) > groupsAsked {
			break
		}
		ids = append(ids, id)
	}
	return ids
}

// namedRole is the role of an assignment.
type namedRole struct {
	role   *roles.Role
	custom *roles.Definition // nil for one that is built in
}

// countsAt reports whether an assignment at a folded scope grants the role. A role that
// is not assignable there, or no longer is, or came there by a move, allows nothing: a
// caller who may change the role may have no rights at that scope.
func (n namedRole) countsAt(scope string) bool {
	return n.custom == nil || n.custom.AssignableAt(scope)
}

// rolesNamed returns the roles of assignments by their ids. A definition that does not
// exist allows nothing.
func (r *Roles) rolesNamed(ctx context.Context, tenant string, in []assigned) (map[string]namedRole, error) {
	known := map[string]namedRole{}
	var custom []string
	for _, a := range in {
		switch role := r.builtIn[a.role]; {
		case role != nil:
			known[a.role] = namedRole{role: role}
		case !slices.Contains(custom, a.role):
			custom = append(custom, a.role)
		}
	}
	for ids := range slices.Chunk(custom, engine.AmongAtOnce) {
		condition, args := engine.Among("id", ids, arm.Fold)
		found, err := engine.Collect(r.database.Read(ctx), scanRoleDefinition(tenant), rolesOf+condition, append([]any{memory.TenantPartition(tenant)}, args...)...)
		if err != nil {
			return nil, err
		}
		for _, d := range found {
			known[d.ID] = namedRole{roles.Compile(d.Definition), &d.Definition}
		}
	}
	return known, nil
}
