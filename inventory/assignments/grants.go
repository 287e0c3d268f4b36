// Package assignments stores the custom roles of tenants, and the assignments of roles to
// principals at a scope in a subscription or at the tenant.
//
// A change of an assignment locks the subscription's row, so that names, grants and their
// number are checked by one transaction at a time. It also locks the group and the resource
// of its scope, because the assignment moves with them and is removed with them. It is also
// removed when the subscription gets another tenant. A new assignment locks its custom role,
// so that a role cannot be deleted while it is assigned.
//
// Records of a tenant are stored like a subscription's, under a text that is no
// subscription's id ([memory.TenantPartition]). A change locks the row that the tenant
// has under that text in the change sequence.
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

// A condition of [engine.Among] for the principals, or the roles, follows these statements.
const (
	selectGrants = `SELECT tenant, scope, scope_id, name, role FROM role_assignments WHERE subscription = ? AND condition = ''`
	limitRows    = ` LIMIT ?`
	selectRoles  = `SELECT ` + definitionColumns + ` FROM role_definitions WHERE subscription = ?`
)

const scopeGeneration = `SELECT generation FROM scope_changes WHERE subscription = ?`

// A condition of [engine.Among] for the principals follows grantedSubscriptions.
const (
	grantedSubscriptions = `SELECT DISTINCT subscription FROM role_assignments WHERE tenant = ? AND subscription > ? AND condition = ''`
	subscriptionOrder    = ` ORDER BY subscription LIMIT ?`
)

// fewAssignments bounds the assignments of a caller in one partition that are all read to
// answer for a single scope. If a caller has more, only the ones at the scope and above are
// read.
const fewAssignments = 256

// groupsPerQuery bounds the groups of a caller that count, in the order of their ids,
// because one statement names them all. Tokens of common issuers name at most 200.
const groupsPerQuery = engine.AmongAtOnce - 1

// assignedRole holds the columns of an assignment that a caller's grants need.
type assignedRole struct{ tenant, scope, scopeID, name, role string }

func scanAssigned(scan engine.Scanner) (a assignedRole, err error) {
	err = scan(&a.tenant, &a.scope, &a.scopeID, &a.name, &a.role)
	return a, err
}

// Roles stores custom roles, and the assignments of roles.
type Roles struct {
	database *transaction.Database
	limits   Limits
	builtIn  map[string]*roles.Role // by their ids
}

// Limits bounds the assignments and definitions; 0 means no bound. PerTenant bounds the
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
// a subscription of a tenant. subscription "" selects only the grants at the tenant. It
// reads all of them from the store, which takes long if there are many.
func (r *Roles) Grants(ctx context.Context, tenant, subscription string, who access.Principal) (roles.Grants, error) {
	return r.grantsWhere(ctx, tenant, subscription, who, "", nil)
}

// GrantsAt returns a caller's grants for a decision at one scope, in any casing. It reads few
// rows, even if the caller has many grants.
func (r *Roles) GrantsAt(ctx context.Context, tenant, subscription string, who access.Principal, scope string) (roles.CallerGrants, error) {
	held, err := r.FewGrants(ctx, tenant, subscription, who)
	if err == nil && !held.Whole {
		held.Grants, err = r.GrantsAbove(ctx, tenant, subscription, who, scope)
	}
	return held, err
}

// FewGrants returns all of a caller's grants, like Grants, if there are few. If there are
// many, it returns none and does not set Whole.
func (r *Roles) FewGrants(ctx context.Context, tenant, subscription string, who access.Principal) (roles.CallerGrants, error) {
	found, most, err := r.assignedTo(ctx, tenant, subscription, who, limitRows, []any{fewAssignments + 1})
	if err != nil || most > fewAssignments {
		return roles.CallerGrants{}, err
	}
	granted, err := r.grants(ctx, tenant, found)
	return roles.CallerGrants{Grants: granted, Whole: err == nil}, err
}

// GrantsAbove returns a caller's grants at a scope, in any casing, and above it.
func (r *Roles) GrantsAbove(ctx context.Context, tenant, subscription string, who access.Principal, scope string) (roles.Grants, error) {
	condition, args := engine.Among("scope", roles.Above(scope), arm.Fold)
	return r.grantsWhere(ctx, tenant, subscription, who, condition, args)
}

// grantsWhere returns a caller's grants, like Grants, that meet a further condition.
func (r *Roles) grantsWhere(ctx context.Context, tenant, subscription string, who access.Principal, further string, with []any) (roles.Grants, error) {
	found, _, err := r.assignedTo(ctx, tenant, subscription, who, further, with)
	if err != nil {
		return nil, err
	}
	return r.grants(ctx, tenant, found)
}

// assignedTo returns the assignments to a caller in a subscription and at the tenant that
// meet a further condition, and the number of rows of the partition with most of them.
func (r *Roles) assignedTo(
	ctx context.Context, tenant, subscription string, who access.Principal, further string, with []any,
) (found []assignedRole, most int, err error) {
	partitions := Partitions(tenant, subscription)
	condition, ids := engine.Among("principal", principals(who), principalKey)
	rows := make([]int, len(partitions))
	var queries []engine.Lookup
	for i, partition := range partitions {
		queries = append(queries, engine.Lookup{
			Request: engine.Request{Statement: selectGrants + condition + further, Args: slices.Concat([]any{partition}, ids, with)},
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

// Partitions returns the partitions of the assignments at a tenant and, unless it is "", in a
// subscription. The change sequence has a row for each.
func Partitions(tenant, subscription string) []string {
	partitions := []string{memory.TenantPartition(tenant)}
	if subscription != "" {
		partitions = append(partitions, arm.Fold(subscription))
	}
	return partitions
}

// Generations returns the generations of the [Partitions] in the change sequence. Every
// change of a caller's grants changes them: grants that were read after the generations are
// valid while these stay the same.
func (r *Roles) Generations(ctx context.Context, tenant, subscription string) (generations [2][16]byte, err error) {
	var queries []engine.Lookup
	for i, partition := range Partitions(tenant, subscription) {
		queries = append(queries, engine.LookupOf(scopeGeneration, func(g []byte) { copy(generations[i][:], g) }, engine.ScanOne[[]byte], partition))
	}
	err = r.database.LookUp(ctx, queries...)
	return generations, err
}

// grants returns the grants of assignments, sorted.
func (r *Roles) grants(ctx context.Context, tenant string, found []assignedRole) (roles.Grants, error) {
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

// Subscriptions lists at most limit subscriptions of a tenant that contain an assignment to
// the caller, in the order of their ids, after a given id.
func (r *Roles) Subscriptions(ctx context.Context, tenant string, who access.Principal, after string, limit int) ([]string, error) {
	condition, ids := engine.Among("principal", principals(who), principalKey)
	args := append([]any{arm.Fold(tenant), after}, ids...)
	return engine.Collect(r.database.Read(ctx), engine.ScanOne[string], grantedSubscriptions+condition+subscriptionOrder, append(args, limit)...)
}

func subscriptionID(sub string) string { return "/subscriptions/" + sub }

// ID returns the id of an assignment.
func ID(scope, name string) string {
	if scope == roles.TenantScope {
		scope = ""
	}
	return scope + "/providers/Microsoft.Authorization/roleAssignments/" + name
}

// principals returns the ids that a caller's assignments may name: its own and its groups'.
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

// namedRole is a role with the definition of a custom one.
type namedRole struct {
	role   *roles.Role
	custom *roles.Definition // nil for a built-in role
}

// countsAt reports whether an assignment at a folded scope grants the role. A custom role
// that is not assignable there, perhaps since a change or a move, grants nothing, because a
// caller who may change the role may have no rights at that scope.
func (n namedRole) countsAt(scope string) bool {
	return n.custom == nil || n.custom.AssignableAt(scope)
}

// rolesNamed returns the roles of assignments by their ids. A role that does not exist is
// absent.
func (r *Roles) rolesNamed(ctx context.Context, tenant string, in []assignedRole) (map[string]namedRole, error) {
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
		found, err := engine.Collect(r.database.Read(ctx), scanRoleDefinition(tenant), selectRoles+condition,
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
