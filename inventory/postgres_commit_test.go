package inventory

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"portico/inventory/engine"
	"portico/inventory/index"
	"portico/test/harness"
)

func openPostgres(t *testing.T, dsn string, connections int) *Store {
	t.Helper()
	o := testOptions(t)
	o.Driver, o.DSN, o.Connections = engine.Postgres, dsn, connections
	s, err := Open(t.Context(), o)
	harness.OK(t, err)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	harness.OK(t, s.SeedSubscriptions(t.Context(), []Subscription{{ID: "s", TenantID: "t"}}))
	return s
}

// An intent waits for the disk, and for that of a standby, whatever is the
// server's default; a settle does not.
func TestCommitsAreAsDurableAsTheyHaveToBe(t *testing.T) {
	t.Parallel()
	cluster := harness.StartPostgres(t)
	for name, strongest := range map[string]string{"off": "on", "local": "on", "remote_write": "on", "on": "on", "remote_apply": "remote_apply"} {
		dsn := cluster.CreateDatabase(t, name)
		cluster.Exec(t, fmt.Sprintf(`ALTER DATABASE "%s" SET synchronous_commit = %s`, name, name))
		s := openPostgres(t, dsn, 2)
		for d, want := range map[engine.Durability]string{engine.Flushed: strongest, engine.Unflushed: "off"} {
			var got string
			err := s.write(t.Context(), d, engine.LockSet{}, func(tx *tx) error { return tx.One("SHOW synchronous_commit")(&got) })
			if err != nil || got != want {
				t.Errorf("default %s, flushed %v: %q, %v; want %q", name, d, got, err, want)
			}
		}
	}
}

// A commit whose wait for the standby somebody ends is made, and may be reported
// as made; but the standby, should it take over, may never have heard of it. The
// caller is told that nothing is known, and the commit is not repeated.
func TestACommitThatTheStandbyMayLackIsUnknown(t *testing.T) {
	t.Parallel()
	primary := harness.StartPostgres(t)
	dsn := primary.CreateDatabase(t, "portico")
	standby := primary.Standby(t)
	s := openPostgres(t, dsn, 0)
	makeGroup(t, s, "rg")
	endings := []string{"pg_cancel_backend", "pg_terminate_backend"}
	for _, ending := range endings {
		standby.Pause(t)
		result := make(chan error, 1)
		go func() {
			_, err := s.Begin(t.Context(), vmWrite("rg", ending))
			result <- err
		}()
		const waiting = "FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
		primary.WaitFor(t, "SELECT EXISTS (SELECT 1 "+waiting+")")
		primary.Exec(t, "SELECT "+ending+"(pid) "+waiting)
		if err := <-result; !errors.Is(err, ErrUnavailable) {
			t.Errorf("%s: the intent: %v, want one that is ErrUnavailable", ending, err)
		}
		standby.Resume(t)
	}
	var left *GroupNotEmptyError
	if err := s.DeleteGroup(t.Context(), "s", "rg", DeleteGroupConditions{}); !errors.As(err, &left) || left.Intents != len(endings) || left.Total != len(endings) {
		t.Errorf("what is left of them: %v", err)
	}
	if _, err := s.Begin(t.Context(), vmWrite("rg", "vm")); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// A standby lags behind. Nothing is read from it, whatever the DSN leaves open.
func TestNothingIsReadFromAStandby(t *testing.T) {
	t.Parallel()
	primary := harness.StartPostgres(t)
	primary.CreateDatabase(t, "portico")
	standby := primary.Standby(t)
	dsn := strings.Replace(harness.MultiHostDSN("portico", standby, primary), "&target_session_attrs=read-write", "", 1)
	s := openPostgres(t, dsn, 0)
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			var recovering bool
			if err := s.engine.Read(t.Context()).One("SELECT pg_is_in_recovery()")(&recovering); err != nil || recovering {
				t.Errorf("reads go to the standby: %v, %v", recovering, err)
			}
		})
	}
	wait.Wait()
}

func TestConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	cluster := harness.StartPostgres(t)
	dsn := cluster.CreateDatabase(t, "portico")
	s := openPostgres(t, dsn, 5)
	var wait sync.WaitGroup
	for i := range 40 {
		wait.Go(func() {
			_, err := s.AllSubscriptions(t.Context(), "", 0)
			if err := errors.Join(err, s.Coverage.Cover(t.Context(), fmt.Sprint(i), "t", "westus", time.Now())); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	cluster.WaitFor(t, "SELECT count(*) BETWEEN 2 AND 5 FROM pg_stat_activity WHERE application_name = 'portico'")
	o := testOptions(t)
	o.Connections, o.DSN = 1, filepath.Join(t.TempDir(), "x.db")
	if s, err := Open(t.Context(), o); err == nil {
		s.Close()
		t.Error("one connection cannot read and write at a time")
	}
}

// Replicas know the server's time but roughly: what was deleted at about the
// time that a list was begun was maybe deleted later.
func TestAdoptionAllowsForClocksThatDiffer(t *testing.T) {
	t.Parallel()
	s := openPostgres(t, harness.StartPostgres(t).CreateDatabase(t, "portico"), 2)
	makeGroup(t, s, "rg")
	gone := vmWrite("rg", "vm")
	gone.Kind = index.Delete
	ticket, err := s.Begin(t.Context(), gone)
	harness.OK(t, err)
	if _, err := s.Settle(t.Context(), ticket, WriteResult{Outcome: index.Gone}); err != nil {
		t.Fatal(err)
	}
	deleted := s.Now()
	seen := Discovery{Resource: Resource{Subscription: "s", Group: "rg", ID: gone.ID, Type: gone.Type, Region: "westus"}}
	clockError := s.engine.ClockSlack()
	for after, want := range map[time.Duration]AdoptResult{0: TooYoung, clockError / 2: TooYoung} {
		seen.ListedSince = deleted.Add(after)
		if got, err := s.Adopt(t.Context(), seen); err != nil || got != want {
			t.Errorf("listed %v after the delete: %v, %v; want %v", after, got, err, want)
		}
	}
	seen.ListedSince = deleted.Add(2 * clockError)
	if got, err := s.Adopt(t.Context(), seen); err != nil || got != Adopted {
		t.Errorf("listed long after the delete: %v, %v", got, err)
	}
}

// A clock that was ahead when a list was begun, and is set right by the next
// reading, does not make what the list shows older than the list.
func TestStraysAllowForClocksThatDiffer(t *testing.T) {
	t.Parallel()
	s := openPostgres(t, harness.StartPostgres(t).CreateDatabase(t, "portico"), 2)
	makeGroup(t, s, "rg")
	w := vmWrite("rg", "vm")
	for i, want := range []AdoptResult{Adopted, Strayed} {
		seen := Discovery{Resource: Resource{Subscription: "s", Group: "rg", ID: w.ID, Type: w.Type, Region: []string{"westus", "eastus"}[i]}, ListedSince: s.Now()}
		if got, err := s.Adopt(t.Context(), seen); err != nil || got != want {
			t.Fatal(got, err)
		}
	}
	strays, err := s.Strays.List(t.Context(), "s", "rg")
	if err != nil || len(strays) != 1 {
		t.Fatal(strays, err)
	}
	clockError := s.engine.ClockSlack()
	for i, want := range []int{0, 1} {
		started := strays[0].Seen.Add([]time.Duration{clockError / 2, 2 * clockError}[i])
		if n, err := s.Strays.ForgetUnseen(t.Context(), "s", w.Type, "eastus", started); err != nil || n != want {
			t.Errorf("a list that was begun %v after it was seen: %d forgotten, %v", started.Sub(strays[0].Seen), n, err)
		}
	}
}
