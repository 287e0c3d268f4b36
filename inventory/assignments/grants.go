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
	"fmt"
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
	grantsOf = `SELECT tenant, scope, scope_id, name, role FROM role_assignments WHERE subscription = ? AND condition = ''`
	atMost   = ` LIMIT ?`
	rolesOf  = `SELECT ` + definitionColumns + ` FROM role_definitions WHERE subscription = ?`
)

const scopeGeneration = `SELECT generation FROM scope_changes WHERE subscription = ?`

// grantedSubscriptions ends with which principals; see [engine.Among].
const (
	grantedSubscriptions = `SELECT DISTINCT subscription FROM role_assignments WHERE tenant = ? AND subscription > ? AND condition = ''`
	subscriptionOrder    = ` ORDER BY subscription LIMIT ?`
)

// few is how many assignments of a caller in one partition are read to answer for a single
// scope. Of a caller with more, those at the scope and above are read.
const few = 256

// groupsPerQuery bounds the groups of a caller that count, in the order of their ids,
// because one statement names them all. Tokens of common issuers name 200 at most.
const groupsPerQuery = engine.AmongAtOnce - 1

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
// reads the store, and takes as long as they are many.
func (r *Roles) Grants(ctx context.Context, tenant, subscription string, who access.Principal) (roles.Grants, error) {
	return r.grantsThat(ctx, tenant, subscription, who, "", nil)
}

// GrantsAt is Grants for a question at one scope, in any casing. However many grants the
// caller has, it reads few.
func (r *Roles) GrantsAt(ctx context.Context, tenant, subscription string, who access.Principal, scope string) (roles.Held, error) {
	held, err := r.FewGrants(ctx, tenant, subscription, who)
	if err == nil && !held.Whole {
		held.Grants, err = r.GrantsAbove(ctx, tenant, subscription, who, scope)
	}
	return held, err
}

// FewGrants is Grants for a caller with few of them. Of one with many it returns none, not
// Whole.
func (r *Roles) FewGrants(ctx context.Context, tenant, subscription string, who access.Principal) (roles.Held, error) {
	found, most, err := r.assignedTo(ctx, tenant, subscription, who, atMost, []any{few + 1})
	if err != nil || most > few {
		return roles.Held{}, err
	}
	granted, err := r.grants(ctx, tenant, found)
	return roles.Held{Grants: granted, Whole: err == nil}, err
}

// GrantsAbove returns those of a caller's grants that are at a scope, in any casing, or
// above it.
func (r *Roles) GrantsAbove(ctx context.Context, tenant, subscription string, who access.Principal, scope string) (roles.Grants, error) {
	condition, args := engine.Among("scope", roles.Above(scope), arm.Fold)
	return r.grantsThat(ctx, tenant, subscription, who, condition, args)
}

// grantsThat returns those of a caller's grants that fulfil a further condition.
func (r *Roles) grantsThat(ctx context.Context, tenant, subscription string, who access.Principal, further string, with []any) (roles.Grants, error) {
	found, _, err := r.assignedTo(ctx, tenant, subscription, who, further, with)
	if err != nil {
		return nil, err
	}
	return r.grants(ctx, tenant, found)
}

// assignedTo returns the assignments to a caller in a subscription and at the tenant that
// fulfil a further condition, and how many rows the partition with most of them has.
func (r *Roles) assignedTo(
	ctx context.Context, tenant, subscription string, who access.Principal, further string, with []any,
) (found []assigned, most int, err error) {
	partitions := Partitions(tenant, subscription)
	condition, ids := engine.Among("principal", principals(who), principalKey)
	rows := make([]int, len(partitions))
	var queries []engine.Lookup
	for i, partition := range partitions {
		queries = append(queries, engine.Lookup{
			Request: engine.Request{Statement: grantsOf + condition + further, Args: slices.Concat([]any{partition}, ids, with)},
			Row: func(scan engine.Scanner) error {
				rows[i]++
				a, err := scanAssigned(scan)
				if a.tenant == arm.Fold(tenant) {
					found = append(found, a)
				}
				return err
			},
		})
	}
	err = r.database.LookUp(ctx, queries...)
	return found, slices.Max(rows), err
}

// Partitions returns the texts under which the assignments at a tenant are stored, and those
// in a subscription unless that is "". The change sequence has a row for each.
func Partitions(tenant, subscription string) []string {
	partitions := []string{memory.TenantPartition(tenant)}
	if subscription != "" {
		partitions = append(partitions, arm.Fold(subscription))
	}
	return partitions
}

// Generations returns what every change of a caller's grants changes: the generations of
// the [Partitions] in the change sequence. What was read after them holds
// as long as they stand.
func (r *Roles) Generations(ctx context.Context, tenant, subscription string) (generations [2][16]byte, err error) {
	var queries []engine.Lookup
	for i, partition := range Partitions(tenant, subscription) {
		queries = append(queries, engine.LookupOf(scopeGeneration, func(g []byte) { copy(generations[i][:], g) }, engine.ScanOne[[]byte], partition))
	}
	err = r.database.LookUp(ctx, queries...)
	return generations, err
}

// grants returns what assignments grant, in order.
func (r *Roles) grants(ctx context.Context, tenant string, found []assigned) (roles.Grants, error) {
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
		if len(ids) > groupsPerQuery {
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
		found, err := engine.Collect(r.database.Read(ctx), scanRoleDefinition(tenant), rolesOf+condition,
			append([]any{memory.TenantPartition(tenant)}, args...)...)
		if err != nil {
			return nil, fmt.Errorf("read the roles of assignments: %w", err)
		}
		for _, d := range found {
			known[d.ID] = namedRole{roles.Compile(d.Definition), &d.Definition}
		}
	}
	return known, nil
}
