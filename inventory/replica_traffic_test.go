package inventory_test

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"portico/inventory"
	"portico/inventory/observed"
	"portico/inventory/storetest"
	"portico/test/harness"
)

// The minutes of replicas are summed, each counts once, and they go after a day, also those of
// regions that no one counts any more.
func TestTrafficOfReplicas(t *testing.T) {
	t.Parallel()
	clock := storetest.NewClock()
	o := storetest.Options(clock)
	sqlite, err := sqliteDatabase(t)(t.Context(), o)
	harness.OK(t, err)
	t.Cleanup(func() { harness.OK(t, sqlite.Close()) })
	t.Run("SQLite", func(t *testing.T) { testTraffic(t, sqlite, clock) })
	clock = storetest.NewClock()
	postgres := served(t, harness.StartPostgres(t, "fsync=off").CreateDatabase(t, "portico"), func(o *inventory.Options) { o.Now = clock.Now })
	t.Run("PostgreSQL", func(t *testing.T) { testTraffic(t, postgres, clock) })
}

func testTraffic(t *testing.T, s *inventory.Store, clock *storetest.Clock) {
	began := clock.Now().UTC().Truncate(time.Minute)
	minute := func(region string, n, requests int, mean, p95 float64) observed.Minute {
		return observed.Minute{
			Region: region, Time: began.Add(time.Duration(n) * time.Minute), InFlight: n, Flow: observed.Flow{Requests: requests, Failures: 1, Refusals: 2, Mean: mean, P95: p95},
		}
	}
	put := func(replica string, minutes ...observed.Minute) {
		t.Helper()
		harness.OK(t, s.Traffic.Put(t.Context(), replica, minutes))
	}
	want := func(region string, after time.Time, want ...observed.Minute) {
		t.Helper()
		found, err := s.Traffic.Steps(t.Context(), region, after, time.Minute, 2000)
		slices.SortFunc(found, func(a, b observed.Minute) int {
			return cmp.Or(cmp.Compare(a.Region, b.Region), a.Time.Compare(b.Time))
		})
		if err != nil || !slices.Equal(found, want) {
			t.Errorf("%+v, %v\nwant %+v", found, err, want)
		}
	}
	first := []observed.Minute{minute("", 1, 30, 0.5, 2), minute("east", 1, 10, 1, 1), minute("west", 1, 20, 1, 1)}
	put("a", first...)
	put("a", first...) // the answer to the first was lost
	second := minute("", 2, 7, 0.1, 1)
	put("b", minute("", 1, 10, 0.1, 1), second)
	both := observed.Minute{Time: began.Add(time.Minute), InFlight: 2, Flow: observed.Flow{Requests: 40, Failures: 2, Refusals: 4, Mean: 0.4, P95: 2}}
	want("east", began, both, second, first[1])
	want("", began, both, second)
	want("", began.Add(time.Minute), second)
	steps, err := s.Traffic.Steps(t.Context(), "east", began.Add(-4*time.Minute), 5*time.Minute, 2)
	sum := observed.Minute{Time: began.Add(time.Minute), Flow: both.Flow}
	if err != nil || len(steps) != 3 || !slices.Contains(steps, sum) || !slices.ContainsFunc(steps, func(m observed.Minute) bool { return m.Requests == 7 && m.Time.Equal(sum.Time.Add(5*time.Minute)) }) {
		t.Errorf("%+v, %v", steps, err)
	}

	clock.Pass(observed.TrafficKept + time.Hour)
	last := minute("", 1500, 1, 1, 1)
	put("c", last)
	want("east", began, last)
	want("west", began, last)
}

// Replicas write beside each other and beside readers.
func TestTrafficOfManyReplicas(t *testing.T) {
	t.Parallel()
	const replicas, minutes = 4, 10
	s := served(t, harness.StartPostgres(t, "fsync=off").CreateDatabase(t, "portico"))
	now := s.Now().UTC().Truncate(time.Minute)
	var all sync.WaitGroup
	for _, replica := range []string{"a", "b", "c", "d"} {
		all.Go(func() {
			for i := range minutes {
				if err := s.Traffic.Put(context.WithoutCancel(t.Context()), replica, []observed.Minute{{Time: now.Add(time.Duration(-i) * time.Minute), Flow: observed.Flow{Requests: 1}}}); err != nil {
					t.Error(err)
				}
				if _, err := s.Traffic.Steps(context.WithoutCancel(t.Context()), "", now.Add(-time.Hour), time.Minute, 60); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	found, err := s.Traffic.Steps(t.Context(), "", now.Add(-time.Hour), time.Hour, 1)
	if err != nil || len(found) != 1 || found[0].Requests != replicas*minutes {
		t.Errorf("%+v, %v", found, err)
	}
}
