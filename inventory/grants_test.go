package inventory

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"portico/access"
	"portico/access/roles"
	"portico/inventory/assignments"
	"portico/inventory/engine"
	"portico/test/harness"
)

const reader = "00000000-0000-0000-0000-0000000000aa"

// openGranted opens a store in whose subscription a group of readers may read.
func openGranted(t *testing.T) *Store {
	t.Helper()
	s := openTest(t, testOptions(t))
	_, _, err := s.Roles.PutAssignment(t.Context(), assignments.Scope{TenantID: "t", Subscription: "s", ID: "/subscriptions/s"}, reader, func(*assignments.Assignment) (*assignments.Assignment, error) {
		return &assignments.Assignment{ScopeID: "/subscriptions/s", PrincipalID: reader, RoleDefinition: roles.Reader}, nil
	})
	harness.OK(t, err)
	return s
}

func TestWarmGrantsAllocateNothing(t *testing.T) {
	s := openGranted(t)
	groups := []string{reader}
	for i := range 100 {
		groups = append(groups, fmt.Sprintf("10000000-0000-0000-0000-%012d", i))
	}
	who, now := access.Principal{TenantID: "t", ObjectID: "caller", Groups: access.GroupsOf(groups)}, s.options.clock()()
	ask := func() bool {
		g, remembered, err := s.Scopes.GrantsAt(t.Context(), "T", "S", who, "/", now)
		if _, found := g.Find("Contoso.Compute/virtualMachines/read", "/subscriptions/S/resourceGroups/rg"); err != nil || !found {
			t.Fatal(found, err)
		}
		return remembered
	}
	ask()
	before := s.Stats().Statements
	if n := testing.AllocsPerRun(1000, func() {
		if !ask() {
			t.Fatal("it asks the store")
		}
	}); n != 0 || s.Stats().Statements != before {
		t.Errorf("%v allocations, %d statements", n, s.Stats().Statements-before)
	}
}

// What is asked for roles is found by keys.
func TestRolesUseAKey(t *testing.T) {
	s := openTest(t, testOptions(t))
	statements, _ := texts(t)
	const order = ` ORDER BY scope, name LIMIT ?`
	condition, ids := engine.Among("principal", []string{"a", "b", "c"}, strings.ToLower)
	scopes, above := engine.Among("scope", []string{"/", "/a", "/a/b"}, strings.ToLower)
	custom, named := engine.Among("id", []string{"a", "b", "c"}, strings.ToLower)
	for _, c := range []struct {
		statement, index string
		args             []any
	}{
		{statements["selectGrants"] + condition, "role_assignments_by_principal (subscription=? AND principal=?)", append([]any{"s"}, ids...)},
		{statements["selectGrants"] + condition + statements["limitRows"], "role_assignments_by_principal (subscription=? AND principal=?)", append(append([]any{"s"}, ids...), 10)},
		{statements["selectGrants"] + condition + scopes, "role_assignments_by_principal (subscription=? AND principal=? AND scope=?)", slices.Concat([]any{"s"}, ids, above)},
		{statements["selectRoles"] + custom, "sqlite_autoindex_role_definitions_1 (subscription=? AND id=?)", append([]any{"s"}, named...)},
		{statements["roleAssignmentNamed"], "role_assignments_by_name (subscription=? AND name=?)", []any{"s", "n"}},
		{statements["sameRoleAssignment"], "role_assignments_by_principal (subscription=? AND principal=? AND scope=?)", []any{"s", "p", "r", "/"}},
		{statements["roleAssigned"], "role_assignments_by_role (tenant=? AND role=?)", []any{"t", "r"}},
		{statements["roleNameTaken"], "role_definitions_by_name (subscription=? AND name=?)", []any{"s", "n", "i"}},
		{statements["listAssignmentsAt"] + order, "sqlite_autoindex_role_assignments_1 (subscription=? AND scope=? AND name>?)", []any{"s", "/", "", 10}},
		{statements["listAssignmentsBelow"] + order, "sqlite_autoindex_role_assignments_1 (subscription=? AND scope>? AND scope<?)", []any{"s", "/a", "/b", "", "", 10}},
		{statements["listAssignmentsOf"], "role_assignments_by_principal (subscription=? AND (principal,scope,name)>(?,?,?) AND (principal,scope)<(?,?))", []any{"s", "p", "/a", "", "p", "/b", 10}},
		{statements["deleteRoleAssignmentsAt"], "role_assignments", []any{"s", "/a", "/b", "/c"}},
		{statements["changeScopeOfAssignments"], "sqlite_autoindex_scope_changes_1 (subscription=?)", []any{[]byte{1}, 1, "s", "s", "/a", "/b", "/c"}},
	} {
		plan, err := engine.Collect(s.engine.Read(t.Context()), scanStep, "EXPLAIN QUERY PLAN "+c.statement, c.args...)
		harness.OK(t, err)
		if text := strings.Join(plan, "; "); !strings.Contains(text, c.index) || strings.Contains(text, "TEMP B-TREE") || strings.Contains(text, "SCAN role") {
			t.Errorf("%s: %s, want %s", c.statement, text, c.index)
		}
	}
}
