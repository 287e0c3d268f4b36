package inventory

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"portico/inventory/engine"
	"portico/inventory/index"
	"portico/test/harness"
)

// A pooler that gives each connection one of the server's for itself serves as the server
// does, with all that is set on connections; one that lends its connections for less is
// refused, by a sentence that says what to do.
func TestPoolers(t *testing.T) {
	t.Parallel()
	cluster := harness.StartPostgres(t, "synchronous_commit=off")
	through := func(t *testing.T, mode string) (dsn string) {
		return strings.Replace(cluster.CreateDatabase(t, mode), cluster.Address, harness.StartPgBouncer(t, cluster, mode), 1)
	}
	t.Run("session", func(t *testing.T) {
		t.Parallel()
		dsn := through(t, "session")
		if err := engine.CheckPostgres(t.Context(), dsn); err != nil {
			t.Error(err)
		}
		s, other := openPostgres(t, dsn, 4), openPostgres(t, dsn+"&statement_timeout=7000", 4)
		makeGroup(t, s, "rg")
		var all sync.WaitGroup
		for i, one := range []*Store{s, other} {
			for n := range 20 {
				all.Go(func() {
					ticket, err := one.Begin(t.Context(), vmWrite("rg", fmt.Sprintf("vm-%d-%d", i, n)))
					if err == nil {
						_, err = one.Settle(t.Context(), ticket, WriteResult{Outcome: index.Succeeded, Status: 200})
					}
					if err != nil {
						t.Error(err)
					}
				})
			}
		}
		all.Wait()
		if rows, err := other.Resources(t.Context(), ResourceQuery{Subscription: "s"}); err != nil || len(rows) != 40 {
			t.Errorf("%d resources, %v", len(rows), err)
		}
		if err := s.Scopes.Ask(t.Context()); err != nil {
			t.Error(err)
		}
		const settings = `SELECT current_setting('lock_timeout') || ' ' || current_setting('statement_timeout') || ' ' ||
			current_setting('idle_in_transaction_session_timeout') || ' ' || current_setting('random_page_cost') || ' ' || current_setting('synchronous_commit')`
		for of, want := range map[*Store]string{s: "4s 5s 5s 1.1 on", other: "4s 7s 5s 1.1 on"} {
			var reading, writing string
			if err := of.engine.Read(t.Context()).One(settings)(&reading); err != nil || reading != want {
				t.Errorf("a reading connection has %q, %v; want %q", reading, err, want)
			}
			err := of.write(t.Context(), engine.Flushed, engine.LockSet{}, func(t *tx) error { return t.One(settings)(&writing) })
			if err != nil || writing != want {
				t.Errorf("a writing connection has %q, %v; want %q", writing, err, want)
			}
		}
	})
	for _, mode := range []string{"transaction", "statement"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			o := testOptions(t)
			o.Driver, o.DSN, o.Connections = engine.Postgres, through(t, mode), 4
			s, err := Open(t.Context(), o)
			if err == nil {
				t.Error(s.Close())
			}
			for _, err := range []error{err, engine.CheckPostgres(t.Context(), o.DSN)} {
				if err == nil || !strings.Contains(err.Error(), "pool_mode = session") || errors.Is(err, ErrUnavailable) {
					t.Errorf("%s pooling: %v", mode, err)
				}
			}
			conn, err := pgx.Connect(t.Context(), cluster.DSN(mode))
			harness.OK(t, err)
			defer conn.Close(t.Context())
			var tables int
			if err := conn.QueryRow(t.Context(), `SELECT COUNT(*) FROM pg_tables WHERE schemaname = 'public'`).Scan(&tables); err != nil || tables != 0 {
				t.Errorf("%d tables were made: %v", tables, err)
			}
		})
	}
}
