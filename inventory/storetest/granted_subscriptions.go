package storetest

import (
	"fmt"
	"slices"
	"testing"

	"portico/access"
	"portico/access/roles"
	"portico/inventory"
	"portico/inventory/assignments"
)

// A caller's subscriptions are those in which a role is assigned to it or to a group of
// it, and those that are named, in pages of any size; nothing of another tenant.
func testGrantedSubscriptions(t *testing.T, database Database) {
	b := newBench(t, database)
	subID := func(n int) string { return fmt.Sprintf("00000000-0000-0000-0003-%012d", n) }
	var seeds []inventory.Subscription
	for n := range 12 {
		seeds = append(seeds, inventory.Subscription{ID: subID(n), TenantID: "t"})
	}
	seeds[5].TenantID = "u"
	b.ok(b.SeedSubscriptions(b.ctx, seeds))
	assign := func(n int, tenant, principal string, name int) {
		t.Helper()
		at := assignments.Scope{TenantID: tenant, Subscription: subID(n), ID: "/subscriptions/" + subID(n)}
		_, _, err := b.Roles.PutAssignment(b.ctx, at, roleName(name), func(*assignments.Assignment) (*assignments.Assignment, error) {
			return &assignments.Assignment{ScopeID: at.ID, PrincipalID: principal, PrincipalType: "User", RoleDefinition: roles.Reader, ETag: "e"}, nil
		})
		b.ok(err)
	}
	assign(1, "t", alice, 1)
	assign(2, "t", staff, 2)
	assign(2, "t", alice, 3)
	assign(3, "t", bob, 4)
	assign(5, "u", alice, 5)
	assign(9, "t", staff, 6)
	assign(10, "t", alice, 7)
	b.ok(b.assign(roles.TenantScope, 8, alice, roles.Reader)) // is in no subscription
	named := []string{subID(7), subID(10), subID(5), "00000000-0000-0000-0003-00000000FFFF"}
	for who, want := range map[*access.Principal][]int{
		{TenantID: "T", ObjectID: alice}:                {1, 2, 7, 10},
		{TenantID: "t", ObjectID: bob, Groups: staff}:   {2, 3, 7, 9, 10},
		{TenantID: "u", ObjectID: alice, Groups: staff}: {5},
		{TenantID: "t", ObjectID: custom}:               {7, 10},
	} {
		for limit := 1; limit <= 6; limit++ {
			var got, wanted []string
			for _, n := range want {
				wanted = append(wanted, subID(n))
			}
			for after, more := "", true; more; {
				page, err := b.GrantedSubscriptions(b.ctx, who.TenantID, *who, named, after, limit)
				b.ok(err)
				for _, s := range page {
					got = append(got, s.ID)
					after = s.ID
				}
				more = len(page) == limit
			}
			if !slices.Equal(got, wanted) {
				t.Errorf("%+v by %d: got %q, want %q", who, limit, got, wanted)
			}
		}
	}
}
