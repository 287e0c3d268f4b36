package sdk

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/authorization/armauthorization/v2"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/resources/armresources"

	"portico/test/harness"
)

// Roles that every tenant has.
const (
	ownerRole                   = "8e3af657-a8ff-443c-a75c-2fe8c4bcb635"
	contributorRole             = "b24988ac-6180-42a0-ab88-20f7382dd24c"
	readerRole                  = "acdd72a7-3385-48ef-bd42-f606fba81ae7"
	userAccessAdministratorRole = "18d7d88d-d35e-4fb5-a5c3-7773c20a72d9"
)

// guest is a caller of the owner's tenant without any role.
var guest = harness.Token{
	Raw: "a-token-of-a-guest", TenantID: harness.TenantID, ObjectID: "00000000-0000-0000-0000-0000000000c7", Name: "guest@contoso.example",
}

// roleClients are the clients of one caller for roles.
type roleClients struct {
	clients
	assignments *armauthorization.RoleAssignmentsClient
	definitions *armauthorization.RoleDefinitionsClient
	permissions *armauthorization.PermissionsClient
}

func openRoles(t *testing.T, w *harness.World, token harness.Token) roleClients {
	t.Helper()
	c := roleClients{clients: open(t, w, token)}
	credential, options := staticToken(token.Raw), optionsFor(w)
	var err [3]error
	c.assignments, err[0] = armauthorization.NewRoleAssignmentsClient(w.SubscriptionID, credential, options)
	c.definitions, err[1] = armauthorization.NewRoleDefinitionsClient(credential, options)
	c.permissions, err[2] = armauthorization.NewPermissionsClient(w.SubscriptionID, credential, options)
	harness.OK(t, errors.Join(err[:]...))
	return c
}

// newRoles starts a world with an owner and a guest.
func newRoles(t *testing.T) (owns, visits roleClients) {
	t.Helper()
	w := newClients(t, harness.Config{Tokens: []harness.Token{guest}, Owners: []string{owner.ObjectID}}).World
	return openRoles(t, w, owner), openRoles(t, w, guest)
}

func guid(n byte) string {
	return "00000000-0000-0000-0000-0000000000" + string("0123456789abcdef"[n>>4]) + string("0123456789abcdef"[n&15])
}

// role is the id of a role as it is named at a scope of the subscription.
func (c roleClients) role(definition string) string {
	return c.SubscriptionPath() + "/providers/Microsoft.Authorization/roleDefinitions/" + definition
}

func (c roleClients) assignment(definition, principal string) armauthorization.RoleAssignmentCreateParameters {
	return armauthorization.RoleAssignmentCreateParameters{Properties: &armauthorization.RoleAssignmentProperties{
		RoleDefinitionID: to.Ptr(c.role(definition)), PrincipalID: to.Ptr(principal),
		PrincipalType: to.Ptr(armauthorization.PrincipalTypeServicePrincipal),
	}}
}

// assign gives a role to a principal, at a scope.
func (c roleClients) assign(t *testing.T, scope, name, definition, principal string) armauthorization.RoleAssignment {
	t.Helper()
	made, err := c.assignments.Create(t.Context(), scope, name, c.assignment(definition, principal), nil)
	harness.OK(t, err)
	return made.RoleAssignment
}

// names are those of the assignments at a scope, sorted; filter may be empty.
func (c roleClients) names(t *testing.T, scope, filter string) []string {
	t.Helper()
	options := &armauthorization.RoleAssignmentsClientListForScopeOptions{}
	if filter != "" {
		options.Filter = to.Ptr(filter)
	}
	all, _ := collect(t, c.assignments.NewListForScopePager(scope, options), func(p armauthorization.RoleAssignmentsClientListForScopeResponse) []*armauthorization.RoleAssignment {
		return p.Value
	})
	var names []string
	for _, a := range all {
		if value(a.Properties.PrincipalID) != owner.ObjectID {
			names = append(names, value(a.Name))
		}
	}
	slices.Sort(names)
	return names
}

// A role lets its principal do at its scope, and below, what it did not before, until
// it is taken away.
func TestRoleAssignments(t *testing.T) {
	t.Parallel()
	c, visitor := newRoles(t)
	ctx := t.Context()
	c.createGroup(t, "rg")
	c.createGroup(t, "other")
	vm := c.ResourcePath("rg", "Contoso.Compute/virtualMachines/vm")
	c.put(t, ctx, vm, armresources.GenericResource{Location: to.Ptr("westus")})

	_, err := visitor.groups.Get(ctx, "rg", nil)
	wantError(t, err, 404, "SubscriptionNotFound")

	// At a resource, with the id in any spelling.
	var raw *http.Response
	made, err := c.assignments.Create(policy.WithCaptureResponse(ctx, &raw), vm, guid(1), c.assignment(readerRole, guest.ObjectID), nil)
	harness.OK(t, err)
	if raw.StatusCode != 201 || value(made.ID) != vm+"/providers/Microsoft.Authorization/roleAssignments/"+guid(1) || value(made.Name) != guid(1) ||
		value(made.Type) != "Microsoft.Authorization/roleAssignments" || value(made.Properties.Scope) != vm ||
		value(made.Properties.RoleDefinitionID) != c.role(readerRole) || value(made.Properties.PrincipalID) != guest.ObjectID ||
		value(made.Properties.PrincipalType) != armauthorization.PrincipalTypeServicePrincipal ||
		value(made.Properties.CreatedBy) != owner.ObjectID || value(made.Properties.UpdatedBy) != owner.ObjectID ||
		made.Properties.CreatedOn == nil || made.Properties.UpdatedOn == nil {
		t.Errorf("%d %+v %+v", raw.StatusCode, made, made.Properties)
	}
	if _, err := visitor.resources.GetByID(ctx, vm, harness.Version, nil); err != nil {
		t.Error(err)
	}
	_, err = visitor.groups.Get(ctx, "rg", nil)
	wantError(t, err, 403, "AuthorizationFailed")
	_, err = visitor.resources.BeginDeleteByID(ctx, vm, harness.Version, nil)
	wantError(t, err, 403, "AuthorizationFailed")
	shouted := strings.ToUpper(value(made.ID))
	got, err := c.assignments.GetByID(ctx, shouted, nil)
	if err != nil || value(got.Properties.PrincipalID) != guest.ObjectID || value(got.Properties.Scope) != vm {
		t.Errorf("%+v %v", got.Properties, err)
	}

	// At a group, and at the subscription.
	c.assign(t, c.GroupPath("rg"), guid(2), contributorRole, guest.ObjectID)
	if _, err := visitor.groups.Get(ctx, "rg", nil); err != nil {
		t.Error(err)
	}
	_, err = visitor.groups.Get(ctx, "other", nil)
	wantError(t, err, 403, "AuthorizationFailed")
	_, err = visitor.assignments.Create(ctx, c.GroupPath("rg"), guid(3), visitor.assignment(ownerRole, guest.ObjectID), nil)
	wantError(t, err, 403, "AuthorizationFailed") // a contributor gives no roles away
	c.assign(t, c.SubscriptionPath(), guid(4), readerRole, guid(0xd1))
	c.assign(t, "/", guid(5), readerRole, guid(0xd2))

	for _, row := range []struct {
		scope, filter string
		want          []string
	}{
		{vm, "", []string{guid(1), guid(2), guid(4), guid(5)}},
		{c.GroupPath("RG"), "", []string{guid(1), guid(2), guid(4), guid(5)}},
		{c.GroupPath("rg"), "atScope()", []string{guid(2), guid(4), guid(5)}},
		{c.GroupPath("other"), "", []string{guid(4), guid(5)}},
		{c.SubscriptionPath(), "", []string{guid(1), guid(2), guid(4), guid(5)}},
		{c.SubscriptionPath(), "principalId eq '" + guest.ObjectID + "'", []string{guid(1), guid(2)}},
		{c.SubscriptionPath(), "atScope() and assignedTo('" + guid(0xd1) + "')", []string{guid(4)}},
		{vm, "assignedTo('" + strings.ToUpper(guest.ObjectID) + "')", []string{guid(1), guid(2)}},
		{"/", "atScope()", []string{guid(5)}},
	} {
		if got := c.names(t, row.scope, row.filter); !slices.Equal(got, row.want) {
			t.Errorf("%s %s: %v, want %v", row.scope, row.filter, got, row.want)
		}
	}
	inSubscription, _ := collect(t, c.assignments.NewListForSubscriptionPager(nil), func(p armauthorization.RoleAssignmentsClientListForSubscriptionResponse) []*armauthorization.RoleAssignment {
		return p.Value
	})
	inGroup, _ := collect(t, c.assignments.NewListForResourceGroupPager("rg", nil), func(p armauthorization.RoleAssignmentsClientListForResourceGroupResponse) []*armauthorization.RoleAssignment {
		return p.Value
	})
	onResource, _ := collect(t, c.assignments.NewListForResourcePager("rg", "Contoso.Compute", "virtualMachines", "vm", nil), func(p armauthorization.RoleAssignmentsClientListForResourceResponse) []*armauthorization.RoleAssignment {
		return p.Value
	})
	for what, all := range map[string][]*armauthorization.RoleAssignment{"subscription": inSubscription, "group": inGroup, "resource": onResource} {
		if !slices.ContainsFunc(all, func(a *armauthorization.RoleAssignment) bool { return value(a.Name) == guid(1) }) {
			t.Errorf("%s: without the assignment at the resource", what)
		}
	}

	removed, err := c.assignments.DeleteByID(ctx, shouted, nil)
	if err != nil || value(removed.Name) != guid(1) {
		t.Errorf("%+v %v", removed, err)
	}
	if _, err := c.assignments.Delete(ctx, c.GroupPath("rg"), guid(2), nil); err != nil {
		t.Error(err)
	}
	if _, err := c.assignments.Delete(ctx, c.GroupPath("rg"), guid(2), nil); err != nil {
		t.Error(err) // there is none, and that is no error
	}
	_, err = c.assignments.Get(ctx, c.GroupPath("rg"), guid(2), nil)
	wantError(t, err, 404, "RoleAssignmentNotFound")
	_, err = visitor.resources.GetByID(ctx, vm, harness.Version, nil)
	wantError(t, err, 404, "SubscriptionNotFound")
}

// What ARM refuses of an assignment is refused by ARM's codes.
func TestRoleAssignmentsThatAreRefused(t *testing.T) {
	t.Parallel()
	c, _ := newRoles(t)
	ctx := t.Context()
	c.createGroup(t, "rg")
	scope := c.GroupPath("rg")
	c.assign(t, scope, guid(1), readerRole, guest.ObjectID)
	changed := func(change func(*armauthorization.RoleAssignmentProperties)) armauthorization.RoleAssignmentCreateParameters {
		p := c.assignment(contributorRole, guid(0xd1))
		change(p.Properties)
		return p
	}
	for _, row := range []struct {
		name, scope, assignment string
		sent                    armauthorization.RoleAssignmentCreateParameters
		status                  int
		code                    string
	}{
		{"the same under another name", scope, guid(2), c.assignment(readerRole, guest.ObjectID), 409, "RoleAssignmentExists"},
		{"another under the same name", scope, guid(1), c.assignment(contributorRole, guest.ObjectID), 409, "RoleAssignmentUpdateNotPermitted"},
		{"another principal", scope, guid(1), c.assignment(readerRole, guid(0xd1)), 409, "RoleAssignmentUpdateNotPermitted"},
		{"an unknown role", scope, guid(3), c.assignment(guid(9), guest.ObjectID), 400, "RoleDefinitionDoesNotExist"},
		{"a role that is no id", scope, guid(3), changed(func(p *armauthorization.RoleAssignmentProperties) { p.RoleDefinitionID = to.Ptr("Reader") }), 400, "InvalidRoleDefinitionId"},
		{"no role", scope, guid(3), changed(func(p *armauthorization.RoleAssignmentProperties) { p.RoleDefinitionID = nil }), 400, "InvalidRequestContent"},
		{"no principal", scope, guid(3), changed(func(p *armauthorization.RoleAssignmentProperties) { p.PrincipalID = nil }), 400, "InvalidRequestContent"},
		{"a principal by name", scope, guid(3), changed(func(p *armauthorization.RoleAssignmentProperties) { p.PrincipalID = to.Ptr("carol") }), 400, "InvalidPrincipalId"},
		{"an unknown kind of principal", scope, guid(3), changed(func(p *armauthorization.RoleAssignmentProperties) {
			p.PrincipalType = to.Ptr(armauthorization.PrincipalType("Robot"))
		}), 400, "InvalidRequestContent"},
		{"a condition", scope, guid(3), changed(func(p *armauthorization.RoleAssignmentProperties) {
			p.Condition, p.ConditionVersion = to.Ptr("@Resource[a:b] StringEquals 'c'"), to.Ptr("2.0")
		}), 400, "InvalidRequestContent"},
		{"a name that is none", scope, "mine", c.assignment(contributorRole, guest.ObjectID), 400, "InvalidRoleAssignmentId"},
		{"a group that does not exist", c.GroupPath("nowhere"), guid(3), c.assignment(readerRole, guest.ObjectID), 404, "ResourceGroupNotFound"},
		{"a resource that does not exist", c.ResourcePath("rg", "Contoso.Compute/virtualMachines/none"), guid(3), c.assignment(readerRole, guest.ObjectID), 404, "ResourceNotFound"},
		{"a subscription that does not exist", "/subscriptions/" + guid(0xee), guid(3), c.assignment(readerRole, guest.ObjectID), 404, "SubscriptionNotFound"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := c.assignments.Create(ctx, row.scope, row.assignment, row.sent, nil)
			wantError(t, err, row.status, row.code)
		})
	}
	_, err := c.assignments.NewListForScopePager(scope, &armauthorization.RoleAssignmentsClientListForScopeOptions{Filter: to.Ptr("asTarget()")}).NextPage(ctx)
	wantError(t, err, 400, "InvalidQueryParameter")

	// The same again is no other, and its description may change.
	again := c.assignment(readerRole, guest.ObjectID)
	again.Properties.Description = to.Ptr("reads")
	var raw *http.Response
	got, err := c.assignments.Create(policy.WithCaptureResponse(ctx, &raw), scope, guid(1), again, nil)
	if err != nil || raw.StatusCode != 200 || value(got.Properties.Description) != "reads" {
		t.Errorf("%+v %v", got.Properties, err)
	}
}

// definition is a custom role.
func definition(name string, actions []string, scopes ...string) armauthorization.RoleDefinition {
	return armauthorization.RoleDefinition{Properties: &armauthorization.RoleDefinitionProperties{
		RoleName: to.Ptr(name), Description: to.Ptr("of the tests"), RoleType: to.Ptr("CustomRole"),
		Permissions:      []*armauthorization.Permission{{Actions: to.SliceOfPtrs(actions...), NotActions: []*string{}}},
		AssignableScopes: to.SliceOfPtrs(scopes...),
	}}
}

// roles are the names of the roles at a scope, sorted.
func (c roleClients) roles(t *testing.T, scope, filter string) []string {
	t.Helper()
	options := &armauthorization.RoleDefinitionsClientListOptions{}
	if filter != "" {
		options.Filter = to.Ptr(filter)
	}
	all, _ := collect(t, c.definitions.NewListPager(scope, options), func(p armauthorization.RoleDefinitionsClientListResponse) []*armauthorization.RoleDefinition {
		return p.Value
	})
	var names []string
	for _, d := range all {
		names = append(names, value(d.Properties.RoleName))
	}
	slices.Sort(names)
	return names
}

func TestRoleDefinitions(t *testing.T) {
	t.Parallel()
	c, visitor := newRoles(t)
	ctx := t.Context()
	c.createGroup(t, "rg")
	c.createGroup(t, "other")
	group := c.GroupPath("rg")

	owning, err := c.definitions.GetByID(ctx, c.role(ownerRole), nil)
	if err != nil || value(owning.Properties.RoleName) != "Owner" || value(owning.Properties.RoleType) != "BuiltInRole" || value(owning.ID) != c.role(ownerRole) ||
		value(owning.Properties.Permissions[0].Actions[0]) != "*" || value(owning.Properties.AssignableScopes[0]) != "/" {
		t.Errorf("%+v %v", owning.Properties, err)
	}
	// Who is signed in may read what roles there are.
	reading, err := visitor.definitions.GetByID(ctx, "/providers/Microsoft.Authorization/roleDefinitions/"+readerRole, nil)
	if err != nil || value(reading.Properties.RoleName) != "Reader" {
		t.Errorf("%+v %v", reading.Properties, err)
	}
	_, err = visitor.definitions.GetByID(ctx, c.role(readerRole), nil)
	wantError(t, err, 404, "SubscriptionNotFound")
	if got := c.roles(t, c.SubscriptionPath(), "roleName eq 'reader'"); !slices.Equal(got, []string{"Reader"}) {
		t.Errorf("%v", got)
	}

	var raw *http.Response
	restart := definition("Restarter", []string{"*/read", "Contoso.Compute/virtualMachines/restart/action"}, group)
	made, err := c.definitions.CreateOrUpdate(policy.WithCaptureResponse(ctx, &raw), group, guid(1), restart, nil)
	harness.OK(t, err)
	if value(made.ID) != c.role(guid(1)) || value(made.Name) != guid(1) || value(made.Type) != "Microsoft.Authorization/roleDefinitions" ||
		value(made.Properties.RoleType) != "CustomRole" || value(made.Properties.AssignableScopes[0]) != group || value(made.Properties.Description) != "of the tests" {
		t.Errorf("%+v %+v", made, made.Properties)
	}
	for _, row := range []struct {
		scope, filter string
		want          []string
	}{
		{group, "type eq 'CustomRole'", []string{"Restarter"}},
		{c.SubscriptionPath(), "type eq 'CustomRole'", nil},
		{c.SubscriptionPath(), "atScopeAndBelow() and type eq 'CustomRole'", []string{"Restarter"}},
		{c.GroupPath("other"), "atScopeAndBelow() and roleName eq 'Restarter'", nil},
		{group, "roleName eq 'RESTARTER'", []string{"Restarter"}},
		{group, "type eq 'BuiltInRole' and roleName eq 'Restarter'", nil},
	} {
		if got := c.roles(t, row.scope, row.filter); !slices.Equal(got, row.want) {
			t.Errorf("%s %s: %v, want %v", row.scope, row.filter, got, row.want)
		}
	}
	if got := c.roles(t, c.SubscriptionPath(), ""); !slices.Contains(got, "Owner") || !slices.Contains(got, "User Access Administrator") {
		t.Errorf("%v", got)
	}

	// What it says is what holds, also after it was changed.
	vm := c.ResourcePath("rg", "Contoso.Compute/virtualMachines/vm")
	c.put(t, ctx, vm, armresources.GenericResource{Location: to.Ptr("westus")})
	c.assign(t, group, guid(2), guid(1), guest.ObjectID)
	_, poller, err := visitor.restart(t, vm) //nolint:bodyclose // see restart
	harness.OK(t, err)
	finish(t, poller)
	_, err = visitor.groups.Update(ctx, "rg", armresources.ResourceGroupPatchable{Tags: map[string]*string{"a": to.Ptr("b")}}, nil)
	wantError(t, err, 403, "AuthorizationFailed")
	changed := definition("Tagger", []string{"Microsoft.Resources/subscriptions/resourceGroups/*"}, group)
	if got, err := c.definitions.CreateOrUpdate(ctx, c.SubscriptionPath(), guid(1), changed, nil); err != nil || value(got.Properties.RoleName) != "Tagger" {
		t.Fatalf("%+v %v", got.Properties, err)
	}
	if _, err := visitor.groups.Update(ctx, "rg", armresources.ResourceGroupPatchable{Tags: map[string]*string{"a": to.Ptr("b")}}, nil); err != nil {
		t.Error(err)
	}

	_, err = c.definitions.Delete(ctx, group, guid(1), nil)
	wantError(t, err, 400, "RoleDefinitionHasAssignments")
	if _, err := c.assignments.Delete(ctx, group, guid(2), nil); err != nil {
		t.Fatal(err)
	}
	gone, err := c.definitions.Delete(ctx, group, guid(1), nil)
	if err != nil || value(gone.Name) != guid(1) {
		t.Errorf("%+v %v", gone, err)
	}
	if _, err := c.definitions.Delete(ctx, group, guid(1), nil); err != nil {
		t.Error(err) // there is none, and that is no error
	}
	_, err = c.definitions.Get(ctx, group, guid(1), nil)
	wantError(t, err, 404, "RoleDefinitionDoesNotExist")
}

func TestRoleDefinitionsThatAreRefused(t *testing.T) {
	t.Parallel()
	c, _ := newRoles(t)
	ctx := t.Context()
	scope := c.SubscriptionPath()
	for n, name := range []string{"One", "Two"} {
		if _, err := c.definitions.CreateOrUpdate(ctx, scope, guid(byte(n+1)), definition(name, []string{"*/read"}, scope), nil); err != nil {
			t.Fatal(err)
		}
	}
	without := definition("None", []string{"*/read"})
	nameless := definition("", []string{"*/read"}, scope)
	powerless := definition("None", nil, scope)
	powerless.Properties.Permissions = nil
	for _, row := range []struct {
		name, definition string
		sent             armauthorization.RoleDefinition
		status           int
		code             string
	}{
		{"a name in use", guid(3), definition("one", []string{"*/read"}, scope), 409, "RoleDefinitionWithSameNameExists"},
		{"a change to a name in use", guid(2), definition("One", []string{"*/read"}, scope), 409, "RoleDefinitionWithSameNameExists"},
		{"the name of a built-in role", guid(3), definition("Owner", []string{"*/read"}, scope), 409, "RoleDefinitionWithSameNameExists"},
		{"a built-in role", readerRole, definition("Reader", []string{"*"}, scope), 400, "InvalidRoleDefinitionId"},
		{"a name that is none", "mine", definition("Mine", []string{"*/read"}, scope), 400, "InvalidRoleDefinitionId"},
		{"without a scope", guid(3), without, 400, "InvalidRequestContent"},
		{"without a name", guid(3), nameless, 400, "InvalidRequestContent"},
		{"without permissions", guid(3), powerless, 400, "InvalidRequestContent"},
		{"a scope that is none", guid(3), definition("None", []string{"*/read"}, "everywhere"), 400, "InvalidRequestContent"},
		{"an action that is none", guid(3), definition("None", []string{"read everything"}, scope), 400, "InvalidActionOrNotAction"},
		{"another subscription", guid(3), definition("None", []string{"*/read"}, scope, "/subscriptions/"+guid(0xee)), 403, "LinkedAuthorizationFailed"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := c.definitions.CreateOrUpdate(ctx, scope, row.definition, row.sent, nil)
			wantError(t, err, row.status, row.code)
		})
	}
}

// Who may write definitions at one group can neither widen one that holds elsewhere,
// nor one to elsewhere, nor assign it where it is not assignable.
func TestRolesEndAtTheirScopes(t *testing.T) {
	t.Parallel()
	c, visitor := newRoles(t)
	ctx := t.Context()
	c.createGroup(t, "rg")
	c.createGroup(t, "other")
	here, there := c.GroupPath("rg"), c.GroupPath("other")
	read, all := []string{"*/read"}, []string{"*"}
	for _, row := range []struct {
		id, name string
		scopes   []string
	}{{guid(1), "Both", []string{here, there}}, {guid(2), "There", []string{there}}} {
		if _, err := c.definitions.CreateOrUpdate(ctx, c.SubscriptionPath(), row.id, definition(row.name, read, row.scopes...), nil); err != nil {
			t.Fatal(err)
		}
	}
	c.assign(t, here, guid(0x11), userAccessAdministratorRole, guest.ObjectID)
	c.assign(t, there, guid(0x12), guid(1), guid(0xd1))

	_, err := visitor.definitions.CreateOrUpdate(ctx, here, guid(1), definition("Both", all, here, there), nil)
	wantError(t, err, 403, "LinkedAuthorizationFailed")
	_, err = visitor.definitions.CreateOrUpdate(ctx, here, guid(1), definition("Both", all, here), nil)
	wantError(t, err, 403, "LinkedAuthorizationFailed")
	_, err = visitor.definitions.Delete(ctx, here, guid(1), nil)
	wantError(t, err, 403, "LinkedAuthorizationFailed")
	if _, err := visitor.definitions.CreateOrUpdate(ctx, here, guid(3), definition("Here", all, here), nil); err != nil {
		t.Fatal(err)
	}
	_, err = visitor.definitions.CreateOrUpdate(ctx, here, guid(3), definition("Here", all, here, there), nil)
	wantError(t, err, 403, "LinkedAuthorizationFailed")
	_, err = visitor.definitions.CreateOrUpdate(ctx, here, guid(3), definition("Here", all, "/"), nil)
	wantError(t, err, 403, "LinkedAuthorizationFailed")
	_, err = visitor.definitions.Get(ctx, here, guid(2), nil)
	wantError(t, err, 404, "RoleDefinitionDoesNotExist")
	_, err = visitor.assignments.Create(ctx, here, guid(0x13), visitor.assignment(guid(2), guest.ObjectID), nil)
	wantError(t, err, 400, "RoleDefinitionDoesNotExist") // it is not assignable here
	_, err = visitor.assignments.Create(ctx, there, guid(0x13), visitor.assignment(guid(3), guest.ObjectID), nil)
	wantError(t, err, 403, "AuthorizationFailed")

	// Where it is assignable it is assigned; a scope at which it is stays in its list.
	visitor.assign(t, here, guid(0x14), guid(1), guest.ObjectID)
	_, err = c.definitions.CreateOrUpdate(ctx, c.SubscriptionPath(), guid(1), definition("Both", read, here), nil)
	wantError(t, err, 400, "RoleScopeBeingRemovedContainsAssignments")
}

func TestPermissions(t *testing.T) {
	t.Parallel()
	c, visitor := newRoles(t)
	c.createGroup(t, "rg")
	c.assign(t, c.SubscriptionPath(), guid(1), readerRole, guest.ObjectID)
	c.assign(t, c.GroupPath("rg"), guid(2), contributorRole, guest.ObjectID)
	got, _ := collect(t, visitor.permissions.NewListForResourceGroupPager("rg", nil), func(p armauthorization.PermissionsClientListForResourceGroupResponse) []*armauthorization.Permission {
		return p.Value
	})
	actions := map[string]int{}
	for _, p := range got {
		actions[value(p.Actions[0])] = len(p.NotActions)
	}
	if except, ok := actions["*"]; len(got) != 2 || !ok || except == 0 || actions["*/read"] != 0 {
		t.Errorf("%v", actions)
	}
}

// A list of assignments is read page by page.
func TestRoleAssignmentPages(t *testing.T) {
	t.Parallel()
	c, _ := newRoles(t)
	for n := range byte(7) {
		c.assign(t, c.SubscriptionPath(), guid(n+1), readerRole, guid(0xd0+n))
	}
	seen := map[string]int{}
	link := c.Portico.URL + c.SubscriptionPath() + "/providers/Microsoft.Authorization/roleAssignments?api-version=2022-04-01&$top=2"
	for pages := 0; link != ""; pages++ {
		if pages > 10 {
			t.Fatal("the list has no end")
		}
		var page struct {
			Value    []struct{ Name string }
			NextLink string
		}
		answer := c.Portico.Do(t, harness.Request{Path: strings.TrimPrefix(link, c.Portico.URL)}).Want(t, 200)
		harness.OK(t, json.Unmarshal(answer.Body, &page))
		for _, a := range page.Value {
			seen[a.Name]++
		}
		link = page.NextLink
	}
	for n := range byte(7) {
		if seen[guid(n+1)] != 1 {
			t.Errorf("%s: %d times", guid(n+1), seen[guid(n+1)])
		}
	}
}

// The owners of the configuration are in the lists, and stay there.
func TestOwnersAreListed(t *testing.T) {
	t.Parallel()
	c, _ := newRoles(t)
	all, _ := collect(t, c.assignments.NewListForSubscriptionPager(nil), func(p armauthorization.RoleAssignmentsClientListForSubscriptionResponse) []*armauthorization.RoleAssignment {
		return p.Value
	})
	if len(all) != 1 || value(all[0].Properties.PrincipalID) != owner.ObjectID || value(all[0].Properties.Scope) != "/" || value(all[0].Properties.RoleDefinitionID) != c.role(ownerRole) {
		t.Fatalf("%+v", all)
	}
	got, err := c.assignments.GetByID(t.Context(), value(all[0].ID), nil)
	if err != nil || value(got.Name) != value(all[0].Name) || value(got.Properties.RoleDefinitionID) != "/providers/Microsoft.Authorization/roleDefinitions/"+ownerRole {
		t.Errorf("%+v %v", got, err)
	}
	_, err = c.assignments.DeleteByID(t.Context(), value(all[0].ID), nil)
	wantError(t, err, 409, "Conflict")
	_, err = c.assignments.CreateByID(t.Context(), value(all[0].ID), c.assignment(readerRole, guest.ObjectID), nil)
	wantError(t, err, 409, "RoleAssignmentUpdateNotPermitted")
}
