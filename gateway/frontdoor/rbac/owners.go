package rbac

import (
	"crypto/sha256"
	"fmt"

	"portico/access/roles"
	"portico/arm"
	"portico/inventory/assignments"
)

// configuredBy is the creator shown for assignments that come from the configuration.
const configuredBy = "auth.owners"

func isConfigured(a assignments.Assignment) bool { return a.CreatedBy == configuredBy }

// allConfigured returns the configured owners at and above a scope, and below it if below
// is set, as assignments.
func (g Assignments) allConfigured(at place, below bool) []assignments.Assignment {
	var all []assignments.Assignment
	for _, o := range g.Authorizer.Owners(at.TenantID, at.ID, below) {
		all = append(all, ownerAssignment(o.PrincipalID, o.Scope))
	}
	return all
}

// findConfigured returns the assignment with a name exactly at a scope that represents a
// findConfigured owner, and whether there is one.
func (g Assignments) findConfigured(at place, name string) (assignments.Assignment, bool) {
	for _, a := range g.allConfigured(at, false) {
		if arm.EqualFold(a.Name, name) && arm.EqualFold(a.ScopeID, at.ID) {
			return a, true
		}
	}
	return assignments.Assignment{}, false
}

// ownerAssignment returns a configured owner as an assignment. Its name is derived from
// the principal and the scope.
func ownerAssignment(principal, scope string) assignments.Assignment {
	sum := sha256.Sum256([]byte("portico auth.owners " + arm.Fold(principal) + " " + arm.Fold(scope)))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80 // a UUID of version 8, whose content is free
	a := assignments.Assignment{
		Name:    fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16]),
		ScopeID: scope, ScopeKey: arm.Fold(scope), PrincipalID: arm.Fold(principal), RoleDefinition: roles.Owner,
		Description: "An owner that the configuration of this service names.", CreatedBy: configuredBy, UpdatedBy: configuredBy,
	}
	var p arm.Path
	if err := p.Parse(arm.PathOf(scope)); err == nil {
		a.Subscription = arm.Fold(p.Subscription())
	}
	a.ETag = assignmentETag(a)
	return a
}
