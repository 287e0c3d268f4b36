package memory

import (
	"context"
	"errors"
	"testing"
)

func newJoint(t *testing.T) (*database, *Changes, *Joint[int]) {
	t.Helper()
	d, c, _ := newTable(t, 1)
	table, err := NewJoint(c, 1000, 1<<20, func(int) int { return 100 })
	if err != nil {
		t.Fatal(err)
	}
	return d, c, table
}

// A change of the subscription ends what is remembered, one of the tenant too; any other
// does not.
func TestJointChangesWithBoth(t *testing.T) {
	d, c, table := newJoint(t)
	ask := func(q Question, want int, remembered bool) {
		t.Helper()
		got, cached, err := table.Get(t.Context(), q, d.clock(), func(ctx context.Context) (int, error) { return d.read(ctx, "", "") })
		if err != nil || got != want || cached != remembered {
			t.Errorf("%d (remembered %t), %v; want %d (%t)", got, cached, err, want, remembered)
		}
	}
	one := Question{Tenant: "T", Subscription: "S", Name: "Name", More: "more"}
	ask(one, 0, false)
	ask(Question{Tenant: "t", Subscription: "s", Name: "Name", More: "more"}, 0, true)
	for value, changed := range []string{"s", TenantPartition("T"), "s", TenantPartition("t")} {
		d.change("", false)
		ask(one, value, true)
		c.Forget("other")
		c.Forget("t")
		c.Forget(TenantPartition("s"))
		ask(one, value, true)
		c.Forget(changed)
		ask(one, value+1, false)
		ask(one, value+1, true)
	}
	d.change("", false)
	for _, other := range []Question{
		{Tenant: "t", Subscription: "s", Name: "name", More: "more"},
		{Tenant: "t", Subscription: "s", Name: "Name", More: "More"},
		{Tenant: "t", Subscription: "s", Name: "Namemore"},
		{Tenant: "t", Subscription: "sName", More: "more"},
		{Tenant: "s", Subscription: "t", Name: "Name", More: "more"},
		{Tenant: "t", Name: "Name", More: "more"},
	} {
		ask(other, 5, false)
	}
	d.fail(errDown)
	if _, _, err := table.Get(t.Context(), Question{Name: "new"}, d.clock(), func(ctx context.Context) (int, error) { return d.read(ctx, "", "") }); !errors.Is(err, errDown) {
		t.Error(err)
	}
	ask(one, 4, true)
}

func TestWarmJointAllocatesNothing(t *testing.T) {
	d, _, table := newJoint(t)
	now := d.clock()
	q := Question{Tenant: "00000000-0000-0000-0000-0000000000AA", Subscription: "S", Name: "Name", More: string(make([]byte, 5000))}
	read := func(ctx context.Context) (int, error) { return d.read(ctx, "", "") }
	if _, _, err := table.Get(t.Context(), q, now, read); err != nil {
		t.Fatal(err)
	}
	if n := testing.AllocsPerRun(5000, func() {
		if _, remembered, err := table.Get(t.Context(), q, now, read); err != nil || !remembered {
			t.Fatal(remembered, err)
		}
	}); n != 0 || d.reads != 1 {
		t.Errorf("%v allocations, %d reads", n, d.reads)
	}
}
