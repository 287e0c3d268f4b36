package inventory_test

import (
	"slices"
	"testing"
	"time"

	"portico/inventory"
	"portico/inventory/storetest"
	"portico/test/harness"
)

// Replicas count those that have lately shown that they are alive, and have not left.
func TestReplicasCountEachOther(t *testing.T) {
	t.Parallel()
	dsn := harness.StartPostgres(t, "fsync=off").CreateDatabase(t, "portico")
	clock := storetest.NewClock()
	byClock := func(o *inventory.Options) { o.Now = clock.Now }
	first, second := served(t, dsn, byClock), served(t, dsn, byClock)
	present := func(s *inventory.Store, name string, want int) {
		t.Helper()
		if got, err := s.Jobs.Present(t.Context(), name, 15*time.Second); err != nil || got != want {
			t.Errorf("%s counts %d replicas, want %d: %v", name, got, want, err)
		}
	}
	present(first, "a-1", 1)
	present(second, "b-1", 2)
	present(first, "a-1", 2)
	clock.Pass(10 * time.Second)
	present(first, "a-1", 2)
	clock.Pass(10 * time.Second)
	dead := func(want ...string) {
		t.Helper()
		found, err := first.Jobs.DeadReplicas(t.Context())
		var names []string
		for _, d := range found {
			names = append(names, d.Name)
			if age := clock.Now().Sub(d.Died); age < 0 || age > time.Hour {
				t.Errorf("%+v", d)
			}
		}
		if err != nil || !slices.Equal(names, want) {
			t.Errorf("%v died, want %v: %v", names, want, err)
		}
	}
	present(first, "a-1", 1) // the other one has died
	dead("b-1")
	present(second, "b-2", 2)
	// An advisory lease is no replica.
	if _, taken, err := first.Jobs.AcquireAdvisoryLease(t.Context(), storetest.Sub, "/replica x", time.Hour); err != nil || !taken {
		t.Fatal(taken, err)
	}
	present(first, "a-1", 2)
	harness.OK(t, second.Jobs.Leave(t.Context(), "b-2"))
	present(first, "a-1", 1)
	dead("b-1") // who leaves does not die
	clock.Pass(time.Hour)
	dead("a-1")
	if n, err := first.Jobs.ForgetAdvisoryLeases(t.Context(), 100); err != nil || n < 2 {
		t.Errorf("%d are forgotten: %v", n, err)
	}
	dead("a-1")
	clock.Pass(time.Minute)
	dead()
}
