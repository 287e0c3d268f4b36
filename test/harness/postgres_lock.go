package harness

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Held is a transaction of a test's own that stays open.
type Held struct{ conn *pgx.Conn }

// Hold begins a transaction in a database and runs a statement in it, so that
// what the statement locks stays locked until [Held.Release] or the test's end.
func (p *Postgres) Hold(t testing.TB, database, statement string) *Held {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), p.DSN(database))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	for _, text := range []string{"BEGIN", statement} {
		if _, err := conn.Exec(t.Context(), text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	return &Held{conn}
}

// Release ends the transaction.
func (h *Held) Release(t testing.TB) {
	t.Helper()
	if _, err := h.conn.Exec(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
}
