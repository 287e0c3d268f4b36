package operations_test

import (
	"database/sql"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"

	"portico/inventory"
	"portico/operations"
)

// file opens the store's file behind its back.
func (b *bench) file() *sql.DB {
	b.t.Helper()
	db, err := sql.Open("sqlite", b.path+"?_pragma=busy_timeout(5000)")
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() {
		if err := db.Close(); err != nil {
			b.t.Error(err)
		}
	})
	return db
}

// The turn of a gateway that died is removed, whether or not anybody wants the
// next one.
func TestTurnsOfTheDeadGo(t *testing.T) {
	b := newBench(t)
	for key, hold := range map[string]time.Duration{machine: time.Millisecond, "/other": time.Hour} {
		if _, taken, err := b.store.TakeTurn(t.Context(), subscription, key, hold); err != nil || !taken {
			t.Fatal(taken, err)
		}
	}
	db := b.file()
	b.run(b.store)
	b.within("the end of one turn", func() bool {
		n := 0
		if err := db.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM turns").Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n == 1
	})
}

// A resource that cannot be read is told of, and keeps nobody from the rest of
// the house.
func TestTheHouseIsKeptBesideDamage(t *testing.T) {
	b := newBench(t)
	b.write(inventory.Put, inventory.Answer{})
	if _, err := b.file().ExecContext(t.Context(), "UPDATE resources SET details = '{'"); err != nil {
		t.Fatal(err)
	}
	core, logged := observer.New(zapcore.WarnLevel)
	r := b.run(b.store, func(o *operations.RunnerOptions) {
		o.Log = zap.New(core)
		o.Kinds = map[string]operations.Kind{}
	})
	b.within("word of it", func() bool {
		for _, line := range logged.FilterMessageSnippet("cannot be read").All() {
			if text, _ := line.ContextMap()["error"].(string); strings.Contains(text, strings.ToLower(machine)) {
				return true
			}
		}
		return false
	})
	if _, err := b.store.Begin(t.Context(), inventory.Write{
		Kind: inventory.Put, Subscription: subscription, Group: "g", Key: machine + "2", ID: machine + "2", Type: machines, TypeName: machines,
		Region: "westus", Location: "westus", APIVersion: "2024-01-01", LateWriteWindow: time.Hour,
	}); err != nil {
		t.Fatal(err)
	}
	b.within("a count of what came later", func() bool { return r.metric(t, "portico_index_intents") == 2 })
}
