package roles

import (
	"slices"
	"time"

	"portico/arm"
)

// Permission is one set of actions: Actions without NotActions. Another
// permission of the same role may still allow the latter.
type Permission struct {
	Actions        []string `json:"actions"`
	NotActions     []string `json:"notActions"`
	DataActions    []string `json:"dataActions"`
	NotDataActions []string `json:"notDataActions"`
}

// Definition is a role definition.
type Definition struct {
	ID          string // a GUID in lower case
	Name        string // display name
	Description string
	// BuiltIn roles belong to every tenant, and cannot be changed.
	BuiltIn     bool
	Permissions []Permission
	// AssignableScopes lists ids of subscriptions and groups; "/" for built-in roles.
	AssignableScopes     []string
	CreatedOn, UpdatedOn time.Time
	CreatedBy, UpdatedBy string // object ids, "" for built-in roles
}

// AssignableAt reports whether the role may be assigned at a folded scope:
// one of its assignable scopes, or a scope below one.
func (d Definition) AssignableAt(scope string) bool {
	for _, s := range d.AssignableScopes {
		if p := relationTo(scope, arm.Fold(s)); p == at || p == under {
			return true
		}
	}
	return false
}

// AssignableBelow reports whether the role can be assigned somewhere below a scope.
func (d Definition) AssignableBelow(scope string) bool {
	return slices.ContainsFunc(d.AssignableScopes, func(s string) bool { return relationTo(scope, arm.Fold(s)) == over })
}

// The ids of the built-in roles.
const (
	Owner                   = "8e3af657-a8ff-443c-a75c-2fe8c4bcb635"
	Contributor             = "b24988ac-6180-42a0-ab88-20f7382dd24c"
	Reader                  = "acdd72a7-3385-48ef-bd42-f606fba81ae7"
	UserAccessAdministrator = "18d7d88d-d35e-4fb5-a5c3-7773c20a72d9"
)

// BuiltInFor returns the names of the built-in roles that allow an action.
func BuiltInFor(action string) (names []string) {
	for _, d := range BuiltIn() {
		if Compile(d).Allows(action) {
			names = append(names, d.Name)
		}
	}
	return names
}

// BuiltIn returns the roles that every tenant has, with Azure's ids and texts.
func BuiltIn() []Definition {
	return []Definition{
		builtIn(Owner, "Owner",
			"Grants full access to manage all resources, including the ability to assign roles in Azure RBAC.",
			[]string{"*"}),
		builtIn(Contributor, "Contributor",
			"Grants full access to manage all resources, but does not allow you to assign roles in Azure RBAC, manage assignments in Azure Blueprints, "+
				"or share image galleries.",
			[]string{"*"},
			"Microsoft.Authorization/*/Delete",
			"Microsoft.Authorization/*/Write",
			"Microsoft.Authorization/elevateAccess/Action",
			"Microsoft.Blueprint/blueprintAssignments/write",
			"Microsoft.Blueprint/blueprintAssignments/delete",
			"Microsoft.Compute/galleries/share/action",
			"Microsoft.Purview/consents/write",
			"Microsoft.Purview/consents/delete",
			"Microsoft.Resources/deploymentStacks/manageDenySetting/action"),
		builtIn(Reader, "Reader",
			"View all resources, but does not allow you to make any changes.",
			[]string{"*/read"}),
		builtIn(UserAccessAdministrator, "User Access Administrator",
			"Lets you manage user access to Azure resources.",
			[]string{"*/read", "Microsoft.Authorization/*", "Microsoft.Support/*"}),
	}
}

func builtIn(id, name, description string, actions []string, notActions ...string) Definition {
	created := time.Date(2015, time.February, 2, 21, 55, 9, 880642300, time.UTC)
	if notActions == nil {
		notActions = []string{}
	}
	return Definition{
		ID: id, Name: name, Description: description, BuiltIn: true,
		Permissions: []Permission{{
			Actions: actions, NotActions: notActions, DataActions: []string{}, NotDataActions: []string{},
		}},
		AssignableScopes: []string{"/"}, CreatedOn: created, UpdatedOn: created,
	}
}
