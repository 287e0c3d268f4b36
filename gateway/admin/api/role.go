package api

import "net/http"

var roleOperations = []Operation{
	{
		Method: http.MethodGet, Path: "/admin/roles", Summary: "The role assignments of one subscription.",
		Query:  append([]Parameter{{"subscription", "whose assignments; needed"}, {"principalId", "only those of this principal"}}, paging...),
		Answer: Page[RoleAssignment]{}, Status: http.StatusOK,
	},
}

// RoleAssignment grants a role at a scope.
type RoleAssignment struct {
	ID            string `json:"id"`
	Scope         string `json:"scope"`
	PrincipalID   string `json:"principalId"`
	PrincipalType string `json:"principalType,omitempty"`
	Role          string `json:"role"` // its name
}
