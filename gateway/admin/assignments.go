package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"portico/access/roles"
	"portico/arm"
	"portico/config"
	"portico/gateway/admin/api"
	"portico/inventory"
	"portico/inventory/assignments"
)

// listRoles lists the assignments that apply in ?subscription=, at most ?limit= after
// ?after=, and only those to ?principalId= if it is given.
func (l *listener) listRoles(_ http.ResponseWriter, r *http.Request) (int, any, error) {
	query := r.URL.Query()
	sub, limit, err := l.namedSubscription(r)
	if err != nil {
		return 0, nil, err
	}
	scope, principal := "/subscriptions/"+sub.ID, query.Get("principalId")
	wanted := assignments.Query{
		Scope: assignments.Scope{TenantID: sub.TenantID, Subscription: sub.ID, ID: scope}, Above: true, Below: true, Limit: limit + 1,
	}
	if principal != "" {
		if !arm.ValidGUID(principal) {
			return 0, nil, arm.NewError(arm.InvalidQueryParameter, "principalId", "it must be the object id of a principal, a GUID").WithTarget("principalId")
		}
		wanted.Principals = []string{principal}
	}
	position := query.Get("after")
	if position != "" {
		scope, name, ok := strings.CutLast(position, " ")
		if !ok {
			return 0, nil, invalidPosition()
		}
		wanted.After = &assignments.Assignment{ScopeKey: scope, Name: name}
	}
	found, err := l.Store.Roles.Assignments(r.Context(), wanted)
	if err != nil {
		return 0, nil, fmt.Errorf("list role assignments: %w", err)
	}
	names, err := l.roleNames(r.Context(), sub.TenantID, found)
	if err != nil {
		return 0, nil, err
	}
	page := pageOf("/admin/roles", query, found, limit,
		func(a assignments.Assignment) api.RoleAssignment { return assignmentOf(a, names) },
		func(last assignments.Assignment) string { return last.ScopeKey + " " + last.Name })
	if position == "" {
		page.Value = slices.Insert(page.Value, 0, ownersAt(l.Authorizer.Owners(sub.TenantID, scope, true), principal)...)
	}
	nameEach(r.Context(), l, sub.TenantID, page.Value, func(a *api.RoleAssignment) (string, *string) { return a.PrincipalID, &a.PrincipalName })
	return http.StatusOK, page, nil
}

func assignmentOf(a assignments.Assignment, names map[string]string) api.RoleAssignment {
	return api.RoleAssignment{
		ID: assignments.ID(a.ScopeID, a.Name), Scope: a.ScopeID, PrincipalID: a.PrincipalID, PrincipalType: a.PrincipalType,
		Role: cmp.Or(names[a.RoleDefinition], a.RoleDefinition),
	}
}

// ownersAt returns the configuration's owners as assignments, or only those to principal.
func ownersAt(owners []config.Owner, principal string) (all []api.RoleAssignment) {
	for _, o := range owners {
		if principal == "" || arm.EqualFold(o.PrincipalID, principal) {
			all = append(all, api.RoleAssignment{Scope: o.Scope, PrincipalID: o.PrincipalID, Role: "Owner", Owner: true})
		}
	}
	return all
}

// roleNames returns the names of the assigned roles, by the ids of their definitions.
func (l *listener) roleNames(ctx context.Context, tenant string, in []assignments.Assignment) (map[string]string, error) {
	names := map[string]string{}
	for _, d := range roles.BuiltIn() {
		names[d.ID] = d.Name
	}
	for _, a := range in {
		if _, known := names[a.RoleDefinition]; known {
			continue
		}
		d, err := l.Store.Roles.Definition(ctx, tenant, a.RoleDefinition)
		if err != nil && !errors.Is(err, inventory.ErrNotFound) {
			return nil, fmt.Errorf("read the role of an assignment: %w", err)
		}
		names[a.RoleDefinition] = d.Name
	}
	return names, nil
}
