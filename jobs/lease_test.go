package jobs

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"portico/inventory"
	"portico/inventory/jobrow"
)

func storeAt(t *testing.T, path string) *inventory.Store {
	t.Helper()
	store, err := inventory.Open(t.Context(), inventory.Options{
		DSN: path, SendWithin: time.Second, CallLimit: time.Second, JobRecords: time.Hour, CacheEntries: 1,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	return store
}

// A holder that cannot renew its lease stops when it is over: another may hold the job.
func TestALeaseThatCannotBeRenewedEndsTheWork(t *testing.T) {
	store := storeAt(t, filepath.Join(t.TempDir(), "portico.db"))
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	bounded, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	work, stop := context.WithCancelCause(bounded)
	defer stop(nil)
	l := &lease{store: store.Jobs, length: 30 * time.Millisecond, since: time.Now()}
	l.renewUntilDone(work, stop)
	if !errors.Is(context.Cause(work), errLeaseLost) || time.Since(l.since) < l.length {
		t.Errorf("the work ended after %v of %v: %v", time.Since(l.since), l.length, context.Cause(work))
	}
}

// A lease counts from before its claim or renewal was sent, however long that
// takes: its holder is then the first to believe that it is over.
func TestLeasesCountFromTheirBeginning(t *testing.T) {
	path := filepath.Join(t.TempDir(), "portico.db")
	store := storeAt(t, path)
	if _, err := store.Jobs.Add(t.Context(), jobrow.Job{Kind: "k", Subject: "s", Payload: "{}"}); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	// slowly calls what writes while the file is held by another, and returns
	// when that let it go.
	slowly := func(call func() error) (released time.Time) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), "BEGIN IMMEDIATE"); err != nil {
			t.Fatal(err)
		}
		begins, ended := make(chan struct{}), make(chan error, 1)
		go func() {
			close(begins)
			ended <- call()
		}()
		<-begins
		time.Sleep(300 * time.Millisecond) // it waits for the file by now
		released = time.Now()
		if _, err := db.ExecContext(t.Context(), "ROLLBACK"); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; err != nil {
			t.Fatal(err)
		}
		return released
	}
	claimer := newWorker(&Runner{Options: Options{Store: store, Owner: "me", Lease: time.Minute}}, "k", nil)
	l := &lease{store: store.Jobs, length: time.Minute}
	released := slowly(func() error {
		c, err := claimer.claim(t.Context())
		if err == nil && len(c.jobs) == 1 {
			l.job, l.since = c.jobs[0], c.since
		}
		return err
	})
	if l.job.Owner != "me" || l.since.IsZero() || !l.since.Before(released) {
		t.Errorf("the claim of %+v counts from %v after the file was free", l.job, l.since.Sub(released))
	}
	claimed := l.since
	released = slowly(func() error { return l.renew(t.Context(), time.Minute) })
	if !l.since.After(claimed) || !l.since.Before(released) {
		t.Errorf("the renewal counts from %v after the file was free", l.since.Sub(released))
	}
}
