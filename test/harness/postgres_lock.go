package harness

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
)

// OpenTransaction is a transaction that a test keeps open.
type OpenTransaction struct{ conn *pgx.Conn }

// BeginWith begins a transaction in a database and runs a statement in it. The
// statement's locks stay until [OpenTransaction.Rollback] or the test's end.
func (p *Postgres) BeginWith(t testing.TB, database, statement string) *OpenTransaction {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), p.DSN(database))
	OK(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	for _, text := range []string{"BEGIN", statement} {
		if _, err := conn.Exec(t.Context(), text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	return &OpenTransaction{conn}
}

// Rollback ends the transaction.
func (h *OpenTransaction) Rollback(t testing.TB) {
	t.Helper()
	if _, err := h.conn.Exec(t.Context(), "ROLLBACK"); err != nil {
		t.Fatal(err)
	}
}
