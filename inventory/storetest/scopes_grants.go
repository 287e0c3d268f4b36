package storetest

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"portico/access/roles"
	"portico/arm"
	"portico/inventory/assignments"
	"portico/inventory/index"
	"portico/inventory/memory"
)

// Where the model of two replicas assigns a role to one principal: for its first tenant,
// in its subscription, and in the group "group-0".
const (
	atTenant = iota
	atSubscription
	atGroup
)

// grantsHeld is what the database holds of the principal's roles.
type grantsHeld struct {
	at      [3]bool
	defined string // the action of the custom role, which is assigned in the subscription
}

// String shows what is granted as shown does.
func (g grantsHeld) String() string {
	var all []string
	for i, text := range []string{"Reader at the tenant", g.defined + " in the subscription", "Owner in the group"} {
		if g.at[i] {
			all = append(all, text)
		}
	}
	return strings.Join(all, ", ")
}

// shown shows grants that a store returned.
func (r *replicas) shown(granted roles.Grants) string {
	var all []string
	for _, g := range granted {
		switch {
		case g.Scope == roles.TenantScope && g.Role.ID() == roles.Reader:
			all = append(all, "Reader at the tenant")
		case g.Scope == arm.Fold(r.place(atSubscription).ID):
			for _, action := range []string{"a/read", "a/write"} {
				if g.Role.Allows(action) {
					all = append(all, action+" in the subscription")
				}
			}
		case g.Scope == arm.Fold(r.place(atGroup).ID) && g.Role.ID() == roles.Owner:
			all = append(all, "Owner in the group")
		default:
			all = append(all, fmt.Sprintf("%+v", g))
		}
	}
	return strings.Join(all, ", ")
}

func (r *replicas) place(where int) assignments.Scope {
	at := assignments.Scope{TenantID: r.tenants[0], ID: roles.TenantScope}
	if where != atTenant {
		at.Subscription, at.ID = r.sub, "/subscriptions/"+r.sub
	}
	if where == atGroup {
		at.Group = "group-0"
		at.ID += "/resourceGroups/group-0"
	}
	return at
}

// mine reports whether the subscription is of the model's first tenant.
func (r *replicas) mine() bool {
	return strings.HasPrefix(r.past[len(r.past)-1].facts["subscription"], r.tenants[0])
}

// holds enters whether a role is assigned.
func (r *replicas) holds(i, where int, is bool) {
	if r.grants.at[where] = is; where == atTenant {
		r.changedOfTenant(i)
	} else {
		r.changed(i, "grants", r.grants.String())
	}
}

func (r *replicas) assigns(t *rapid.T, i, where int) {
	role := []string{roles.Reader, custom, roles.Owner}[where]
	_, _, err := r.pair[i].Roles.PutAssignment(r.pair[i].ctx, r.place(where), roleName(where), func(*assignments.Assignment) (*assignments.Assignment, error) {
		return &assignments.Assignment{ScopeID: r.place(where).ID, PrincipalID: alice, RoleDefinition: role}, nil
	})
	if err == nil {
		r.holds(i, where, true)
		return
	}
	facts := r.past[len(r.past)-1].facts
	refused := where != atTenant && facts["subscription"] != r.enabled() || where == atGroup && facts["group-0"] == "" ||
		where == atSubscription && r.grants.defined == ""
	if !refused {
		t.Fatal(err)
	}
}

func (r *replicas) unassigns(t *rapid.T, i, where int) {
	err := r.pair[i].Roles.DeleteAssignment(r.pair[i].ctx, r.place(where), roleName(where), func(assignments.Assignment) error { return nil })
	switch {
	case err == nil:
		r.holds(i, where, false)
	case r.grants.at[where] && (where == atTenant || r.mine()):
		t.Fatal(err)
	}
}

func (r *replicas) defines(t *rapid.T, i int, action string) {
	_, _, err := r.pair[i].Roles.PutDefinition(r.pair[i].ctx, r.tenants[0], custom, func(*assignments.Definition) (*assignments.Definition, error) {
		var d assignments.Definition
		d.Name, d.AssignableScopes = "Operator", []string{"/subscriptions/" + r.sub}
		d.Permissions = []roles.Permission{{Actions: []string{action}}}
		return &d, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	r.grants.defined = action
	r.changedOfTenant(i)
}

// knows asserts what a store says of alice's roles, and from where.
func (b *bench) knows(remembered bool, want ...string) {
	b.Helper()
	got, cached, err := b.Scopes.GrantsAt(b.ctx, strings.ToUpper(tenantOfSub), strings.ToUpper(Sub), asAlice, "/", b.clock.Now())
	b.ok(err)
	if fmt.Sprint(words(got.Grants)) != fmt.Sprint(want) || cached != remembered {
		b.Errorf("granted %q, remembered %t; want %q, %t", words(got.Grants), cached, want, remembered)
	}
}

// What is assigned at a resource is forgotten with it, by every replica; a resource that
// goes without anything assigned has nothing forgotten.
func testGrantsRemembered(t *testing.T, database Database) {
	for name, alone := range map[string]bool{"in a transaction of its own": true, "beside other writes": false} {
		t.Run("R11 a resource goes "+name, func(t *testing.T) {
			pair := newPair(t, database)
			a, b := pair[0], pair[1]
			a.group("rg")
			for _, vm := range []string{"vm", "other"} {
				a.live("rg", vm)
			}
			a.ok(a.assign(id("rg", "vm"), 1, alice, roles.Owner))
			owner := "Owner at " + arm.Fold(id("rg", "vm"))
			gone := func(vm string) {
				settles := []func(){func() { a.settle(a.begin(write(index.Delete, "rg", vm)), index.Gone) }}
				for i := range 20 {
					if !alone {
						settles = append(settles, func() { a.live("rg", fmt.Sprint("beside", i)) })
					}
				}
				var wait sync.WaitGroup
				for _, settle := range settles {
					wait.Go(settle)
				}
				wait.Wait()
			}
			for _, one := range pair {
				one.ok(one.Scopes.Ask(one.ctx))
				one.knows(false, owner)
				one.knows(true, owner)
			}
			gone("other")
			a.ok(b.Scopes.Ask(b.ctx))
			for _, one := range pair {
				one.knows(true, owner)
			}
			gone("vm")
			a.knows(false)
			a.knows(true)
			a.ok(b.Scopes.Ask(b.ctx))
			b.knows(false)
		})
	}
	t.Run("R11 of many grants a question reads those above its scope, and a list all", func(t *testing.T) {
		pair := newPair(t, database)
		a, b := pair[0], pair[1]
		const groups = 90
		n := 0
		for i := range groups {
			name := fmt.Sprintf("rg%02d", i)
			a.group(name)
			for _, role := range []string{roles.Reader, roles.Contributor, roles.Owner} {
				a.ok(a.assign(subscriptionID+"/resourceGroups/"+name, n, alice, role))
				n++
			}
		}
		a.ok(a.assign(roles.TenantScope, n, alice, roles.Reader))
		at := func(one *bench, scope string, remembered bool, want ...string) {
			t.Helper()
			held, cached, err := one.Scopes.GrantsAt(one.ctx, tenantOfSub, Sub, asAlice, scope, one.clock.Now())
			one.ok(err)
			now, err := one.Roles.GrantsAt(one.ctx, tenantOfSub, Sub, asAlice, scope)
			one.ok(err)
			for from, h := range map[string]roles.CallerGrants{"memory": held, "the store": now} {
				if got := words(h.Grants); fmt.Sprint(got) != fmt.Sprint(want) || h.Whole || !h.Any() {
					t.Errorf("at %s, by %s: %q, want %q; whole %t", scope, from, got, want, h.Whole)
				}
			}
			if cached != remembered {
				t.Errorf("at %s: remembered %t", scope, cached)
			}
		}
		all := func(one *bench, want int) {
			t.Helper()
			g, err := one.Scopes.Grants(one.ctx, tenantOfSub, Sub, asAlice, one.clock.Now())
			one.ok(err)
			if len(g) != want {
				t.Errorf("%d grants in all, want %d", len(g), want)
			}
		}
		inGroup := strings.ToUpper(subscriptionID + "/resourceGroups/rg07/providers/Contoso.Compute/virtualMachines/vm")
		folded := arm.Fold(subscriptionID + "/resourceGroups/rg07")
		for _, remembered := range []bool{false, true} {
			at(b, inGroup, remembered, "Reader at /", "Reader at "+folded, "Contributor at "+folded, "Owner at "+folded)
			at(b, subscriptionID, remembered, "Reader at /")
			all(b, n+1)
		}
		before := b.Stats().Statements
		all(b, n+1)
		if reads := b.Stats().Statements - before; reads != 2 {
			t.Errorf("a list for which nothing has changed takes %d statements, want the 2 generations", reads)
		}
		a.ok(a.unassign(subscriptionID+"/resourceGroups/rg07", 7*3))
		all(b, n) // though b has not asked what has changed
		a.ok(a.unassign(roles.TenantScope, n))
		all(b, n-1)
		b.ok(b.Scopes.Ask(b.ctx))
		at(b, inGroup, false, "Contributor at "+folded, "Owner at "+folded)
		at(b, subscriptionID, false)
	})
	t.Run("R11 what belongs to the tenant counts in all its subscriptions", func(t *testing.T) {
		pair := newPair(t, database)
		a, b := pair[0], pair[1]
		a.knows(false)
		b.knows(false)
		a.knows(true)
		b.ok(b.assign(roles.TenantScope, 1, alice, roles.Reader))
		b.knows(false, "Reader at /")
		a.ok(a.Scopes.Ask(a.ctx))
		a.knows(false, "Reader at /")
		b.ok(b.unassign(roles.TenantScope, 1))
		a.clock.Pass(memory.Bound + time.Millisecond)
		a.knows(false)
	})
}
