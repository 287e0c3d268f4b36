package inventory

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"portico/inventory/engine"
	"portico/inventory/transaction"
	"portico/test/harness"
)

// A look-up that was planned when the tables were empty goes by the primary key
// once they are not, also where the server would not count rows by itself.
func TestPlansFollowTheTables(t *testing.T) {
	cluster := harness.StartPostgres(t, "autovacuum=off", "fsync=off")
	o := testOptions(t)
	o.Driver, o.DSN = engine.Postgres, cluster.CreateDatabase(t, "portico")
	s := openTest(t, o)
	makeGroup(t, s, "rg")
	use := func(name string) {
		t.Helper()
		if _, err := s.Begin(t.Context(), vmWrite("rg", name)); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Resource(t.Context(), "s", "/none"); !errors.Is(err, ErrNotFound) {
			t.Fatal(err)
		}
	}
	for i := range 10 { // after the fifth time the server keeps a plan
		use(fmt.Sprint("vm", i))
	}
	conn, err := pgx.Connect(t.Context(), o.DSN)
	harness.OK(t, err)
	_, err = conn.Exec(t.Context(), fmt.Sprintf(fillRows, 5_000, `'\x000102030405060708090a0b0c0d0e0f'`))
	harness.OK(t, err)
	harness.OK(t, conn.Close(t.Context()))
	harness.OK(t, s.CountRows(t.Context()))
	use("later")
	read, err := planFrom(s.engine.Read(t.Context()), selectResource)
	harness.OK(t, err)
	for _, plan := range []string{read, planOf(t, s, lockResourceRow)} {
		if !strings.Contains(plan, "resources_pkey") {
			t.Errorf("the plan is\n%s", plan)
		}
	}
}

// planOf is how the connection that writes for the subscription runs a
// statement that it has prepared.
func planOf(t *testing.T, s *Store, statement string) string {
	t.Helper()
	plan, err := commit(t.Context(), s, engine.Unflushed, transaction.RecordLocks("s"), func(tx *tx) (string, error) { return planFrom(tx, statement) })
	harness.OK(t, err)
	return plan
}

// planFrom is how a connection runs a statement that it has prepared.
func planFrom(from engine.Source, statement string) (string, error) {
	var name string
	if err := from.One(`SELECT name FROM pg_prepared_statements WHERE statement = ?`, numbered(statement))(&name); err != nil {
		return "", err
	}
	arguments := strings.TrimSuffix(strings.Repeat("NULL,", strings.Count(statement, "?")), ",")
	plan, err := engine.Collect(from, engine.ScanOne[string], "EXPLAIN EXECUTE "+name+"("+arguments+")")
	return strings.Join(plan, "\n"), err
}

// fillEvents puts events of one subscription into the tables, as if they had been numbered.
const fillEvents = `INSERT INTO events (subscription, number, place, id, at, key, payload)
	SELECT 's', n, n, '\x00', n, '/resource/' || n %% 1000, '\x00' FROM generate_series(1000, %d) AS n`

// The events of a subscription are read by its own key, however many others there are, and
// whatever the server knows of that.
func TestEventPlansAreOfOneSubscription(t *testing.T) {
	cluster := harness.StartPostgres(t, "autovacuum=off", "fsync=off")
	o := testOptions(t)
	o.Driver, o.DSN = engine.Postgres, cluster.CreateDatabase(t, "portico")
	openTest(t, o)
	conn, err := pgx.Connect(t.Context(), o.DSN)
	harness.OK(t, err)
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	exec := func(statement string) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	statements, _ := texts(t)
	plans := func(when string) {
		for _, c := range []struct{ statement, index, values string }{
			{statements["subscriptionEvents"], "events_pkey", "'other', 900000, 10"},
			{statements["resourceEvents"], "events_by_key", "'other', '/k', 900000, 10"},
			{statements["oldestEventsOf"], "events_pkey", "'other', 10"},
			{statements["eventsAfter"], "events_by_place", "190000, 10"},
		} {
			for _, mode := range []string{"force_custom_plan", "force_generic_plan"} {
				exec("SET plan_cache_mode = " + mode)
				exec("PREPARE asked AS " + numbered(c.statement))
				rows, err := conn.Query(t.Context(), "EXPLAIN EXECUTE asked ("+c.values+")")
				harness.OK(t, err)
				plan, err := pgx.CollectRows(rows, pgx.RowTo[string])
				harness.OK(t, err)
				if found := strings.Join(plan, "\n"); !strings.Contains(found, c.index) {
					t.Errorf("%s, %s: the plan of %s is\n%s", when, mode, c.statement, found)
				}
				exec("DEALLOCATE asked")
			}
		}
	}
	exec(fmt.Sprintf(fillEvents, 200_000))
	plans("not counted")
	exec("ANALYZE events")
	plans("counted")
}
