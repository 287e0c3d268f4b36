package operations_test

import (
	"database/sql"
	"testing"
	"time"
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
