package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"portico/access"
	"portico/access/roles"
	"portico/arm"
	"portico/inventory"
	"portico/inventory/assignments"
	"portico/inventory/index"
	"portico/inventory/transaction"
)

const (
	tenantOfSub = "t"
	alice       = "00000000-0000-0000-0000-0000000000aa"
	bob         = "00000000-0000-0000-0000-0000000000bb"
	staff       = "00000000-0000-0000-0000-0000000000cc" // a group
	custom      = "00000000-0000-0000-0001-000000000001"
)

// roleName is the name of the nth assignment.
func roleName(n int) string { return fmt.Sprintf("00000000-0000-0000-0002-%012d", n) }

// atScope is the scope of an id in the subscription Sub, or of the tenant.
func atScope(id string) assignments.Scope {
	at := assignments.Scope{TenantID: tenantOfSub, ID: id}
	if id != roles.TenantScope {
		at.Subscription = Sub
	}
	if segments := strings.Split(id, "/"); len(segments) > 4 && segments[3] == "resourceGroups" {
		at.Group = segments[4]
	}
	return at
}

// assign assigns a role at a scope.
func (b *bench) assign(scope string, n int, principal, role string) error {
	_, _, err := b.Roles.PutAssignment(b.ctx, atScope(scope), roleName(n), func(*assignments.Assignment) (*assignments.Assignment, error) {
		a := assignments.Assignment{ScopeID: scope, PrincipalID: principal, PrincipalType: "User", RoleDefinition: role, ETag: "e"}
		if strings.Contains(scope, "/providers/") {
			a.Host = arm.Fold(scope)
		}
		return &a, nil
	})
	return err
}

func (b *bench) unassign(scope string, n int) error {
	return b.Roles.DeleteAssignment(b.ctx, atScope(scope), roleName(n), func(assignments.Assignment) error { return nil })
}

// define defines the custom role to allow one action.
func (b *bench) define(action string) error {
	_, _, err := b.Roles.PutDefinition(b.ctx, tenantOfSub, custom, func(*assignments.Definition) (*assignments.Definition, error) {
		var d assignments.Definition
		d.Name, d.AssignableScopes = "Operator", []string{subscriptionID}
		d.Permissions = []roles.Permission{{Actions: []string{action}}}
		return &d, nil
	})
	return err
}

// granted lists what a caller has in the subscription Sub, by the store.
func (b *bench) granted(who access.Principal) []string {
	b.Helper()
	g, err := b.Roles.Grants(b.ctx, tenantOfSub, strings.ToUpper(Sub), who)
	b.ok(err)
	return words(g)
}

func words(g roles.Grants) (all []string) {
	for _, one := range g {
		all = append(all, one.Role.Name()+" at "+one.Scope)
	}
	return all
}

func (b *bench) grants(who access.Principal, want ...string) {
	b.Helper()
	for i := range want {
		role, scope, _ := strings.Cut(want[i], " at ")
		want[i] = role + " at " + arm.Fold(scope)
	}
	if got := b.granted(who); !slices.Equal(got, want) {
		b.Errorf("granted %q, want %q", got, want)
	}
}

var (
	asAlice   = access.Principal{TenantID: tenantOfSub, ObjectID: strings.ToUpper(alice)}
	asBob     = access.Principal{TenantID: tenantOfSub, ObjectID: bob}
	asStaff   = access.Principal{TenantID: tenantOfSub, ObjectID: bob, Groups: access.GroupsOf([]string{staff, alice[:35] + "9"})}
	inTenantU = access.Principal{TenantID: "u", ObjectID: alice}
)

func testRoleAssignments(t *testing.T, database Database) {
	t.Run("one is stored, changed in what may change, and deleted", func(t *testing.T) {
		b := newBench(t, database)
		b.group("rg")
		b.live("rg", "vm")
		for i, scope := range []string{roles.TenantScope, subscriptionID, groupID, id("RG", "VM")} {
			at := atScope(scope)
			put := func(description string) (assignments.Assignment, bool) {
				stored, created, err := b.Roles.PutAssignment(b.ctx, at, strings.ToUpper(roleName(i)),
					func(current *assignments.Assignment) (*assignments.Assignment, error) {
						equal(b, current == nil, description == "one")
						return &assignments.Assignment{
							ScopeID: scope, PrincipalID: strings.ToUpper(alice), PrincipalType: "User", RoleDefinition: strings.ToUpper(roles.Reader),
							Description: description, ConditionVersion: "2.0", DelegatedManagedIdentity: "d",
							CreatedBy: "c" + description, UpdatedBy: "u" + description, ETag: "e" + description,
						}, nil
					})
				b.ok(err)
				return stored, created
			}
			first, created := put("one")
			equal(b, created, true)
			b.clock.Pass(1000)
			second, created := put("two")
			equal(b, created, false)
			equal(b, second.CreatedOn, first.CreatedOn)
			equal(b, second.UpdatedOn, b.clock.Now())
			equal(b, second.Generation == first.Generation, false)
			got, err := b.Roles.Assignment(b.ctx, at, strings.ToUpper(roleName(i)))
			b.ok(err)
			equal(b, got, second)
			equal(b, got, assignments.Assignment{
				TenantID: "t", Subscription: at.Subscription, ScopeKey: arm.Fold(scope), ScopeID: scope, Name: roleName(i),
				PrincipalID: alice, PrincipalType: "User",
				RoleDefinition: roles.Reader, Description: "two", ConditionVersion: "2.0", DelegatedManagedIdentity: "d",
				CreatedOn: first.CreatedOn, UpdatedOn: second.UpdatedOn, CreatedBy: "cone", UpdatedBy: "utwo", Generation: second.Generation, ETag: "etwo",
			})
			refusal := errors.New("not now")
			b.is(b.Roles.DeleteAssignment(b.ctx, at, roleName(i), func(assignments.Assignment) error { return refusal }), refusal)
			b.is(b.unassign(scope, 17), inventory.ErrNotFound)
			b.ok(b.unassign(scope, i))
			_, err = b.Roles.Assignment(b.ctx, at, roleName(i))
			b.is(err, inventory.ErrNotFound)
			b.is(b.unassign(scope, i), inventory.ErrNotFound)
		}
	})
	t.Run("what is refused", func(t *testing.T) {
		b := newBench(t, database)
		b.group("rg")
		b.live("rg", "vm")
		b.ok(b.assign(groupID, 1, alice, roles.Reader))
		exists := as[*assignments.ExistsError](b, b.assign(groupID, 2, strings.ToUpper(alice), roles.Reader))
		equal(b, exists.Name, roleName(1))
		b.is(b.assign(groupID, 1, bob, roles.Reader), assignments.ErrUpdate)
		b.is(b.assign(groupID, 1, alice, roles.Owner), assignments.ErrUpdate)
		b.is(b.assign(subscriptionID, 1, alice, roles.Reader), assignments.ErrUpdate)
		b.ok(b.assign(groupID, 2, alice, roles.Owner))
		b.ok(b.assign(subscriptionID, 3, alice, roles.Reader))
		b.is(b.assign(id("rg", "none"), 4, alice, roles.Reader), inventory.ErrNotFound)
		b.is(b.assign(subscriptionID+"/resourceGroups/none", 4, alice, roles.Reader), index.ErrGroupNotFound)
		b.is(b.assign(groupID, 4, alice, custom), assignments.ErrDefinitionNotFound)
		foreign := atScope(subscriptionID)
		foreign.TenantID = "u"
		_, _, err := b.Roles.PutAssignment(b.ctx, foreign, roleName(5), func(*assignments.Assignment) (*assignments.Assignment, error) {
			t.Error("it is asked for what to assign")
			return nil, inventory.ErrNotFound
		})
		b.is(err, inventory.ErrSubscriptionNotFound)
		nowhere := atScope(groupID)
		nowhere.Subscription = ""
		_, _, err = b.Roles.PutAssignment(b.ctx, nowhere, roleName(5), func(*assignments.Assignment) (*assignments.Assignment, error) {
			return &assignments.Assignment{ScopeID: groupID, PrincipalID: alice, RoleDefinition: roles.Owner}, nil
		})
		equal(b, err != nil, true) // a scope lies where its subscription says, or nowhere
		b.marks("RG")
		refuses[*index.GroupStateError](b, b.assign(groupID, 6, bob, roles.Reader))
		refuses[*index.GroupStateError](b, b.unassign(groupID, 1))
		_, _, err = b.PutSubscription(b.ctx, inventory.Subscription{ID: Sub, TenantID: "t", State: inventory.Disabled})
		b.ok(err)
		refuses[*inventory.SubscriptionStateError](b, b.assign(subscriptionID, 7, bob, roles.Reader))
		b.ok(b.unassign(subscriptionID, 3))
	})
	t.Run("so many in a subscription, and at a tenant", func(t *testing.T) {
		b := newBench(t, database, func(o *inventory.Options) {
			o.Limits.Roles = assignments.Limits{PerSubscription: 2, PerTenant: 1}
		})
		b.group("rg")
		b.ok(b.assign(groupID, 1, alice, roles.Reader))
		b.ok(b.assign(subscriptionID, 2, alice, roles.Reader))
		equal(b, *as[*transaction.QuotaError](b, b.assign(groupID, 3, bob, roles.Reader)),
			transaction.QuotaError{Kind: transaction.QuotaRoleAssignments, Limit: 2, Current: 2})
		b.ok(b.assign(groupID, 1, alice, roles.Reader))
		b.ok(b.assign(roles.TenantScope, 1, alice, roles.Reader))
		equal(b, *as[*transaction.QuotaError](b, b.assign(roles.TenantScope, 2, bob, roles.Reader)),
			transaction.QuotaError{Kind: transaction.QuotaTenantRoleAssignments, Limit: 1, Current: 1})
	})
	t.Run("lists at, above and below a scope, in pages", func(t *testing.T) {
		b := newBench(t, database)
		b.group("rg")
		b.group("rg-1")
		b.live("rg", "vm")
		scopes := []string{roles.TenantScope, subscriptionID, groupID, groupID + "-1", id("rg", "vm")}
		for i, scope := range scopes {
			b.ok(b.assign(scope, 2*i, alice, roles.Reader))
			b.ok(b.assign(scope, 2*i+1, bob, roles.Reader))
		}
		for _, c := range []struct {
			at           string
			above, below bool
			principals   []string
			want         []int
		}{
			{at: roles.TenantScope, above: true, below: true, want: []int{0, 1}},
			{at: subscriptionID, want: []int{2, 3}},
			{at: subscriptionID, above: true, want: []int{0, 1, 2, 3}},
			{at: subscriptionID, below: true, want: []int{2, 3, 4, 5, 6, 7, 8, 9}},
			{at: groupID, below: true, want: []int{4, 5, 8, 9}},
			{at: groupID, above: true, below: true, want: []int{0, 1, 2, 3, 4, 5, 8, 9}},
			{at: id("RG", "VM"), above: true, want: []int{0, 1, 2, 3, 4, 5, 8, 9}},
			{at: id("RG", "VM"), above: true, principals: []string{strings.ToUpper(bob)}, want: []int{1, 3, 5, 9}},
			{at: groupID, below: true, principals: []string{bob}, want: []int{5, 9}},
			{at: subscriptionID, above: true, below: true, principals: []string{bob}, want: []int{1, 3, 5, 7, 9}},
			{at: subscriptionID, above: true, below: true, principals: []string{alice, staff, bob}, want: []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}},
		} {
			wanted := map[string]bool{}
			for _, n := range c.want {
				wanted[roleName(n)] = true
			}
			for _, limit := range []int{0, 1, 3} {
				q := assignments.Query{Scope: atScope(c.at), Above: c.above, Below: c.below, Principals: c.principals, Limit: limit}
				got := map[string]bool{}
				for {
					page, err := b.Roles.Assignments(b.ctx, q)
					b.ok(err)
					for _, a := range page {
						if got[a.Name] {
							t.Errorf("%+v: %s twice", c, a.Name)
						}
						got[a.Name] = true
					}
					if limit == 0 || len(page) < limit {
						break
					}
					q.After = &page[len(page)-1]
				}
				if fmt.Sprint(got) != fmt.Sprint(wanted) {
					t.Errorf("%+v by %d: %v", c, limit, got)
				}
			}
		}
	})
}

func testRoleDefinitions(t *testing.T, database Database) {
	put := func(b *bench, tenant, id, name string) (assignments.Definition, bool, error) {
		return b.Roles.PutDefinition(b.ctx, tenant, id, func(current *assignments.Definition) (*assignments.Definition, error) {
			d := assignments.Definition{ETag: "e" + name}
			d.Name, d.Description, d.AssignableScopes, d.CreatedBy, d.UpdatedBy = name, "d", []string{subscriptionID}, "c"+name, "u"+name
			d.Permissions = []roles.Permission{{
				Actions: []string{"a/*"}, NotActions: []string{"a/b"}, DataActions: []string{"c"}, NotDataActions: []string{"d"},
			}}
			return &d, nil
		})
	}
	t.Run("one is stored, changed and deleted", func(t *testing.T) {
		b := newBench(t, database)
		first, created, err := put(b, "T", strings.ToUpper(custom), "One")
		b.ok(err)
		equal(b, created, true)
		b.clock.Pass(1000)
		second, created, err := put(b, "t", custom, "Two")
		b.ok(err)
		equal(b, created, false)
		got, err := b.Roles.Definition(b.ctx, "T", strings.ToUpper(custom))
		b.ok(err)
		equal(b, fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", second))
		equal(b, got.ID+got.Name+got.Description+got.CreatedBy+got.UpdatedBy+got.TenantID, custom+"TwodcOneuTwot")
		equal(b, got.CreatedOn, first.CreatedOn)
		equal(b, got.UpdatedOn, b.clock.Now())
		equal(b, fmt.Sprint(got.Permissions, got.AssignableScopes), "[{[a/*] [a/b] [c] [d]}] ["+subscriptionID+"]")
		_, err = b.Roles.Definition(b.ctx, "u", custom)
		b.is(err, inventory.ErrNotFound)
		_, _, err = put(b, "t", custom[:35]+"2", "Other")
		b.ok(err)
		for _, c := range []struct {
			after string
			limit int
			want  string
		}{{"", 0, "Two Other"}, {"", 1, "Two"}, {custom, 1, "Other"}, {custom[:35] + "2", 1, ""}} {
			page, err := b.Roles.Definitions(b.ctx, "t", c.after, c.limit)
			b.ok(err)
			var names []string
			for _, d := range page {
				names = append(names, d.Name)
			}
			equal(b, strings.Join(names, " "), c.want)
		}
		remove := func() error {
			return b.Roles.DeleteDefinition(b.ctx, "t", strings.ToUpper(custom), func(assignments.Definition) error { return nil })
		}
		refusal := errors.New("not now")
		b.is(b.Roles.DeleteDefinition(b.ctx, "t", custom, func(assignments.Definition) error { return refusal }), refusal)
		b.ok(remove())
		b.is(remove(), inventory.ErrNotFound)
	})
	t.Run("what is refused", func(t *testing.T) {
		b := newBench(t, database, func(o *inventory.Options) { o.Limits.Roles.DefinitionsPerTenant = 1 })
		_, _, err := put(b, "t", strings.ToUpper(roles.Reader), "Mine")
		b.is(err, assignments.ErrBuiltIn)
		b.is(b.Roles.DeleteDefinition(b.ctx, "t", roles.Reader, nil), assignments.ErrBuiltIn)
		_, _, err = put(b, "t", custom, "reader")
		b.is(err, assignments.ErrNameExists)
		_, _, err = put(b, "t", custom, "Mine")
		b.ok(err)
		_, _, err = put(b, "t", custom[:35]+"2", "mINE")
		b.is(err, assignments.ErrNameExists)
		_, _, err = put(b, "t", custom[:35]+"2", "Other")
		equal(b, *as[*transaction.QuotaError](b, err), transaction.QuotaError{Kind: transaction.QuotaRoleDefinitions, Limit: 1, Current: 1})
		_, _, err = put(b, "t", custom, "MINE")
		b.ok(err)
		_, _, err = put(b, "u", custom, "Mine")
		b.ok(err)
	})
	t.Run("one that is assigned stays", func(t *testing.T) {
		b := newBench(t, database)
		b.ok(b.define("a/b"))
		b.is(b.assign(roles.TenantScope, 1, alice, custom), assignments.ErrDefinitionNotFound) // not assignable there
		b.ok(b.assign(subscriptionID, 1, alice, custom))
		remove := func() error {
			return b.Roles.DeleteDefinition(b.ctx, "t", custom, func(assignments.Definition) error { return nil })
		}
		b.is(remove(), assignments.ErrAssigned)
		b.ok(b.unassign(subscriptionID, 1))
		b.ok(remove())
		b.is(b.assign(subscriptionID, 1, alice, custom), assignments.ErrDefinitionNotFound)
	})
}

func testGrants(t *testing.T, database Database) {
	t.Run("of a principal and its groups, at, above and below", func(t *testing.T) {
		b := newBench(t, database)
		b.group("rg")
		b.live("rg", "vm")
		b.grants(asAlice)
		b.ok(b.assign(id("rg", "vm"), 1, alice, roles.Owner))
		b.ok(b.assign(roles.TenantScope, 2, alice, roles.Reader))
		b.ok(b.assign(groupID, 3, staff, roles.Contributor))
		b.ok(b.assign(subscriptionID, 4, bob, roles.Reader))
		b.grants(asAlice, "Reader at /", "Owner at "+id("rg", "vm"))
		b.grants(asBob, "Reader at "+subscriptionID)
		b.grants(asStaff, "Reader at "+subscriptionID, "Contributor at "+groupID)
		b.grants(access.Principal{TenantID: "t"})
		g, err := b.Roles.Grants(b.ctx, "T", "", asAlice)
		b.ok(err)
		equal(b, fmt.Sprint(words(g)), "[Reader at /]")
		g, err = b.Roles.Grants(b.ctx, "u", Sub, inTenantU)
		b.ok(err)
		equal(b, len(g), 0)
		g, err = b.Roles.Grants(b.ctx, "t", Sub, asBob)
		b.ok(err)
		equal(b, g[0].Assignment, subscriptionID+"/providers/Microsoft.Authorization/roleAssignments/"+roleName(4))
	})
	t.Run("by a definition as it is now", func(t *testing.T) {
		b := newBench(t, database)
		b.ok(b.define("a/read"))
		b.ok(b.assign(subscriptionID, 1, alice, custom))
		for _, action := range []string{"a/read", "a/write"} {
			b.ok(b.define(action))
			g, err := b.Roles.Grants(b.ctx, "t", Sub, asAlice)
			b.ok(err)
			_, reads := g.Find("a/read", subscriptionID)
			equal(b, reads, action == "a/read")
		}
	})
	t.Run("where the role is assignable now", func(t *testing.T) {
		b := newBench(t, database)
		b.group("rg")
		b.group("other")
		b.live("rg", "vm")
		b.ok(b.define("a/read"))
		b.ok(b.assign(id("rg", "vm"), 1, alice, custom))
		b.ok(b.assign(subscriptionID, 2, alice, custom))
		for _, at := range []struct {
			scopes []string
			counts []string
		}{
			{[]string{strings.ToUpper(groupID)}, []string{id("rg", "vm")}},
			{[]string{subscriptionID + "/resourceGroups/other"}, nil},
			{[]string{roles.TenantScope}, []string{subscriptionID, id("rg", "vm")}},
		} {
			_, _, err := b.Roles.PutDefinition(b.ctx, tenantOfSub, custom, func(current *assignments.Definition) (*assignments.Definition, error) {
				d := *current
				d.AssignableScopes = at.scopes
				return &d, nil
			})
			b.ok(err)
			var want []string
			for _, scope := range at.counts {
				want = append(want, "Operator at "+scope)
			}
			b.grants(asAlice, want...)
		}
	})
	t.Run("an assignment with a condition grants nothing", func(t *testing.T) {
		b := newBench(t, database)
		_, _, err := b.Roles.PutAssignment(b.ctx, atScope(subscriptionID), roleName(1), func(*assignments.Assignment) (*assignments.Assignment, error) {
			return &assignments.Assignment{ScopeID: subscriptionID, PrincipalID: alice, RoleDefinition: roles.Owner, Condition: "@Resource"}, nil
		})
		b.ok(err)
		b.grants(asAlice)
		got, err := b.Roles.Assignment(b.ctx, atScope(subscriptionID), roleName(1))
		b.ok(err)
		equal(b, got.Condition, "@Resource")
	})
	t.Run("an object id of another form counts as it is written", func(t *testing.T) {
		b := newBench(t, database)
		b.ok(b.assign(subscriptionID, 1, "Subject", roles.Owner))
		b.grants(access.Principal{TenantID: "t", ObjectID: "subject"})
		b.grants(access.Principal{TenantID: "t", ObjectID: "Subject"}, "Owner at "+subscriptionID)
	})
	t.Run("a subscription that another tenant takes over has none left", func(t *testing.T) {
		b := newBench(t, database)
		b.ok(b.assign(subscriptionID, 1, alice, roles.Owner))
		for _, tenant := range []string{"u", "t"} {
			b.tenant(tenant)
			g, err := b.Roles.Grants(b.ctx, tenant, Sub, access.Principal{TenantID: tenant, ObjectID: alice})
			b.ok(err)
			equal(b, len(g), 0)
		}
	})
	t.Run("of more groups than one statement names first", func(t *testing.T) {
		b := newBench(t, database)
		b.ok(b.assign(subscriptionID, 1, staff, roles.Reader))
		for _, n := range []int{1, 2, 3, 250, 700} {
			ids := []string{staff}
			for i := range n {
				ids = append(ids, fmt.Sprintf("10000000-0000-0000-0000-%012d", i))
			}
			b.grants(access.Principal{TenantID: "t", ObjectID: bob, Groups: access.GroupsOf(ids)}, "Reader at "+subscriptionID)
		}
	})
}

// What is assigned goes with its scope, and moves with it.
func testRolesOfScopes(t *testing.T, database Database) {
	t.Run("a resource", func(t *testing.T) {
		b := newBench(t, database)
		b.group("rg")
		for _, name := range []string{"vm", "vmx"} {
			b.live("rg", name)
			b.ok(b.assign(id("rg", name), len(name), alice, roles.Owner))
		}
		b.settle(b.begin(write(index.Delete, "rg", "vm")), index.Gone)
		b.grants(asAlice, "Owner at "+id("rg", "vmx"))
		b.live("rg", "vm")
		b.grants(asAlice, "Owner at "+id("rg", "vmx"))
	})
	t.Run("a group", func(t *testing.T) {
		b := newBench(t, database)
		b.group("rg")
		b.group("rg-1")
		b.ok(b.assign(groupID, 1, alice, roles.Owner))
		b.ok(b.assign(groupID+"-1", 2, alice, roles.Owner))
		b.ok(b.DeleteGroup(b.ctx, Sub, "rg", inventory.DeleteGroupConditions{}))
		b.grants(asAlice, "Owner at "+groupID+"-1")
		b.group("rg")
		b.grants(asAlice, "Owner at "+groupID+"-1")
	})
	t.Run("a resource that moves", func(t *testing.T) {
		for _, to := range []string{Sub, otherSub} {
			m := newMover(t, database, to)
			m.live("rg", "vm")
			m.live("rg", "other")
			m.ok(m.assign(id("RG", "vm"), 1, alice, roles.Owner))
			m.ok(m.assign(id("RG", "other"), 2, alice, roles.Owner))
			job := m.started("vm")
			refuses[*index.GroupStateError](m.bench, m.assign(id("RG", "vm"), 3, bob, roles.Owner))
			m.ok(m.Moves.BeginCall(m.ctx, &job, m.call("vm"), "{}"))
			m.settles(&job, inventory.MoveResult{Moved: members("vm")})
			var all []string
			for _, sub := range slices.Compact([]string{Sub, to}) {
				g, err := m.Roles.Grants(m.ctx, "t", sub, asAlice)
				m.ok(err)
				all = append(all, words(g)...)
			}
			slices.Sort(all)
			want := []string{"Owner at " + arm.Fold(id("rg", "other")), "Owner at " + m.key("vm")}
			if !slices.Equal(all, want) {
				t.Errorf("%q, want %q", all, want)
			}
			page, err := m.Roles.Assignments(m.ctx, assignments.Query{Scope: assignments.Scope{TenantID: "t", Subscription: to, ID: m.key("vm")}})
			m.ok(err)
			equal(m.bench, len(page), 1)
			equal(m.bench, page[0].Name+page[0].ETag, roleName(1)+"e")
			equal(m.bench, page[0].ScopeID, strings.Replace(id("Target", "vm"), Sub, to, 1))
		}
	})
}

// testRolesAtOnce asserts what replicas may not both do.
func testRolesAtOnce(t *testing.T, database Database) {
	both := func(pair [2]*bench, do func(i int, b *bench) error) (errs [2]error) {
		var wait sync.WaitGroup
		for i, b := range pair {
			wait.Go(func() { errs[i] = do(i, b) })
		}
		wait.Wait()
		return errs
	}
	pair := newPair(t, database, func(o *inventory.Options) { o.Limits.Roles.PerTenant = 1 })
	pair[0].group("rg")
	for n := range 15 {
		for _, scope := range []string{roles.TenantScope, subscriptionID, groupID} {
			errs := both(pair, func(i int, b *bench) error { return b.assign(scope, 2*n+i, alice, roles.Reader) })
			first := slices.Index(errs[:], nil)
			if first < 0 || errs[1-first] == nil {
				t.Fatalf("both assign the same at %s, or neither: %v", scope, errs)
			}
			refuses[*assignments.ExistsError](pair[0], errs[1-first])
			pair[0].ok(pair[1].unassign(scope, 2*n+first))
		}
		// One name stands for one grant.
		errs := both(pair, func(i int, b *bench) error {
			return b.assign([]string{subscriptionID, groupID}[i], n, alice, roles.Owner)
		})
		if (errs[0] == nil) == (errs[1] == nil) {
			t.Fatalf("one name at two scopes: %v", errs)
		}
		pair[0].is(errors.Join(errs[:]...), assignments.ErrUpdate)
		pair[0].ok(pair[0].unassign([]string{subscriptionID, groupID}[slices.Index(errs[:], nil)], n))
		// The last place of a tenant is taken once.
		errs = both(pair, func(i int, b *bench) error {
			return b.assign(roles.TenantScope, 2*n+i, []string{alice, bob}[i], roles.Reader)
		})
		last := slices.Index(errs[:], nil)
		if last < 0 {
			t.Fatal(errs)
		}
		refuses[*transaction.QuotaError](pair[0], errs[1-last])
		pair[0].ok(pair[0].unassign(roles.TenantScope, 2*n+last))
		// A role is assigned, or deleted.
		pair[0].ok(pair[0].define("a/b"))
		errs = both(pair, func(i int, b *bench) error {
			if i == 0 {
				return b.Roles.DeleteDefinition(b.ctx, tenantOfSub, custom, func(assignments.Definition) error { return nil })
			}
			return b.assign(groupID, n, alice, custom)
		})
		switch {
		case errs[0] == nil:
			pair[0].is(errs[1], assignments.ErrDefinitionNotFound)
		case errs[1] == nil:
			pair[0].is(errs[0], assignments.ErrAssigned)
			pair[0].ok(pair[0].unassign(groupID, n))
		default:
			t.Fatal(errs)
		}
		// Nothing is left at a resource that goes, whatever is assigned there meanwhile.
		vm := id("rg", fmt.Sprint("vm", n))
		pair[0].live("rg", fmt.Sprint("vm", n))
		pair[0].ok(pair[0].assign(vm, 1000+n, alice, roles.Reader))
		ticket := pair[0].begin(write(index.Delete, "rg", fmt.Sprint("vm", n)))
		errs = both(pair, func(i int, b *bench) error {
			switch {
			case i == 0:
				b.settle(ticket, index.Gone)
				return nil
			case n%3 == 0:
				return b.assign(vm, 1000+n, alice, roles.Reader) // again
			case n%3 == 1:
				return b.assign(vm, 2000+n, bob, roles.Reader)
			}
			return b.unassign(vm, 1000+n)
		})
		if errs[1] != nil {
			pair[1].is(errs[1], inventory.ErrNotFound)
		}
		left, err := pair[1].Roles.Assignments(pair[1].ctx, assignments.Query{Scope: atScope(vm), Below: true})
		pair[1].ok(err)
		equal(pair[1], len(left), 0)
	}
}
