package inventory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"portico/inventory/engine"
	"portico/inventory/index"
	"portico/test/harness"
)

func testOptions(t *testing.T) Options {
	return Options{
		DSN:        filepath.Join(t.TempDir(), "test.db"),
		SendWithin: 5 * time.Second, CallLimit: time.Minute, CallMargin: 10 * time.Second, LateWriteWindow: 5 * time.Minute,
		TombstoneAge: 24 * time.Hour, CacheTTL: time.Minute, CacheEntries: 1000,
	}
}

func openTest(t *testing.T, o Options) *Store {
	t.Helper()
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

func makeGroup(t *testing.T, s *Store, name string) {
	t.Helper()
	_, _, err := s.EditGroup(t.Context(), "s", name, func(*Group) (*Group, error) { return &Group{Location: "westus"}, nil })
	harness.OK(t, err)
}

func vmWrite(group, name string) Write {
	id := "/subscriptions/s/resourceGroups/" + group + "/providers/Contoso.Compute/virtualMachines/" + name
	return Write{Subscription: "s", Group: group, Key: id, ID: id, Type: "contoso.compute/virtualmachines", Region: "westus"}
}

// blocked keeps the writer busy with a write of its own until release is
// called, and waits until so many others are queued.
func blocked(t *testing.T, s *Store) (release func(), queued func(n int)) {
	t.Helper()
	started, stop := make(chan struct{}), make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		err := s.write(t.Context(), engine.Flushed, engine.LockSet{}, func(*tx) error {
			close(started)
			<-stop
			return nil
		})
		if err != nil {
			t.Errorf("the blocking write: %v", err)
		}
	})
	<-started
	release = sync.OnceFunc(func() {
		close(stop)
		wait.Wait()
	})
	t.Cleanup(release)
	return release, func(n int) {
		t.Helper()
		for deadline := time.Now().Add(time.Minute); s.Stats().Waiting != n; {
			if time.Now().After(deadline) {
				t.Fatalf("%d writes wait, want %d", s.Stats().Waiting, n)
			}
			time.Sleep(time.Millisecond)
		}
	}
}

// Callers that write again as soon as they are answered share commits, also where they
// and the queue take turns on one processor: 25 are the least for 25 writes of each, and
// twice as many where the first of each turn is committed by itself.
func TestWritesShareACommitOnOneProcessor(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	s := openTest(t, testOptions(t))
	makeGroup(t, s, "rg")
	const callers, each, attempts = 32, 25, 5 // others may disturb the turns
	var took [attempts]uint64
	for attempt := range attempts {
		before := s.Stats()
		var wait sync.WaitGroup
		for caller := range callers {
			wait.Go(func() {
				for i := range each {
					if _, err := s.Begin(t.Context(), vmWrite("rg", fmt.Sprintf("vm-%d-%d-%d", attempt, caller, i))); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wait.Wait()
		if took[attempt] = s.Stats().Commits - before.Commits; took[attempt] <= each*7/4 {
			return
		}
	}
	t.Errorf("%d times %d writes of %d callers took %d commits", attempts, callers*each, callers, took)
}

func TestWaitingWritesShareACommit(t *testing.T) {
	s := openTest(t, testOptions(t))
	makeGroup(t, s, "rg")
	release, queued := blocked(t, s)
	before := s.Stats()
	var wait sync.WaitGroup
	for i := range 150 {
		wait.Go(func() {
			if _, err := s.Begin(t.Context(), vmWrite("rg", fmt.Sprint("vm", i))); err != nil {
				t.Error(err)
			}
		})
	}
	queued(150)
	release()
	wait.Wait()
	after := s.Stats()
	// The one that blocked, then 64, 64 and 22.
	if commits := after.Commits - before.Commits; commits != 4 {
		t.Errorf("%d commits for 151 writes, want 4", commits)
	}
	if flushes := after.Flushes - before.Flushes; flushes != 4 {
		t.Errorf("%d flushes, want 4", flushes)
	}
	if writes := after.Writes - before.Writes; writes != 151 {
		t.Errorf("%d writes, want 151", writes)
	}
}

func TestARefusalHarmsNoNeighbour(t *testing.T) {
	s := openTest(t, testOptions(t))
	release, queued := blocked(t, s)
	refusal := errors.New("refused")
	errs := make([]error, 60)
	var wait sync.WaitGroup
	for i := range errs {
		wait.Go(func() {
			_, errs[i] = s.Register(t.Context(), RegistrationChange{Subscription: "s", Namespace: fmt.Sprint("ns", i), Check: func(Registration) error { return nil }})
			if i%3 == 0 {
				errs[i] = s.write(t.Context(), engine.Flushed, engine.LockSet{}, func(tx *tx) error {
					if _, err := tx.Exec(putRegistration, "s", fmt.Sprint("bad", i), 1, "", 1, "", 1); err != nil {
						return err
					}
					return refusal
				})
			}
		})
	}
	queued(60)
	release()
	wait.Wait()
	for i, err := range errs {
		if want := map[bool]error{true: refusal}[i%3 == 0]; !errors.Is(err, want) {
			t.Errorf("write %d: %v, want %v", i, err, want)
		}
	}
	all, err := s.Registrations(t.Context(), "s")
	if err != nil || len(all) != 60 {
		t.Errorf("%d registrations were kept, want 60: %v", len(all), err)
	}
}

func TestSettlesAloneAreNotFlushed(t *testing.T) {
	s := openTest(t, testOptions(t))
	makeGroup(t, s, "rg")
	synchronous := func() (level int) {
		t.Helper()
		harness.OK(t, s.write(t.Context(), engine.Unflushed, engine.LockSet{}, func(tx *tx) error { return tx.One("PRAGMA synchronous")(&level) }))
		return level
	}
	ticket, err := s.Begin(t.Context(), vmWrite("rg", "vm"))
	harness.OK(t, err)
	before := s.Stats()
	if _, err := s.Settle(t.Context(), ticket, WriteResult{Outcome: index.Succeeded}); err != nil {
		t.Fatal(err)
	}
	if after := s.Stats(); after.Commits != before.Commits+1 || after.Flushes != before.Flushes {
		t.Errorf("before %+v, after %+v", before, after)
	}
	if level := synchronous(); level != 1 {
		t.Errorf("synchronous is %d after a settle, want NORMAL", level)
	}
	var level int
	if err := s.write(t.Context(), engine.Flushed, engine.LockSet{}, func(tx *tx) error { return tx.One("PRAGMA synchronous")(&level) }); err != nil || level != 2 {
		t.Errorf("synchronous is %d for any other write, want FULL: %v", level, err)
	}
	// One write that needs the disk is enough for its whole transaction.
	release, queued := blocked(t, s)
	before = s.Stats()
	var wait sync.WaitGroup
	for _, d := range []engine.Durability{engine.Unflushed, engine.Flushed, engine.Unflushed} {
		wait.Go(func() {
			if err := s.write(t.Context(), d, engine.LockSet{}, func(*tx) error { return nil }); err != nil {
				t.Error(err)
			}
		})
	}
	queued(3)
	release()
	wait.Wait()
	if after := s.Stats(); after.Flushes != before.Flushes+2 {
		t.Errorf("%d flushes, want 2", after.Flushes-before.Flushes)
	}
}

func TestAWriteWhoseCallerGaveUpIsNotRun(t *testing.T) {
	s := openTest(t, testOptions(t))
	release, queued := blocked(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error)
	go func() {
		result <- s.write(ctx, engine.Flushed, engine.LockSet{}, func(*tx) error {
			t.Error("it ran")
			return nil
		})
	}()
	queued(1)
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) || errors.Is(err, ErrUnavailable) {
		t.Errorf("error is %v, want only that the context was cancelled", err)
	}
	release()
	if err := s.Ready(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestAPanicIsItsCallersAlone(t *testing.T) {
	s := openTest(t, testOptions(t))
	func() {
		defer func() {
			if got := recover(); got != "mine" {
				t.Errorf("recovered %v", got)
			}
		}()
		_, _, _ = s.EditGroup(t.Context(), "s", "rg", func(*Group) (*Group, error) { panic("mine") })
		t.Error("it did not panic")
	}()
	makeGroup(t, s, "rg")
}

func TestCloseAnswersWhatWaits(t *testing.T) {
	s := openTest(t, testOptions(t))
	makeGroup(t, s, "rg")
	release, queued := blocked(t, s)
	var wait sync.WaitGroup
	errs := make([]error, 20)
	for i := range errs {
		wait.Go(func() { _, errs[i] = s.Begin(t.Context(), vmWrite("rg", fmt.Sprint("vm", i))) })
	}
	queued(20)
	wait.Go(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	release()
	wait.Wait()
	for i, err := range errs {
		if err != nil {
			t.Errorf("write %d: %v", i, err)
		}
	}
}

func TestAFullDiskIsUnavailableAndPasses(t *testing.T) {
	s := openTest(t, testOptions(t))
	makeGroup(t, s, "rg")
	pages := func(limit string) {
		t.Helper()
		var n int
		harness.OK(t, s.write(t.Context(), engine.Flushed, engine.LockSet{}, func(tx *tx) error { return tx.One("PRAGMA max_page_count = " + limit)(&n) }))
	}
	pages("1") // no more than there are
	var full error
	for i := 0; i < 1000 && full == nil; i++ {
		_, full = s.Begin(t.Context(), vmWrite("rg", fmt.Sprint("vm", i)))
	}
	if !errors.Is(full, ErrUnavailable) {
		t.Fatalf("error is %v, want one that is ErrUnavailable", full)
	}
	// The writer left the broken connection, and the limit with it.
	if _, err := s.Begin(t.Context(), vmWrite("rg", "after")); err != nil {
		t.Errorf("after that: %v", err)
	}
}

func TestALockedFileIsUnavailable(t *testing.T) {
	o := testOptions(t)
	s := openTest(t, o)
	makeGroup(t, s, "rg")
	other, err := sql.Open("sqlite", o.DSN)
	harness.OK(t, err)
	defer other.Close()
	conn, err := other.Conn(t.Context())
	harness.OK(t, err)
	defer conn.Close()
	if _, err := conn.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
		t.Fatal(err)
	}
	if err := s.write(t.Context(), engine.Flushed, engine.LockSet{}, func(*tx) error { return nil }); !errors.Is(err, ErrUnavailable) {
		t.Errorf("error is %v, want one that is ErrUnavailable", err)
	}
	if _, err := s.Group(t.Context(), "s", "rg"); err != nil {
		t.Errorf("a read meanwhile: %v", err)
	}
	if _, err := conn.ExecContext(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
	if err := s.Ready(t.Context()); err != nil {
		t.Error(err)
	}
}
