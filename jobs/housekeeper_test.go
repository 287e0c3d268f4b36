package jobs_test

import (
	"database/sql"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"portico/inventory"
	"portico/inventory/index"
	"portico/jobs"
	"portico/jobs/jobstest"
)

// openFile opens a store's file behind its back.
func openFile(b *jobstest.Provider) *sql.DB {
	b.T.Helper()
	db, err := sql.Open("sqlite", b.Path+"?_pragma=busy_timeout(5000)")
	if err != nil {
		b.T.Fatal(err)
	}
	b.T.Cleanup(func() {
		if err := db.Close(); err != nil {
			b.T.Error(err)
		}
	})
	return db
}

// The turn of a gateway that died is removed, whether or not another one waits.
func TestTurnsOfDeadGatewaysAreRemoved(t *testing.T) {
	b := jobstest.NewProvider(t)
	for key, hold := range map[string]time.Duration{jobstest.Machine: time.Millisecond, "/other": time.Hour} {
		if _, taken, err := b.Store.Jobs.AcquireAdvisoryLease(t.Context(), jobstest.Subscription, key, hold); err != nil || !taken {
			t.Fatal(taken, err)
		}
	}
	db := openFile(b)
	b.Run(b.Store, nil)
	b.Within("the end of one turn", func() bool {
		n := 0
		if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM leases").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n == 1
	})
}

// A resource that cannot be read is logged, and housekeeping goes on with the rest.
func TestHousekeepingGoesOnDespiteUnreadableRows(t *testing.T) {
	b := jobstest.NewProvider(t)
	b.Write(index.Put, inventory.WriteResult{})
	if _, err := openFile(b).ExecContext(t.Context(), "UPDATE resources SET details = '{'"); err != nil {
		t.Fatal(err)
	}
	core, logged := observer.New(zapcore.WarnLevel)
	r := b.Run(b.Store, nil, func(o *jobs.Options) { o.Log = zap.New(core) })
	b.Within("a line in the log", func() bool {
		for _, line := range logged.FilterMessageSnippet("cannot be read").All() {
			if text, _ := line.ContextMap()["error"].(string); strings.Contains(text, strings.ToLower(jobstest.Machine)) {
				return true
			}
		}
		return false
	})
	if _, err := b.Store.Begin(t.Context(), inventory.Write{
		Kind: index.Put, Subscription: jobstest.Subscription, Group: "g", Key: jobstest.Machine + "2", ID: jobstest.Machine + "2", Type: jobstest.Machines, TypeName: jobstest.Machines,
		Region: "westus", Location: "westus", APIVersion: "2024-01-01", LateWriteWindow: time.Hour,
	}); err != nil {
		t.Fatal(err)
	}
	b.Within("a count of what came later", func() bool { return r.Metric(t, "portico_index_intents") == 2 })
}

// Events that no one reads are numbered, and counted.
func TestHousekeepingNumbersEvents(t *testing.T) {
	b := jobstest.NewProvider(t)
	b.Write(index.Put, inventory.WriteResult{Outcome: index.Succeeded, Status: 201})
	r := b.Run(b.Store, nil)
	b.Within("an event that is kept", func() bool {
		return r.Metric(t, "portico_events_kept") > 0 && r.Metric(t, "portico_events_waiting") == 0
	})
}

// The log says at what the store failed, as the store's own words do not.
func TestHousekeepingSaysAtWhatTheStoreFailed(t *testing.T) {
	for table, want := range map[string]string{
		"intents":           "end the intents whose time is over: ",
		"unnumbered_events": "number new events: ",
		"leases":            "forget advisory leases: ",
	} {
		t.Run(table, func(t *testing.T) {
			b := jobstest.NewProvider(t)
			if _, err := openFile(b).ExecContext(t.Context(), "DROP TABLE "+table); err != nil {
				t.Fatal(err)
			}
			core, logged := observer.New(zapcore.WarnLevel)
			b.Run(b.Store, nil, func(o *jobs.Options) { o.Log = zap.New(core) })
			b.Within("a line in the log that says "+want, func() bool {
				return slices.ContainsFunc(logged.All(), func(line observer.LoggedEntry) bool {
					text, _ := line.ContextMap()["error"].(string)
					return strings.Contains(text, want)
				})
			})
		})
	}
}
