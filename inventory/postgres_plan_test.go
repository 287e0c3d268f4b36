package inventory

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"portico/inventory/engine"
	"portico/test/harness"
)

// A look-up that was planned when the tables were empty goes by the primary key
// once they are not, also before the server has counted rows.
func TestPlansFollowTheTables(t *testing.T) {
	cluster := harness.StartPostgres(t, "autovacuum=off")
	o := testOptions(t)
	o.Driver, o.DSN = engine.Postgres, cluster.CreateDatabase(t, "portico")
	s := openTest(t, o)
	makeGroup(t, s, "rg")
	begin := func(name string) {
		t.Helper()
		if _, err := s.Begin(t.Context(), vmWrite("rg", name)); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 10 { // after the fifth time the server keeps a plan
		begin(fmt.Sprint("vm", i))
	}
	conn, err := pgx.Connect(t.Context(), o.DSN)
	if err != nil {
		t.Fatal(err)
	}
	_, err = conn.Exec(t.Context(), fmt.Sprintf(fillRows, 5_000, `'\x000102030405060708090a0b0c0d0e0f'`))
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second + 100*time.Millisecond) // that is how old plans get
	begin("later")
	if plan := planOf(t, s, lockResourceRow); !strings.Contains(plan, "resources_pkey") {
		t.Errorf("the plan is\n%s", plan)
	}
}

// planOf is how the connection that writes for the subscription runs a
// statement that it has prepared.
func planOf(t *testing.T, s *Store, statement string) string {
	t.Helper()
	prepared, rest, _ := strings.Cut(statement, "?")
	for n := 1; rest != ""; n++ {
		var piece string
		piece, rest, _ = strings.Cut(rest, "?")
		prepared += "$" + strconv.Itoa(n) + piece
	}
	plan, err := commit(t.Context(), s, engine.Unflushed, recordLocks("s"), func(tx *tx) ([]string, error) {
		var name string
		if err := tx.One(`SELECT name FROM pg_prepared_statements WHERE statement = ?`, prepared)(&name); err != nil {
			return nil, err
		}
		arguments := strings.TrimSuffix(strings.Repeat("NULL,", strings.Count(statement, "?")), ",")
		return engine.Collect(tx, scanText, "EXPLAIN EXECUTE "+name+"("+arguments+")")
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(plan, "\n")
}
