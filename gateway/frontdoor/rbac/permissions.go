package rbac

import (
	"errors"
	"net/http"

	"portico/access/roles"
	"portico/gateway/authorize"
	"portico/gateway/exchange"
	"portico/gateway/frontdoor/route"
	"portico/inventory"
	"portico/inventory/assignments"
)

const permissionsName = "permissions"

// Permissions serves what a caller may do at a scope.
type Permissions struct {
	Roles      *assignments.Roles
	Scopes     route.Scopes
	Authorizer *authorize.Authorizer
}

// Routes implements frontdoor.Resource.
func (g Permissions) Routes() []route.Route {
	return []route.Route{
		{Method: http.MethodGet, Matches: rolesPath(permissionsName, 1), Action: namespace + "/" + permissionsName + "/read", Handle: g.list},
	}
}

// list answers with the permissions of each role that the caller has at the scope or
// above, each role once.
func (g Permissions) list(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request) error {
	at, err := findScope(r.Context(), g.Scopes, x, req)
	if err != nil {
		return err
	}
	held, err := g.Authorizer.RolesAt(r.Context(), x, at.ID)
	if err != nil {
		return err
	}
	all, seen := []roles.Permission{}, map[string]bool{}
	for _, role := range held {
		if seen[role.ID()] {
			continue
		}
		seen[role.ID()] = true
		d, err := definitionOf(r.Context(), g.Roles, at.TenantID, role.ID())
		if errors.Is(err, inventory.ErrNotFound) {
			continue // deleted meanwhile
		}
		if err != nil {
			return err
		}
		all = append(all, d.Permissions...)
	}
	return x.Answer(w, http.StatusOK, exchange.ListOf(all, func(p roles.Permission) roles.Permission { return p }))
}
