package storetest

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"portico/inventory"
	"portico/inventory/index"
	"portico/inventory/polls"
)

func testOpening(t *testing.T, database Database) {
	t.Run("what was written is there after opening again", func(t *testing.T) {
		clock := NewClock()
		open := database(t)
		ctx := context.Background()
		first, err := open(ctx, Options(clock))
		if err != nil {
			t.Fatal(err)
		}
		b := &bench{T: t, Store: first, ctx: ctx, clock: clock}
		b.ok(Seed(ctx, first))
		b.group("rg")
		want := b.live("rg", "vm")
		b.ok(first.Close())
		again, err := open(ctx, Options(clock))
		b.ok(err)
		defer again.Close()
		got, err := again.Resource(ctx, Sub, id("rg", "vm"))
		b.ok(err)
		if got.Generation != want.Generation || got.Region != "westus" || got.Phase != index.Live {
			t.Fatalf("got %+v, want %+v", got, want)
		}
	})
	t.Run("a closed store is unavailable", func(t *testing.T) {
		b := newBench(t, database)
		b.ok(b.Ready(b.ctx))
		b.ok(b.Close())
		b.is(b.Ready(b.ctx), inventory.ErrUnavailable)
		_, err := b.Resource(b.ctx, Sub, "x")
		b.is(err, inventory.ErrUnavailable)
		_, err = b.Begin(b.ctx, write(index.Put, "rg", "vm"))
		b.is(err, inventory.ErrUnavailable)
		_, err = b.Locations.Refresh(b.ctx, Sub, "x")
		b.is(err, inventory.ErrUnavailable)
		b.ok(b.Close())
	})
	t.Run("a call ends with its context", func(t *testing.T) {
		b := newBench(t, database)
		ctx, cancel := context.WithCancel(b.ctx)
		cancel()
		_, err := b.Resource(ctx, Sub, "x")
		b.is(err, context.Canceled)
		_, err = b.Begin(ctx, write(index.Put, "rg", "vm"))
		b.is(err, context.Canceled)
	})
}

func testSubscriptions(t *testing.T, database Database) {
	t.Run("seeds create and never overwrite", func(t *testing.T) {
		b := newBench(t, database)
		seed := inventory.Subscription{ID: "AAAA", TenantID: "t1", DisplayName: "first", Covered: true}
		b.ok(b.SeedSubscriptions(b.ctx, []inventory.Subscription{seed}))
		seed.DisplayName, seed.State = "second", inventory.Disabled
		b.ok(b.SeedSubscriptions(b.ctx, []inventory.Subscription{seed, {ID: "bbbb", TenantID: "t2"}}))
		got, err := b.Subscription(b.ctx, "aAaA")
		b.ok(err)
		want := inventory.Subscription{ID: "aaaa", TenantID: "t1", DisplayName: "first", Covered: true, Version: 1,
			Created: b.clock.Now(), Changed: b.clock.Now()}
		equal(b, reflect.DeepEqual(got, want), true)
	})
	t.Run("put creates, then replaces", func(t *testing.T) {
		b := newBench(t, database)
		started := b.clock.Now()
		_, created, err := b.PutSubscription(b.ctx, inventory.Subscription{ID: "aaaa", TenantID: "t1", Covered: true})
		b.ok(err)
		equal(b, created, true)
		b.clock.Pass(time.Hour)
		got, created, err := b.PutSubscription(b.ctx, inventory.Subscription{ID: "AAAA", TenantID: "t2", DisplayName: "d", State: inventory.Warned})
		b.ok(err)
		equal(b, created, false)
		equal(b, reflect.DeepEqual(got, inventory.Subscription{ID: "aaaa", TenantID: "t2", DisplayName: "d", State: inventory.Warned,
			Covered: true, Version: 2, Created: started, Changed: started.Add(time.Hour)}), true)
		_, err = b.Subscription(b.ctx, "cccc")
		b.is(err, inventory.ErrNotFound)
	})
	t.Run("lists page by tenant and drop none", func(t *testing.T) {
		b := newBench(t, database)
		var seeds []inventory.Subscription
		for i := range 10 {
			seeds = append(seeds, inventory.Subscription{ID: fmt.Sprintf("%04d", i), TenantID: fmt.Sprint("t", i%2)})
		}
		b.ok(b.SeedSubscriptions(b.ctx, seeds))
		key := func(s inventory.Subscription) string { return s.ID }
		for tenant, want := range map[string]int{"": 0, "t0": 5, "T1": 5, "t2": 0} {
			got := pages(b, func(after string) ([]inventory.Subscription, error) {
				return b.SubscriptionsOf(b.ctx, tenant, after, 3)
			}, key)
			equal(b, len(got), want)
		}
		all := pages(b, func(after string) ([]inventory.Subscription, error) { return b.AllSubscriptions(b.ctx, after, 3) }, key)
		equal(b, len(all), 11)
	})
}

// pages walks a list to its end and asserts that it is sorted and has no duplicates.
func pages[T any](b *bench, page func(after string) ([]T, error), key func(T) string) []string {
	b.Helper()
	var all []string
	for after := ""; ; {
		items, err := page(after)
		b.ok(err)
		if len(items) == 0 {
			break
		}
		for _, item := range items {
			all = append(all, key(item))
		}
		after = all[len(all)-1]
	}
	if !slices.IsSorted(all) || len(slices.Compact(slices.Clone(all))) != len(all) {
		b.Fatalf("the pages are not one sorted list: %q", all)
	}
	return all
}

func testGroups(t *testing.T, database Database) {
	t.Run("create, change, read", func(t *testing.T) {
		b := newBench(t, database)
		created, isNew, err := b.EditGroup(b.ctx, Sub, "My-RG", func(current *inventory.Group) (*inventory.Group, error) {
			if current != nil {
				t.Errorf("there is a group already: %+v", current)
			}
			return &inventory.Group{Name: "My-RG", Location: "westus", ManagedBy: "m", Tags: map[string]string{"a": "b"}, ETag: "e1"}, nil
		})
		b.ok(err)
		equal(b, isNew, true)
		b.clock.Pass(time.Minute)
		changed, isNew, err := b.EditGroup(b.ctx, Sub, "my-rg", func(current *inventory.Group) (*inventory.Group, error) {
			equal(b, current.Tags["a"], "b")
			current.Tags["c"] = "d"
			current.Name, current.ETag = "MY-rg", "e2"
			return current, nil
		})
		b.ok(err)
		equal(b, isNew, false)
		got, err := b.Group(b.ctx, Sub, "MY-RG")
		b.ok(err)
		equal(b, got.Name+got.Key+got.ETag+got.ManagedBy+got.Location, "MY-rgmy-rge2mwestus")
		equal(b, len(got.Tags), 2)
		equal(b, got.Incarnation, created.Incarnation)
		equal(b, got.Generation, changed.Generation)
		equal(b, got.Generation == created.Generation, false)
		equal(b, got.Changed.Sub(got.Created), time.Minute)
	})
	t.Run("a refused edit writes nothing", func(t *testing.T) {
		b := newBench(t, database)
		refusal := errors.New("no")
		_, _, err := b.EditGroup(b.ctx, Sub, "rg", func(*inventory.Group) (*inventory.Group, error) {
			return &inventory.Group{Location: "westus"}, refusal
		})
		equal(b, err, refusal)
		_, err = b.Group(b.ctx, Sub, "rg")
		b.is(err, inventory.ErrNotFound)
		before := b.group("rg")
		_, _, err = b.EditGroup(b.ctx, Sub, "rg", func(current *inventory.Group) (*inventory.Group, error) {
			current.Tags = map[string]string{"a": "b"}
			return current, refusal
		})
		equal(b, err, refusal)
		after, err := b.Group(b.ctx, Sub, "rg")
		b.ok(err)
		equal(b, after.Generation, before.Generation)
	})
	t.Run("a group made anew is another incarnation", func(t *testing.T) {
		b := newBench(t, database)
		first := b.group("rg")
		b.ok(b.DeleteGroup(b.ctx, Sub, "RG", inventory.DeleteGroupConditions{}))
		b.is(b.DeleteGroup(b.ctx, Sub, "rg", inventory.DeleteGroupConditions{}), inventory.ErrNotFound)
		second := b.group("rg")
		equal(b, first.Incarnation == second.Incarnation, false)
		w := write(index.Put, "rg", "vm")
		w.Incarnation = first.Incarnation
		_, err := b.Begin(b.ctx, w)
		b.is(err, index.ErrGroupNotFound)
		w.Incarnation = second.Incarnation
		b.begin(w)
	})
	t.Run("pages", func(t *testing.T) {
		b := newBench(t, database)
		// '-' sorts before '/', and capitals before small letters, bytewise.
		names := []string{"rg", "rg-1", "RG_2", "rg(3)", "rg.4", "Zeta", "alpha", "ärger", "rg%5"}
		for _, name := range names {
			b.group(name)
		}
		got := pages(b, func(after string) ([]inventory.Group, error) {
			return b.Groups(b.ctx, inventory.GroupQuery{Subscription: Sub, After: after, Limit: 2})
		}, func(g inventory.Group) string { return g.Key })
		equal(b, len(got), len(names))
		all, err := b.Groups(b.ctx, inventory.GroupQuery{Subscription: Sub})
		b.ok(err)
		equal(b, len(all), len(names))
		others, err := b.Groups(b.ctx, inventory.GroupQuery{Subscription: "other"})
		b.ok(err)
		equal(b, len(others), 0)
	})
}

func testRegistrations(t *testing.T, database Database) {
	b := newBench(t, database)
	got, err := b.Registration(b.ctx, Sub, "Contoso.Compute")
	b.ok(err)
	equal(b, got.Subscription+" "+got.Namespace+" "+got.State.String(), Sub+" contoso.compute NotRegistered")
	for _, want := range []inventory.RegistrationState{inventory.Registering, inventory.Registered} {
		change := b.Register
		if want == inventory.Registered {
			change = func(ctx context.Context, c inventory.RegistrationChange) (inventory.Registration, error) {
				return b.SettleRegistration(ctx, c.Subscription, c.Namespace, nil)
			}
		}
		got, err = change(b.ctx, inventory.RegistrationChange{Subscription: Sub, Namespace: "Contoso.Compute"})
		b.ok(err)
		equal(b, got.State, want)
	}
	refusal := errors.New("no")
	_, err = b.Unregister(b.ctx, inventory.RegistrationChange{Subscription: Sub, Namespace: "contoso.COMPUTE", Check: func(r inventory.Registration) error {
		equal(b, r.State, inventory.Registered)
		return refusal
	}})
	equal(b, err, refusal)
	all, err := b.Registrations(b.ctx, Sub)
	b.ok(err)
	equal(b, len(all), 1)
	equal(b, all[0].State, inventory.Registered)

	b.group("rg")
	w := write(index.Put, "rg", "vm")
	for _, namespace := range []string{"Contoso", "Contoso.Compute2", "Contoso.Compute"} {
		equal(b, b.inUse(namespace), false)
	}
	b.begin(w)
	for namespace, want := range map[string]bool{"CONTOSO.compute": true, "Contoso": false, "Contoso.Comput": false, "Contoso.Compute2": false} {
		equal(b, b.inUse(namespace), want)
	}
}

// inUse reports whether resources prevent the unregistration of a namespace, which is
// registered before and afterwards.
func (b *bench) inUse(namespace string) bool {
	b.Helper()
	c := inventory.RegistrationChange{Subscription: Sub, Namespace: namespace}
	_, err := b.Register(b.ctx, c)
	b.ok(err)
	_, err = b.Unregister(b.ctx, c)
	if errors.Is(err, inventory.ErrNamespaceInUse) {
		return true
	}
	b.ok(err)
	_, err = b.Register(b.ctx, c)
	b.ok(err)
	return false
}

func testOperations(t *testing.T, database Database) {
	b := newBench(t, database)
	o := polls.Operation{Subscription: Sub, Token: "ab", Resource: "/r", Method: "PUT", Namespace: "Contoso.Compute",
		Type: "virtualMachines", Region: "westus", APIVersion: "2024-01-01", TenantID: "t", ObjectID: "o",
		Created: b.clock.Now(), Until: b.clock.Now().Add(time.Hour)}
	b.ok(b.Operations.Record(b.ctx, o))
	got, err := b.Operations.Operation(b.ctx, Sub, "ab")
	b.ok(err)
	equal(b, got, o)
	o.Region, o.Until = "eastus", o.Until.Add(time.Hour)
	o.Origin, o.Target, o.StatusTarget, o.Substitute = "/r", "/Polls/1?t=a%2Fb", "/Statuses/1?t=a%2Fb", true
	b.ok(b.Operations.Record(b.ctx, o))
	got, err = b.Operations.Operation(b.ctx, Sub, "ab")
	b.ok(err)
	equal(b, got, o)
	_, err = b.Operations.Operation(b.ctx, "other", "ab")
	b.is(err, inventory.ErrNotFound)
	for renewed, want := range map[time.Duration]time.Duration{-time.Minute: 0, time.Minute: time.Minute} {
		b.ok(b.Operations.Renew(b.ctx, Sub, "ab", o.Until.Add(renewed)))
		renewal := o
		renewal.Until = o.Until.Add(want)
		got, err = b.Operations.Operation(b.ctx, Sub, "ab")
		b.ok(err)
		equal(b, got, renewal)
		b.ok(b.Operations.Record(b.ctx, o))
	}
	b.ok(b.Operations.Renew(b.ctx, Sub, "unknown", o.Until))
	_, err = b.Operations.Operation(b.ctx, Sub, "unknown")
	b.is(err, inventory.ErrNotFound)
	// Known operations stay; unknown and expired ones are learned.
	learned := polls.Operation{Subscription: Sub, Token: "ab", Method: "GET", Namespace: "Contoso.Compute", Region: "westus",
		Created: b.clock.Now(), Until: b.clock.Now().Add(5 * time.Hour)}
	b.ok(b.Operations.Learn(b.ctx, learned))
	got, err = b.Operations.Operation(b.ctx, Sub, "ab")
	b.ok(err)
	equal(b, got, o)
	learned.Token, learned.Until = "ef", b.clock.Now().Add(time.Hour)
	b.ok(b.Operations.Learn(b.ctx, learned))
	got, err = b.Operations.Operation(b.ctx, Sub, "ef")
	b.ok(err)
	equal(b, got, learned)
	b.clock.Pass(time.Hour)
	learned.Region, learned.Until = "eastus", b.clock.Now().Add(time.Minute)
	b.ok(b.Operations.Learn(b.ctx, learned))
	got, err = b.Operations.Operation(b.ctx, Sub, "ef")
	b.ok(err)
	equal(b, got, learned)

	b.clock.Pass(30 * time.Minute)
	n, err := b.Operations.Forget(b.ctx, 10)
	b.ok(err)
	equal(b, n, 1)
	b.clock.Pass(30 * time.Minute)
	_, err = b.Operations.Operation(b.ctx, Sub, "ab")
	b.is(err, inventory.ErrNotFound)
	n, err = b.Operations.Forget(b.ctx, 10)
	b.ok(err)
	equal(b, n, 1)

	// Operations of a write are recorded with its answer, and name the job that follows
	// it.
	b.group("rg")
	o.Until = b.clock.Now().Add(time.Hour)
	second := o
	second.Token = "cd"
	result, err := b.Settle(b.ctx, b.begin(write(index.Put, "rg", "vm")), inventory.WriteResult{
		Outcome: index.Accepted, Operations: []polls.Operation{o, second},
	})
	b.ok(err)
	for _, want := range []polls.Operation{o, second} {
		want.Follow = result.Follow
		got, err = b.Operations.Operation(b.ctx, Sub, want.Token)
		b.ok(err)
		equal(b, got, want)
	}
	equal(b, result.Follow == [16]byte{}, false)
}
