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
	// Above adds the assignments above the scope, Below those below it. The tenant's
	// assignments are above every subscription; those of subscriptions are not below
	// the tenant.
	Above, Below bool
	// Principals, unless empty, limit the list to the assignments of these object ids.
	// The first 1024 count.
	Principals []string
	// After is the last assignment of the page before, nil for the first page.
	After *Assignment
	Limit int // 0: all
}

const (
	assignmentsFrom = `SELECT ` + assignmentColumns + ` FROM role_assignments WHERE subscription = ?`

	listAssignmentsAt    = assignmentsFrom + ` AND scope = ? AND name > ?`
	listAssignmentsBelow = assignmentsFrom + ` AND scope >= ? AND scope < ? AND (scope, name) > (?, ?)`
	assignmentOrder      = ` ORDER BY scope, name LIMIT ?`

	roleAssignmentsIn = assignmentsFrom + ` AND (scope = ? OR scope >= ? AND scope < ?) ORDER BY scope, name`
)

// Assignments lists assignments: the tenant's, then those of the subscription, each
// in the order of their scopes and names.
func (r *Roles) Assignments(ctx context.Context, q Query) ([]Assignment, error) {
	filter, principals := "", []any(nil)
	if len(q.Principals) > 0 {
		filter, principals = engine.Among("principal", q.Principals, principalKey)
	}
	left := q.Limit
	var all []Assignment
	more := func(statement string, args ...any) error {
		if q.Limit > 0 && left <= 0 {
			return nil
		}
		page, err := engine.Collect(r.database.Read(ctx), scanRoleAssignment, statement+filter+assignmentOrder,
			append(append(args, principals...), engine.AtMost(left))...)
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
		if err := more(listAssignmentsAt, at.partition(), scope, after); err != nil {
			return nil, err
		}
	}
	if !q.Below || q.Subscription == "" {
		return all, nil
	}
	from, to := engine.Below(arm.Fold(q.ID))
	scope, name := "", ""
	if q.After != nil {
		scope, name = q.After.ScopeKey, q.After.Name
		from = max(from, scope)
	}
	err := more(listAssignmentsBelow, q.partition(), from, to, scope, name)
	return all, err
}

// scopes returns the scope and, if wanted, its ancestors, in the order of their
// assignments in the list.
func (q Query) scopes() []string {
	scope := arm.Fold(q.ID)
	if !q.Above || scope == roles.TenantScope {
		return []string{scope}
	}
	return append([]string{roles.TenantScope}, ScopesTo(arm.Fold(q.Subscription), scope)...)
}

// ScopesTo are the folded ids from a subscription's to one in it.
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

// principalKey returns an object id in the form that assignments hold. GUIDs match in
// any casing; other ids keep their casing, because their issuers may distinguish by it.
func principalKey(id string) string {
	if arm.ValidGUID(id) {
		return arm.Fold(id)
	}
	return id
}
