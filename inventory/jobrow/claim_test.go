package jobrow

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"portico/inventory/engine"
)

// unit keeps nothing beside a transaction.
type unit struct{ *engine.Tx }

func (unit) Lock([]*engine.Write) error { return nil }
func (unit) Forget()                    {}
func (unit) Complete() error            { return nil }
func (unit) Ended()                     {}

func openRows(t *testing.T) *Jobs {
	t.Helper()
	e, err := engine.Open(t.Context(), engine.Options{
		DSN: filepath.Join(t.TempDir(), "test.db"), Migrations: os.DirFS("../migrations"),
		NewUnit: func(t *engine.Tx) engine.Unit { return unit{t} },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	return New(e, time.Hour, false)
}

// What was due when it was read may have been claimed since, even for a lease
// that is over again: then it is not what was read.
func TestAClaimIsOfWhatWasRead(t *testing.T) {
	r := openRows(t)
	if _, err := r.Add(t.Context(), Job{Kind: "k", Subject: "x", Payload: "{}"}); err != nil {
		t.Fatal(err)
	}
	read, err := r.dueJobs(t.Context(), 10, []string{"k"})
	if err != nil || len(read) != 1 {
		t.Fatal(read, err)
	}
	if first, err := r.Claim(t.Context(), "one", 0, 10, "k"); err != nil || len(first) != 1 {
		t.Fatal(first, err)
	}
	if late, err := r.claim(t.Context(), read, "another", time.Minute); err != nil || len(late) != 0 {
		t.Errorf("claimed by what was read before: %+v, %v", late, err)
	}
	if anew, err := r.Claim(t.Context(), "another", time.Minute, 10, "k"); err != nil || len(anew) != 1 || anew[0].Token != read[0].Token+2 {
		t.Errorf("claimed anew: %+v, %v", anew, err)
	}
}

// A claim reads no more than what it may take, however many jobs are due.
func TestClaimsUseTheirIndexes(t *testing.T) {
	r := openRows(t)
	for statement, index := range map[string]string{dueJobs: "jobs_by_due", dueInRegion: "jobs_by_region", nextJobRegion: "jobs_by_region", "SELECT " + firstDue: "jobs_by_due"} {
		args := make([]any, strings.Count(statement, "?"))
		for i := range args {
			args[i] = 1
		}
		plan, err := engine.Collect(r.engine.Read(t.Context()), func(scan engine.Scanner) (detail string, err error) {
			var id, parent, unused int
			err = scan(&id, &parent, &unused, &detail)
			return detail, err
		}, "EXPLAIN QUERY PLAN "+statement, args...)
		if err != nil {
			t.Fatal(err)
		}
		if found := strings.Join(plan, "; "); !strings.Contains(found, "SEARCH jobs USING") || !strings.Contains(found, index+" ") || strings.Contains(found, "SCAN jobs") || strings.Contains(found, "TEMP B-TREE") {
			t.Errorf("%s: %q", statement, plan)
		}
	}
}
