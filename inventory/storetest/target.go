package storetest

import (
	"errors"
	"reflect"
	"testing"

	"portico/inventory"
)

// What Target reads together is what each part is when it is read alone.
func testTarget(t *testing.T, database Database) {
	b := newBench(t, database)
	b.group("rg")
	b.live("rg", "vm")
	const namespace = "Contoso.Compute"
	_, err := b.Register(b.ctx, inventory.RegistrationChange{Subscription: Sub, Namespace: namespace})
	b.ok(err)
	for _, named := range []struct {
		subscription, group, namespace, key string
		exist                               int
	}{
		{Sub, "RG", namespace, id("rg", "VM"), 3},
		{Sub, "rg", "Contoso.Other", id("rg", "none"), 2},
		{Sub, "none", namespace, id("none", "vm"), 1},
		{"00000000-0000-0000-0000-0000000000ff", "rg", namespace, id("rg", "vm"), 0},
	} {
		got, err := b.Target(b.ctx, inventory.TargetQuery{
			Subscription: named.subscription, Group: named.group, Namespace: named.namespace, Key: named.key, Locks: true,
		})
		b.ok(err)
		var want inventory.Target
		exist := 0
		if found, err := b.Subscription(b.ctx, named.subscription); b.found(err) {
			want.Subscription, exist = &found, exist+1
		}
		if found, err := b.Group(b.ctx, named.subscription, named.group); b.found(err) {
			want.Group, exist = &found, exist+1
		}
		if found, err := b.Resource(b.ctx, named.subscription, named.key); b.found(err) {
			want.Row, exist = &found, exist+1
		}
		want.Registration, err = b.Registration(b.ctx, named.subscription, named.namespace)
		b.ok(err)
		if !reflect.DeepEqual(got, want) || exist != named.exist {
			t.Errorf("%+v: got %+v, want %+v", named, got, want)
		}
	}
}

// found reports whether something that was read exists.
func (b *bench) found(err error) bool {
	b.Helper()
	if !errors.Is(err, inventory.ErrNotFound) {
		b.ok(err)
	}
	return err == nil
}
