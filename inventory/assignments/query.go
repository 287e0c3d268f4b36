package assignments

import (
	"context"
	"strings"

	"portico/access/roles"
	"portico/arm"
	"portico/inventory/engine"
)

// Query selects assignments.
type Query struct {
	Scope
	// Above adds the assignments above the scope, Below the ones below it. The tenant is
	// above every subscription, but no subscription counts as below the tenant.
	Above, Below bool
	// Principals, unless empty, restricts the list to the assignments of these object ids.
	// Only the first 1024 count.
	Principals []string
	// After is the last assignment of the previous page, nil for the first page.
	After *Assignment
	Limit int // 0: all
}

const (
	assignmentsFrom = `SELECT ` + assignmentColumns + ` FROM role_assignments WHERE subscription = ?`

	listAssignmentsAt    = assignmentsFrom + ` AND scope = ? AND name > ?`
	listAssignmentsBelow = assignmentsFrom + ` AND scope >= ? AND scope < ? AND (scope, name) > (?, ?)`
	assignmentOrder      = ` ORDER BY scope, name LIMIT ?`
	// This range fits only one index. With another condition an engine may read the
	// assignments of all principals, in the order of their scopes.
	listAssignmentsOf = assignmentsFrom + ` AND (principal, scope, name) > (?, ?, ?) AND (principal, scope) <= (?, ?) ORDER BY principal, scope, name LIMIT ?`

	roleAssignmentsIn = assignmentsFrom + ` AND (scope = ? OR scope >= ? AND scope < ?) ORDER BY scope, name`
)

// Assignments lists assignments, first the tenant's, then the subscription's, in the order
// of their scopes and names.
func (r *Roles) Assignments(ctx context.Context, q Query) ([]Assignment, error) {
	left := q.Limit
	var all []Assignment
	more := func(within pageBounds) error {
		if q.Limit > 0 && left <= 0 {
			return nil
		}
		statement, args := within.statement(q.Principals)
		page, err := engine.Collect(r.database.Read(ctx), scanRoleAssignment, statement, append(args, engine.LimitArg(left))...)
		all, left = append(all, page...), left-len(page)
		return err
	}
	for _, scope := range q.scopes() {
		at := Scope{TenantID: q.TenantID, Subscription: q.Subscription, ID: scope}
		if scope == roles.TenantScope {
			at.Subscription = ""
		}
		after, passed := q.afterName(scope)
		if passed {
			continue
		}
		if err := more(pageBounds{partition: at.partition(), scope: scope, name: after, last: scope}); err != nil {
			return nil, err
		}
	}
	if !q.Below || q.Subscription == "" {
		return all, nil
	}
	first, _ := engine.KeysBelow(arm.Fold(q.ID))
	below := pageBounds{partition: q.partition(), scope: first, last: first + "\U0010FFFF"}
	if q.After != nil && q.After.ScopeKey >= first {
		below.scope, below.name = q.After.ScopeKey, q.After.Name
	}
	err := more(below)
	return all, err
}

// pageBounds bounds a part of a list. It begins after a scope and a name, and ends with the
// assignments at its last scope.
type pageBounds struct{ partition, scope, name, last string }

// statement returns the statement that lists the principals' assignments within the bounds,
// or all assignments without principals, with its arguments except the limit.
func (b pageBounds) statement(principals []string) (text string, args []any) {
	switch {
	case len(principals) == 1:
		of := principalKey(principals[0])
		return listAssignmentsOf, []any{b.partition, of, b.scope, b.name, of, b.last}
	case b.scope == b.last:
		text, args = listAssignmentsAt, []any{b.partition, b.scope, b.name}
	default:
		text, args = listAssignmentsBelow, []any{b.partition, b.scope, b.last, b.scope, b.name}
	}
	if len(principals) == 0 {
		return text + assignmentOrder, args
	}
	filter, ids := engine.Among("principal", principals, principalKey)
	return text + filter + assignmentOrder, append(args, ids...)
}

// scopes returns the scope and, if Above is set, its ancestors, in the order of the list.
func (q Query) scopes() []string {
	scope := arm.Fold(q.ID)
	if !q.Above || scope == roles.TenantScope {
		return []string{scope}
	}
	return append([]string{roles.TenantScope}, ScopesTo(arm.Fold(q.Subscription), scope)...)
}

// ScopesTo returns the folded ids of a subscription, of the scopes between, and of id.
func ScopesTo(sub, id string) (all []string) {
	for i := len(subscriptionID(sub)); i < len(id); i++ {
		if id[i] == '/' {
			all = append(all, id[:i])
		}
	}
	return append(all, id)
}

// afterName returns the name after which a page continues at a scope, and whether
// earlier pages have passed the scope.
func (q Query) afterName(scope string) (after string, passed bool) {
	if q.After == nil {
		return "", false
	}
	switch strings.Compare(scope, q.After.ScopeKey) {
	case -1:
		return "", true
	case 0:
		return q.After.Name, false
	}
	return "", false
}

// principalKey returns the stored form of an object id. GUIDs match in any casing; other ids
// keep their casing, because it may distinguish principals of their issuers.
func principalKey(id string) string {
	if arm.ValidGUID(id) {
		return arm.Fold(id)
	}
	return id
}
