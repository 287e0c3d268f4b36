package rbac

import (
	"net/http"

	"portico/gateway/exchange"
	"portico/gateway/frontdoor/route"
)

// Kinds of access control that Azure has and Portico does not; clients that list access
// control ask for them all the same.
const (
	denyAssignmentsName       = "denyAssignments"
	classicAdministratorsName = "classicAdministrators"
)

// None answers for deny assignments and classic administrators, which do not exist here.
type None struct{ Scopes route.Scopes }

// Routes implements frontdoor.Resource.
func (g None) Routes() []route.Route {
	return []route.Route{
		{Method: http.MethodGet, Matches: rolesPath(denyAssignmentsName, 1), Action: namespace + "/" + denyAssignmentsName + "/read", Partly: true, Handle: g.list},
		{
			Method: http.MethodGet, Path: "/subscriptions/{s}/providers/microsoft.authorization/classicadministrators",
			Action: namespace + "/" + classicAdministratorsName + "/read", Partly: true, Handle: g.list,
		},
	}
}

// list answers with no elements, if the scope exists.
func (g None) list(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, req route.Request) error {
	if _, err := findScope(r.Context(), g.Scopes, x, req); err != nil {
		return err
	}
	return x.Answer(w, http.StatusOK, exchange.List{Value: []any{}})
}
