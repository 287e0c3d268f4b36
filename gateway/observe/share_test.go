package observe

import (
	"path/filepath"
	"testing"
	"time"

	"portico/inventory"
	"portico/inventory/engine"
	"portico/inventory/observed"
	"portico/test/harness"
)

// openErrors opens the errors that replicas share.
func openErrors(t *testing.T, o inventory.Options) *observed.Errors {
	t.Helper()
	o.SendWithin, o.CallLimit, o.CacheTTL, o.CacheEntries = time.Second, time.Second, time.Second, 1
	store, err := inventory.Open(t.Context(), o)
	harness.OK(t, err)
	t.Cleanup(func() { harness.OK(t, store.Close()) })
	return store.Errors
}

// A replica shows the errors of the others, which they write when there are new ones.
func TestErrorsAreShared(t *testing.T) {
	t.Parallel()
	postgres := harness.StartPostgres(t, "fsync=off")
	dsn := postgres.CreateDatabase(t, "portico")
	a := NewRecent(openErrors(t, inventory.Options{Driver: engine.Postgres, DSN: dsn}), "a")
	b := NewRecent(openErrors(t, inventory.Options{Driver: engine.Postgres, DSN: dsn}), "b")
	fail := func(r *Recent, region string, age time.Duration) {
		r.groups.add(ErrorAnswer{Time: time.Now().Add(-age), Status: 503, Code: "C", Region: region, Subscription: "s", Caller: Caller{"t", "c"}, Path: "/p", Correlation: region})
	}
	fail(a, "east", time.Minute)
	fail(a, "east", time.Second)
	written := a.shareGroups(t.Context(), 0)
	fail(b, "west", time.Hour)
	got, alone := b.Groups(t.Context())
	if alone || len(got) != 2 || got[0].Replica != "a" || got[0].Count != 2 || got[0].Region != "east" || got[0].Caller != (Caller{"t", "c"}) || got[0].Path != "/p" || got[1].Replica != "b" {
		t.Errorf("%+v", got)
	}
	if own, _ := a.Groups(t.Context()); len(own) != 1 {
		t.Errorf("what was not written is read: %+v", own)
	}
	harness.OK(t, a.shared.Put(t.Context(), "a", []byte("of a later version")))
	if again := a.shareGroups(t.Context(), written); again != written || shownBy(t, b) != 1 {
		t.Error("it was written though nothing changed")
	}
	fail(a, "east", 0)
	if a.shareGroups(t.Context(), written) == written || shownBy(t, b) != 2 {
		t.Error("what came was not written")
	}
	postgres.Stop(t)
	if got, alone := b.Groups(t.Context()); !alone || len(got) != 1 || got[0].Replica != "b" {
		t.Errorf("while the store is away: alone %t, %+v", alone, got)
	}
}

// shownBy is how many groups a replica shows.
func shownBy(t *testing.T, r *Recent) int {
	t.Helper()
	all, _ := r.Groups(t.Context())
	return len(all)
}

// One replica alone writes nothing.
func TestErrorsOfOneReplica(t *testing.T) {
	t.Parallel()
	r := NewRecent(openErrors(t, inventory.Options{DSN: filepath.Join(t.TempDir(), "test.db")}), "a")
	r.groups.add(ErrorAnswer{Time: time.Now(), Status: 503})
	r.Run(t.Context()) // returns
	if got, alone := r.Groups(t.Context()); alone || len(got) != 1 || got[0].Replica != "a" {
		t.Errorf("%+v", got)
	}
}
