package authorize

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"

	"portico/access"
	"portico/access/roles"
	"portico/arm"
	"portico/config"
	"portico/gateway/exchange"
)

const (
	tenant = "00000000-0000-0000-0000-0000000000aa"
	ann    = "00000000-0000-0000-0000-00000000000a"
	bob    = "00000000-0000-0000-0000-00000000000b"
	admins = "00000000-0000-0000-0000-00000000000f"

	subscription = "/subscriptions/00000000-0000-0000-0000-000000000001"
	other        = "/subscriptions/00000000-0000-0000-0000-000000000002"
	group        = subscription + "/resourcegroups/g"

	read  = "Contoso.Compute/virtualMachines/read"
	write = "Contoso.Compute/virtualMachines/write"
)

// inventory is what the store knows, and what memory knows of it.
type inventory struct {
	store, memory roles.Grants
	remembers     bool
	many          bool // the caller has more grants than one question reads
	reads         int  // of the store
	read          int  // all of the grants
	failure       error
	by            time.Time // the age of memory was judged
}

func (i *inventory) GrantsAt(_ context.Context, _, _ string, _ access.Principal, scope string) (roles.CallerGrants, error) {
	i.reads++
	return i.held(i.store, scope), i.failure
}

func (i *inventory) held(all roles.Grants, scope string) roles.CallerGrants {
	if !i.many {
		return roles.CallerGrants{Grants: all, Whole: true}
	}
	return roles.CallerGrants{Grants: slices.DeleteFunc(slices.Clone(all), func(g roles.Grant) bool { return !g.AppliesAt(scope) })}
}

type remembered struct{ *inventory }

func (r remembered) GrantsAt(ctx context.Context, tenant, subscription string, who access.Principal, scope string, now time.Time) (roles.CallerGrants, bool, error) {
	r.by = now
	if r.remembers {
		return r.held(r.memory, scope), true, nil
	}
	g, err := r.inventory.GrantsAt(ctx, tenant, subscription, who, scope)
	return g, false, err
}

func (r remembered) Grants(context.Context, string, string, access.Principal, time.Time) (roles.Grants, error) {
	r.read++
	return r.store, r.failure
}

func role(actions ...string) *roles.Role {
	return roles.Compile(roles.Definition{ID: tenant, Permissions: []roles.Permission{{Actions: actions}}})
}

var reader = roles.Grants{{Scope: group, Role: role("*/read"), Assignment: "an assignment"}}

func authorizer(i *inventory, owners ...config.Owner) *Authorizer {
	return New(&config.Auth{Mode: config.AuthTokens, Roles: config.RolesEnforced, Owners: owners}, i, remembered{i}, NewMetrics(prometheus.NewRegistry()))
}

func as(object string, groups ...string) *exchange.Exchange {
	return &exchange.Exchange{Started: time.Now(), Principal: access.Principal{TenantID: tenant, ObjectID: object, Name: "ann@example", Groups: access.GroupsOf(groups)}}
}

func code(err error) arm.Code {
	if fault, ok := errors.AsType[*arm.Error](err); ok {
		return fault.Code
	}
	return ""
}

// A right holds at its scope and below, and nowhere else. Who has nothing in a
// subscription is told that it does not exist.
func TestCheck(t *testing.T) {
	a := authorizer(&inventory{store: reader})
	nothing := authorizer(&inventory{})
	for _, c := range []struct {
		of            *Authorizer
		action, scope string
		want          arm.Code
	}{
		{a, read, group, ""}, {a, "CONTOSO.compute/VirtualMachines/READ", "/SUBSCRIPTIONS" + group[len("/subscriptions"):], ""},
		{a, read, group + "/providers/Contoso.Compute/virtualMachines/m", ""}, {a, write, group, arm.AuthorizationFailed},
		{a, read, subscription, arm.AuthorizationFailed}, {a, read, group + "2", arm.AuthorizationFailed},
		{nothing, read, group, arm.SubscriptionNotFound}, {nothing, read, "/", arm.AuthorizationFailed},
		{nothing, read, "/subscriptions/x/resourceGroups/g", arm.InvalidSubscriptionID},
		{a, "", "/", ""},
	} {
		if err := c.of.Check(t.Context(), as(ann), c.action, c.scope); code(err) != c.want || (err == nil) != (c.want == "") {
			t.Errorf("%s at %s: %v, want %s", c.action, c.scope, err, c.want)
		}
	}
	err := a.Check(t.Context(), as(ann), write, group)
	const want = "The client 'ann@example' with object id '" + ann + "' does not have authorization to perform action '" + write + "' over scope '" + group +
		"' or the scope is invalid. If access was recently granted, please refresh your credentials."
	if fault, _ := errors.AsType[*arm.Error](err); fault.Message != want || fault.Status != 403 {
		t.Errorf("%d %s", fault.Status, fault.Message)
	}
}

// Memory allows; what it denies the store is asked for, once.
func TestWhatMemoryDeniesIsReadFromTheStore(t *testing.T) {
	for _, c := range []struct {
		name  string
		in    inventory
		reads int
		want  arm.Code
	}{
		{"memory allows", inventory{memory: reader, remembers: true}, 0, ""},
		{"memory is behind", inventory{store: reader, remembers: true}, 1, ""},
		{"memory had nothing, and asked", inventory{store: reader}, 1, ""},
		{"both deny", inventory{remembers: true}, 1, arm.SubscriptionNotFound},
		{"there is nothing", inventory{}, 1, arm.SubscriptionNotFound},
	} {
		a := authorizer(&c.in)
		if err := a.Check(t.Context(), as(ann), read, group); code(err) != c.want || c.in.reads != c.reads {
			t.Errorf("%s: %v after %d questions", c.name, err, c.in.reads)
		}
	}
	in := inventory{memory: reader, remembers: true}
	if err := authorizer(&in).CheckPrincipal(t.Context(), as(ann).Principal, read, group); code(err) != arm.SubscriptionNotFound {
		t.Errorf("work that goes on: %v", err) // the store has taken it away
	}
	if part, err := authorizer(&in).Readable(t.Context(), as(ann), read, subscription); part != nil || code(err) != arm.SubscriptionNotFound {
		t.Errorf("a list: %v, %v", part, err)
	}
}

// What a caller may do is decided by memory that is young enough at that time, however long
// ago its request arrived.
func TestAgeOfMemoryIsJudgedWhenItDecides(t *testing.T) {
	in := inventory{memory: reader, remembers: true}
	x := as(ann)
	x.Started = time.Now().Add(-time.Minute)
	started := time.Now()
	if err := authorizer(&in).Check(t.Context(), x, read, group); err != nil || in.by.Before(started) {
		t.Errorf("memory was judged by its age %v before the decision, %v", started.Sub(in.by), err)
	}
}

// A store that does not answer allows nothing, and denies nothing for good.
func TestStoreThatFails(t *testing.T) {
	failure := errors.New("it is down")
	in := inventory{failure: failure, remembers: true}
	a := authorizer(&in)
	if err := a.Check(t.Context(), as(ann), read, group); !errors.Is(err, failure) {
		t.Error(err)
	}
	excused := func(context.Context, *exchange.Exchange) (bool, error) { return true, nil }
	if _, err := a.Decide(t.Context(), as(ann), Question{Action: read, Scope: group, Excused: excused}); !errors.Is(err, failure) {
		t.Error(err)
	}
	if n := testutil.ToFloat64(a.metrics.denied) + testutil.ToFloat64(a.metrics.hidden) + testutil.ToFloat64(a.metrics.allowed); n != 0 {
		t.Errorf("%v answers were counted", n)
	}
}

// Owners need no assignment: themselves, or by a group; at their scope and below.
func TestOwners(t *testing.T) {
	in := &inventory{remembers: true}
	a := authorizer(in, config.Owner{TenantID: tenant, PrincipalID: ann, Scope: "/"}, config.Owner{TenantID: tenant, PrincipalID: admins, Scope: "/Subscriptions/00000000-0000-0000-0000-000000000001"},
		config.Owner{TenantID: tenant, PrincipalID: bob, Scope: other + "/resourceGroups/g"})
	for _, c := range []struct {
		who   *exchange.Exchange
		scope string
		want  arm.Code
	}{
		{as(ann), "/", ""}, {as(ann), group, ""}, {as(ann), "/subscriptions/x", ""},
		{as(bob, admins), group, ""}, {as(bob, tenant, admins), subscription, ""}, {as(bob, admins), "/", arm.AuthorizationFailed},
		{as(bob), group, arm.SubscriptionNotFound}, {as(bob), other, arm.AuthorizationFailed}, {as(bob), other + "/resourceGroups/G", ""},
		{as(bob, admins), other + "/resourceGroups/G", ""}, {as(tenant), group, arm.SubscriptionNotFound},
	} {
		if err := a.Check(t.Context(), c.who, write, c.scope); code(err) != c.want {
			t.Errorf("%s in %s at %s: %v, want %s", c.who.Principal.ObjectID, c.who.Principal.Groups, c.scope, err, c.want)
		}
	}
	// Of another tenant, the same ids are other callers and groups.
	elsewhere := as(ann, admins)
	elsewhere.Principal.TenantID = admins
	if err := a.Check(t.Context(), elsewhere, write, group); code(err) != arm.SubscriptionNotFound {
		t.Errorf("an owner of another tenant: %v", err)
	}
	if got := a.Owners(admins, "/", true); len(got) != 0 {
		t.Errorf("another tenant is shown %v", got)
	}
	for _, c := range []struct {
		scope string
		below bool
		want  int
	}{{"/", false, 1}, {"/", true, 3}, {group, false, 2}, {subscription, true, 2}, {other, false, 1}, {other, true, 2}} {
		if got := a.Owners(tenant, c.scope, c.below); len(got) != c.want {
			t.Errorf("%s, below %v: %v", c.scope, c.below, got)
		}
	}
	ignored := New(&config.Auth{Mode: config.AuthTokens, Roles: config.RolesIgnored}, in, remembered{in}, NewMetrics(prometheus.NewRegistry()))
	if err := ignored.Check(t.Context(), as(bob), write, group); err != nil {
		t.Error(err)
	}
}

// Of a list the caller sees what it has a right to, and nothing next to it.
func TestReadable(t *testing.T) {
	a := authorizer(&inventory{store: reader, remembers: true}, config.Owner{TenantID: tenant, PrincipalID: admins, Scope: subscription + "/resourceGroups/owned"})
	x := as(ann, admins)
	part, err := a.Readable(t.Context(), x, read, subscription)
	if err != nil || part == nil {
		t.Fatal(part, err)
	}
	for id, want := range map[string]bool{
		group + "/providers/Contoso.Compute/virtualMachines/m": true, "/SUBSCRIPTIONS" + group[len("/subscriptions"):] + "/x": true,
		subscription + "/resourceGroups/OWNED/providers/Contoso.Compute/virtualMachines/m": true,
		subscription + "/resourceGroups/g2/x":                                              false, subscription: false, "": false, "/": false,
	} {
		if part.Shows(id) != want {
			t.Errorf("%s: %v", id, !want)
		}
	}
	if part.Allows(write, group+"/x") || !part.Allows(write, subscription+"/resourceGroups/owned/x") {
		t.Error("a reader may write, or an owner may not")
	}
	if whole, err := a.Readable(t.Context(), x, read, group); whole != nil || err != nil {
		t.Error(whole, err)
	}
	if none, err := a.Readable(t.Context(), x, read, group+"2"); none != nil || code(err) != arm.AuthorizationFailed {
		t.Error(none, err)
	}
	if !(*Readable)(nil).Shows("anything") || !(*Readable)(nil).Allows(write, "anything") {
		t.Error("all is not all")
	}
	id := group + "/providers/Contoso.Compute/virtualMachines/m"
	if n := testing.AllocsPerRun(100, func() { part.Shows(id) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// Of a caller with many grants all are read for a list of which it sees a part, and for
// nothing else. It has something in the subscription wherever it asks.
func TestManyGrants(t *testing.T) {
	in := inventory{store: reader, memory: reader, remembers: true, many: true}
	a := authorizer(&in)
	part, err := a.Readable(t.Context(), as(ann), read, subscription)
	if err != nil || !part.Shows(group+"/x") || part.Shows(subscription+"/resourceGroups/g2/x") || in.read != 1 {
		t.Errorf("a list: %v, %v, all read %d times", part, err, in.read)
	}
	for scope, want := range map[string]arm.Code{group + "/x": "", group + "2": arm.AuthorizationFailed, subscription: arm.AuthorizationFailed} {
		if err := a.Check(t.Context(), as(ann), read, scope); code(err) != want {
			t.Errorf("%s: %v, want %s", scope, err, want)
		}
	}
	if whole, err := a.Readable(t.Context(), as(ann), read, group); whole != nil || err != nil || in.read != 1 {
		t.Errorf("a list it sees whole: %v, %v, all read %d times", whole, err, in.read)
	}
	if part, err := a.Readable(t.Context(), as(ann), read, "/subscriptions/x"); part != nil || code(err) != arm.InvalidSubscriptionID || in.read != 1 {
		t.Errorf("no subscription: %v, %v, all read %d times", part, err, in.read)
	}
	in.failure = errors.New("it is down")
	if part, err := a.Readable(t.Context(), as(ann), read, subscription); part != nil || !errors.Is(err, in.failure) {
		t.Errorf("without the store: %v, %v", part, err)
	}
}

// The logs learn what a request asked for first, and what it was refused.
func TestNotes(t *testing.T) {
	a := authorizer(&inventory{store: reader}, config.Owner{TenantID: tenant, PrincipalID: bob, Scope: "/"})
	for _, c := range []struct {
		who        *exchange.Exchange
		ask        []string
		action, by string
	}{
		{as(ann), []string{read, "a/read"}, read, "an assignment"}, {as(ann), []string{read, write, "a/read"}, write, "denied"},
		{as(bob), []string{write}, write, "auth.owners"},
	} {
		for _, action := range c.ask {
			_ = a.Check(t.Context(), c.who, action, group)
		}
		if c.who.Action != c.action || c.who.AllowedBy != c.by {
			t.Errorf("%v: %s, %s", c.ask, c.who.Action, c.who.AllowedBy)
		}
	}
	for result, want := range map[prometheus.Counter]float64{a.metrics.allowed: 5, a.metrics.denied: 1, a.metrics.hidden: 0} {
		if got := testutil.ToFloat64(result); got != want {
			t.Errorf("%v, want %v", got, want)
		}
	}
}

// A request that memory allows costs no memory, also with owners and groups.
func TestWarmCheckDoesNotAllocate(t *testing.T) {
	in := &inventory{memory: reader, remembers: true}
	a := authorizer(in, config.Owner{TenantID: tenant, PrincipalID: admins, Scope: other})
	x := as(ann, bob, admins)
	id := group + "/providers/Contoso.Compute/virtualMachines/m"
	if n := testing.AllocsPerRun(100, func() {
		if err := a.Check(t.Context(), x, read, id); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
