package inventory

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"portico/inventory/engine"
	"portico/inventory/transaction"
	"portico/test/harness"
)

const recountSub = "00000000-0000-0000-0000-0000000000a1"

func recountStore(t *testing.T) *Store {
	t.Helper()
	s, err := Open(t.Context(), Options{
		DSN: filepath.Join(t.TempDir(), "recount.db"), SendWithin: time.Second, CallLimit: time.Second, CacheEntries: 1,
	})
	harness.OK(t, err)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	harness.OK(t, s.SeedSubscriptions(t.Context(), []Subscription{{ID: recountSub, TenantID: "t"}}))
	for _, group := range []string{"g1", "g2"} {
		if _, _, err := s.EditGroup(t.Context(), recountSub, group, func(*Group) (*Group, error) {
			return &Group{Name: group, Location: "westus"}, nil
		}); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func sightingIn(group, name string) Discovery {
	return Discovery{Resource: Resource{
		Subscription: recountSub, Group: group, Type: "c.c/vms", TypeName: "C.C/vms", Region: "westus",
		ID: fmt.Sprintf("/subscriptions/%s/resourceGroups/%s/providers/C.C/vms/%s", recountSub, group, name),
	}}
}

// change writes what no call of the package would.
func change(t *testing.T, s *Store, statement string, args ...any) {
	t.Helper()
	if _, err := commit(t.Context(), s, engine.Flushed, engine.LockSet{}, func(t *tx) (int64, error) { return t.Exec(statement, args...) }); err != nil {
		t.Fatal(err)
	}
}

func TestRecountMendsWhatIsOff(t *testing.T) {
	s := recountStore(t)
	for _, group := range []string{"g1", "g2"} {
		for i := range 3 {
			if result, err := s.Adopt(t.Context(), sightingIn(group, fmt.Sprint("vm", i))); err != nil || result != Adopted {
				t.Fatal(result, err)
			}
		}
	}
	recount := func(mend bool, want ...Miscount) {
		t.Helper()
		off, err := s.Recount(t.Context(), recountSub, mend)
		if err != nil || !slices.Equal(off, want) {
			t.Fatalf("%+v, %v; want %+v", off, err, want)
		}
	}
	recount(true)
	spoil := func(u transaction.Usage, n int) {
		change(t, s, setUsage, n, u.Subscription, u.Group, u.Type)
	}
	off := []Miscount{{Counted: 9, Actual: 2}, {Group: "g2", Type: "c.c/vms", Counted: 1, Actual: 3}}
	spoil(transaction.UsageOf(recountSub, "", ""), 9)
	spoil(transaction.UsageOf(recountSub, "g2", "c.c/vms"), 1)
	recount(false, off...)
	recount(true, off...)
	recount(true)
	// A count that is missing altogether is made.
	change(t, s, `DELETE FROM usage WHERE subscription = ? AND resource_group = ?`, recountSub, "g1")
	recount(true, Miscount{Group: "g1", Type: "c.c/vms", Counted: 0, Actual: 3})
	recount(false)
}

// A recount beside writes neither sees a difference that is none, nor makes one.
func TestRecountDuringWrites(t *testing.T) {
	s := recountStore(t)
	ctx, cancel := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			for i := 0; i < 100 && ctx.Err() == nil; i++ {
				seen := sightingIn("g1", fmt.Sprint("vm", w))
				seen.ListedSince = s.Now().Add(time.Second)
				if result, err := s.Adopt(ctx, seen); err != nil || result != Adopted {
					t.Error(result, err)
				}
				row, err := s.Resource(ctx, recountSub, seen.ID)
				if err != nil {
					t.Error(err)
					return
				}
				if _, _, err := s.Observe(ctx, recountSub, seen.ID, row.Generation, Observation{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 50 {
		if _, err := s.Recount(ctx, recountSub, true); err != nil {
			t.Error(err)
		}
	}
	writers.Wait()
	cancel()
	off, err := s.Recount(t.Context(), recountSub, false)
	if err != nil || len(off) > 0 {
		t.Fatalf("%+v, %v", off, err)
	}
}
