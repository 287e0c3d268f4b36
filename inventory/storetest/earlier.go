package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"portico/access/roles"
	"portico/inventory"
	"portico/inventory/assignments"
	"portico/inventory/index"
	"portico/inventory/jobrow"
	"portico/inventory/operations"
)

// The subscription that testdata/stores/fill.py works in, and its tenant.
const (
	filledSub    = "00000000-0000-0000-0000-000000000001"
	filledTenant = "00000000-0000-0000-0000-0000000000aa"
	filledGroup  = "/subscriptions/" + filledSub + "/resourceGroups/Kept"
)

// UseEarlier goes on with a store that an earlier version had filled. has reports whether
// that version had a migration.
func UseEarlier(t *testing.T, store *inventory.Store, has func(migration string) bool) {
	b := &bench{T: t, Store: store, ctx: t.Context()}
	b.findsEarlier(has)
	b.findsEarlierJobs(has)
	if has("5") { // each has more than the one before
		name, err := b.Tags.Name(b.ctx, filledSub, "cost")
		b.ok(err)
		equal(b, fmt.Sprint(name.Name, name.Values), "cost[low]")
	}
	if has("2") {
		locks, err := b.Locks(b.ctx, filledSub, filledGroup, true)
		b.ok(err)
		equal(b, len(locks), 1)
		equal(b, locks[0].Notes, "why")
	}
	b.earlierRoles(has("14"))
	b.writesOverEarlier(has("2"), has("17"))
}

// findsEarlier compares what the index says with what was created.
func (b *bench) findsEarlier(has func(string) bool) {
	b.Helper()
	subs, err := b.AllSubscriptions(b.ctx, "", 0)
	b.ok(err)
	var names []string
	for _, s := range subs {
		names = append(names, fmt.Sprint(s.DisplayName, " ", s.State, " of ", s.TenantID[34:]))
	}
	equal(b, strings.Join(names, ", "), "Demo Enabled of aa, Second Warned of bb")
	groups, err := b.Groups(b.ctx, inventory.GroupQuery{Subscription: filledSub})
	b.ok(err)
	names = nil
	for _, g := range groups {
		names = append(names, fmt.Sprint(g.Name, " ", g.Tags, " ", g.State))
	}
	dying := index.GroupActive
	if has("2") {
		dying = index.GroupDeleting
	}
	equal(b, strings.Join(names, ", "), fmt.Sprint("dying map[] ", dying, ", Kept map[Stage:test] ", index.GroupActive, ", other map[] ", index.GroupActive))
	rows, err := b.Resources(b.ctx, inventory.ResourceQuery{Subscription: filledSub})
	b.ok(err)
	names = nil
	for _, r := range rows {
		names = append(names, r.Name+" in "+r.Region)
	}
	equal(b, strings.Join(names, ", "),
		"stays in westus, slow in westus, unheard in westus, vm-0 in westus, VM-1 in eastus, VM-1/d in eastus, VM-2 in northeurope, w in eastus")
	for value, want := range map[string]string{"changed": "vm-0", "2": "VM-2", "none": ""} {
		rows, err := b.Resources(b.ctx, inventory.ResourceQuery{Subscription: filledSub, Tag: "cost", TagValue: value, OfTagValue: true})
		b.ok(err)
		got := ""
		for _, r := range rows {
			got += r.Name
		}
		equal(b, got, want)
	}
	registrations, err := b.Registrations(b.ctx, filledSub)
	b.ok(err)
	equal(b, slices.ContainsFunc(registrations, func(r inventory.Registration) bool {
		return r.Namespace == "contoso.insight" && r.State == inventory.Registered
	}), true)
}

// findsEarlierJobs wants the work that was under way, with its region, and what was
// sealed to be readable.
func (b *bench) findsEarlierJobs(has func(string) bool) {
	b.Helper()
	jobs, err := b.Jobs(b.ctx, jobrow.Query{})
	b.ok(err)
	open := map[string]string{}
	for _, j := range jobs {
		if !j.State.Ended() {
			open[j.Kind] += j.Region
		}
		if j.Kind != operations.BatchJob {
			continue
		}
		for number := range 21 {
			answer, err := b.Batches.Answer(b.ctx, j.ID, number)
			b.ok(err)
			equal(b, strings.Contains(string(answer), "200"), true)
		}
	}
	_, deleting := open[inventory.GroupDeleteJob]
	equal(b, deleting, has("2"))
	equal(b, strings.Contains(open[inventory.VerifyJob], "westus"), true)
}

func (b *bench) earlierRoles(assigned bool) {
	b.Helper()
	at := assignments.Scope{TenantID: filledTenant, Subscription: filledSub, Group: "Kept", ID: filledGroup}
	found, err := b.Roles.Assignments(b.ctx, assignments.Query{Scope: at})
	b.ok(err)
	equal(b, len(found) == 1, assigned)
	_, _, err = b.Roles.PutAssignment(b.ctx, at, roleName(1), func(*assignments.Assignment) (*assignments.Assignment, error) {
		return &assignments.Assignment{ScopeID: filledGroup, PrincipalID: alice, PrincipalType: "User", RoleDefinition: roles.Contributor, ETag: "e"}, nil
	})
	b.ok(err)
}

// writesOverEarlier deletes what was there and creates it anew, and makes a new group;
// events tell of it. What is locked stays.
func (b *bench) writesOverEarlier(locked, events bool) {
	b.Helper()
	number := int64(len(b.eventsAfter(0)))
	equal(b, number > 20, events)
	over := func(kind index.WriteKind, id string) inventory.Write {
		row, err := b.Resource(b.ctx, filledSub, id)
		b.ok(err)
		return inventory.Write{
			Kind: kind, Subscription: filledSub, Group: row.Group, Key: row.Key, ID: row.ID, Parent: row.Parent,
			Type: row.Type, TypeName: row.TypeName, Region: row.Region, Location: row.Location, APIVersion: row.APIVersion, Sender: "test",
		}
	}
	if locked {
		refuses[*inventory.LockedError](b, b.begins(over(index.Delete, filledGroup+"/providers/Contoso.Compute/virtualMachines/VM-1")))
	}
	w := over(index.Put, "/subscriptions/"+filledSub+"/resourceGroups/other/providers/Contoso.Insight/workspaces/w")
	gone := w
	gone.Kind = index.Delete
	equal(b, b.settle(b.begin(gone), index.Gone).Settled, true)
	_, err := b.Resource(b.ctx, filledSub, w.Key)
	b.is(err, inventory.ErrNotFound)
	equal(b, b.settle(b.begin(w), index.Succeeded).Row.Phase, index.Live)
	_, created, err := b.EditGroup(b.ctx, filledSub, "made", func(*inventory.Group) (*inventory.Group, error) {
		return &inventory.Group{Name: "made", Location: "westus", ETag: "1"}, nil
	})
	b.ok(err)
	equal(b, created, true)
	var reported []string
	for _, e := range b.eventsAfter(number) {
		if e.Key == w.Key {
			reported = append(reported, e.Action[strings.LastIndexByte(e.Action, '/')+1:])
		}
	}
	equal(b, strings.Join(reported, " "), "delete write")
}
