package clients

import (
	"net/http"
	"strings"
	"testing"

	"portico/test/harness"
)

// guest is a caller of the tenant whom the CLI gives roles, and takes them from.
var guest = harness.Token{
	Raw: "a-token-of-a-guest", TenantID: harness.TenantID, ObjectID: "00000000-0000-0000-0000-0000000000c7", Name: "guest@contoso.example",
}

// asGuest is a call by the guest.
func (s stand) asGuest(t *testing.T, method, path, body string) harness.Answer {
	t.Helper()
	return s.Portico.Do(t, harness.Request{Method: method, Path: path, Body: body, Header: harness.Header("Authorization", "Bearer "+guest.Raw)})
}

// What people type to say who may do what, and that it holds.
func TestAzRoles(t *testing.T) {
	t.Parallel()
	c := signedIn(t, harness.WorldOptions{Config: harness.Config{Tokens: []harness.Token{guest}, Owners: []string{objectID}}})
	c.roles = true
	// To show names of principals, the CLI asks a directory.
	c.do(t, "cloud", "update", "--name", "Portico", "--cloud-config", `{"endpoints":{"microsoftGraphResourceId":"`+c.Authority+`"}}`)
	const (
		assignment = `00000000-0000-0000-0000-00000000aa01`
		to         = `--assignee-object-id 00000000-0000-0000-0000-0000000000c7 --assignee-principal-type ServicePrincipal `
		rg         = `--scope $S/resourceGroups/rg `
		shown      = `--query [].[roleDefinitionName,principalId,scope]`
	)
	c.play(t,
		step{command: `group create -n rg -l westus --query name`, prints: `"rg"`},
		step{
			command: `role definition list --query [].[roleName,roleType]`,
			prints:  `[["Owner","BuiltInRole"],["Contributor","BuiltInRole"],["Reader","BuiltInRole"],["User Access Administrator","BuiltInRole"]]`,
		},
		step{
			command: `role definition list --name Reader --query [].[id,permissions[0].actions,assignableScopes]`,
			prints:  `[["$S/providers/Microsoft.Authorization/roleDefinitions/acdd72a7-3385-48ef-bd42-f606fba81ae7",["*/read"],["/"]]]`,
		},
		step{
			command: `role assignment create --name ` + assignment + ` ` + to + `--role Reader ` + rg + `--query [name,principalType,scope,roleDefinitionId,type]`,
			prints: `["` + assignment + `","ServicePrincipal","$S/resourceGroups/rg","$S/providers/Microsoft.Authorization/roleDefinitions/acdd72a7-3385-48ef-bd42-f606fba81ae7",` +
				`"Microsoft.Authorization/roleAssignments"]`,
		},
		step{command: `role assignment list ` + rg + shown, prints: `[["Reader","` + guest.ObjectID + `","$S/resourceGroups/rg"]]`},
		step{command: `role assignment list --all --assignee ` + guest.ObjectID + ` ` + shown, prints: `[["Reader","` + guest.ObjectID + `","$S/resourceGroups/rg"]]`},
		step{
			command: `role assignment list ` + rg + `--include-inherited ` + shown,
			prints:  `[["Owner","` + objectID + `","/"],["Reader","` + guest.ObjectID + `","$S/resourceGroups/rg"]]`,
		},
		step{command: `role assignment list --all --include-classic-administrators ` + shown, prints: `[["Owner","` + objectID + `","/"],["Reader","` + guest.ObjectID + `","$S/resourceGroups/rg"]]`},
		step{command: `role assignment list-changelogs`, prints: `[]`}, // its answer needs two events of each change
		// The same again is what there is.
		step{command: `role assignment create --name ` + assignment + ` ` + to + `--role Reader ` + rg + `--query name`, prints: `"` + assignment + `"`},
		step{command: `role assignment create ` + to + `--role Nobody ` + rg, says: `Role 'Nobody' doesn't exist.`, code: 1},
	)
	group := c.GroupPath("rg") + "?api-version=2021-04-01"
	c.asGuest(t, http.MethodGet, group, "").Want(t, 200)
	c.asGuest(t, http.MethodPatch, group, `{"tags":{"a":"b"}}`).WantError(t, 403, "AuthorizationFailed")

	custom := `{"Name":"Tagger","Description":"Tags_groups","Actions":["Microsoft.Resources/subscriptions/resourceGroups/*"],"NotActions":["*/delete"],"AssignableScopes":["$S"]}`
	c.play(t,
		step{
			command: `role definition create --role-definition ` + custom + ` --query [roleName,roleType,description,permissions[0].[actions,notActions,dataActions,notDataActions],assignableScopes]`,
			prints:  `["Tagger","CustomRole","Tags_groups",[["Microsoft.Resources/subscriptions/resourceGroups/*"],["*/delete"],[],[]],["$S"]]`,
		},
		step{command: `role definition list --custom-role-only --query [].roleName`, prints: `["Tagger"]`},
		step{command: `role assignment create ` + to + `--role Tagger ` + rg + `--query principalId`, prints: `"` + guest.ObjectID + `"`},
	)
	c.asGuest(t, http.MethodPatch, group, `{"tags":{"a":"b"}}`).Want(t, 200)
	c.asGuest(t, http.MethodDelete, group, "").WantError(t, 403, "AuthorizationFailed")
	c.play(t,
		step{
			command: `role definition update --role-definition ` + strings.ReplaceAll(custom, "Tags_groups", "Tags") + ` --query description`,
			prints:  `"Tags"`,
		},
		step{
			command: `role definition delete --name Tagger`, code: 1,
			says: `(RoleDefinitionHasAssignments) There are existing role assignments referencing role (code: RoleDefinitionHasAssignments).`,
		},
		step{command: `role assignment delete --role Tagger ` + rg},
		step{command: `role definition delete --name Tagger`},
		step{command: `role definition list --custom-role-only`, prints: `[]`},
		step{command: `role assignment delete --ids $S/resourceGroups/rg/providers/Microsoft.Authorization/roleAssignments/` + assignment},
		step{command: `role assignment list ` + rg, prints: `[]`},
	)
	c.asGuest(t, http.MethodGet, group, "").WantError(t, 404, "SubscriptionNotFound")
}
