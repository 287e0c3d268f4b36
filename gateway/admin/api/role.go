package api

import "net/http"

var roleOperations = []Operation{
	{
		Method: http.MethodGet, Path: "/admin/roles",
		Summary: "The role assignments that apply in one subscription: at its tenant, on it, and below it. The first page also has the owners in " +
			"the configuration.",
		Query:  append([]Parameter{{"subscription", "the subscription; required"}, {"principalId", "only this principal"}}, paging...),
		Answer: Page[RoleAssignment]{}, Status: http.StatusOK,
	},
	{
		Method: http.MethodPost, Path: "/admin/roles/check", Summary: "Checks whether a caller, given by its ids, may perform an action at a scope.",
		Content: RoleCheck{}, Answer: RoleAnswer{}, Status: http.StatusOK,
	},
	{
		Method: http.MethodPost, Path: "/admin/roles/who",
		Summary: "Lists the principals that may perform an action at a scope, and their assignments. A group stands for its members.",
		Content: RoleQuestion{}, Answer: RoleHolders{}, Status: http.StatusOK,
	},
}

// RoleAssignment grants a role at a scope.
type RoleAssignment struct {
	ID            string `json:"id,omitempty"` // an owner of the configuration has none
	Scope         string `json:"scope"`
	PrincipalID   string `json:"principalId"`
	PrincipalType string `json:"principalType,omitempty"`
	PrincipalName string `json:"principalName,omitempty"` // in its token, if one was seen
	Role          string `json:"role"`                    // its name
	Owner         bool   `json:"owner,omitempty"`         // by the configuration
}

// RoleCheck asks whether a caller may do something.
type RoleCheck struct {
	PrincipalID string   `json:"principalId"`
	Groups      []string `json:"groups,omitempty"`
	// TenantID is the caller's tenant; by default the tenant of the scope's subscription.
	TenantID string `json:"tenantId,omitempty"`
	Action   string `json:"action"` // such as Contoso.Compute/virtualMachines/write
	Scope    string `json:"scope"`
}

// RoleAnswer is the answer to a RoleCheck.
type RoleAnswer struct {
	Allowed bool   `json:"allowed"`
	Reason  string `json:"reason,omitempty"`
	// Grant is the grant that allows it.
	Grant *RoleGrant `json:"grant,omitempty"`
	// WouldAllow are the built-in roles that would allow it.
	WouldAllow []string `json:"wouldAllow,omitempty"`
}

// RoleGrant is an assignment, or an owner of the configuration.
type RoleGrant struct {
	Assignment string `json:"assignment,omitempty"`
	Owner      bool   `json:"owner,omitempty"` // by the configuration
	Scope      string `json:"scope"`
	Role       string `json:"role"`
}

// RoleQuestion asks who may do something.
type RoleQuestion struct {
	// TenantID is required only for the scope /; otherwise it is the subscription's.
	TenantID string `json:"tenantId,omitempty"`
	Action   string `json:"action"` // such as Contoso.Compute/virtualMachines/write
	Scope    string `json:"scope"`
}

// RoleHolders is the list of principals that may do something.
type RoleHolders struct {
	// Everybody: roles are not enforced, so everybody may.
	Everybody bool         `json:"everybody,omitempty"`
	Value     []RoleHolder `json:"value"`
	// Further: there are more assignments than were looked at.
	Further bool `json:"further,omitempty"`
}

// RoleHolder is a principal with a grant. A principal with several grants is listed for each.
type RoleHolder struct {
	PrincipalID   string    `json:"principalId"`
	PrincipalType string    `json:"principalType,omitempty"`
	PrincipalName string    `json:"principalName,omitempty"` // in its token, if one was seen
	Grant         RoleGrant `json:"grant"`
}
