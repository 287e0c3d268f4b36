package inventory

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"portico/test/harness"
)

// A look-up that was planned when the tables were empty goes by the primary key
// once they are not, also before the server has counted rows.
func TestPlansFollowTheTables(t *testing.T) {
	cluster := harness.StartPostgres(t, "autovacuum=off")
	o := testOptions(t)
	o.Driver, o.DSN = Postgres, cluster.CreateDatabase(t, "portico")
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
	// As if the plans were of age. No lane works now.
	for _, session := range s.sessions {
		session.(*postgresSession).planned = time.Now().Add(-planAge)
	}
	begin("later")
	if plan := planOf(t, s, lockResource); !strings.Contains(plan, "resources_pkey") {
		t.Errorf("the plan is\n%s", plan)
	}
}

// planOf is how the connection that writes for the subscription runs a
// statement that it has prepared.
func planOf(t *testing.T, s *Store, statement string) string {
	t.Helper()
	plan, err := commit(t.Context(), s, unflushed, aboutSubscription("s"), func(tx *tx) (string, error) {
		session := tx.link.(*postgresLink).session
		var name string
		err := session.conn.QueryRow(t.Context(), `SELECT name FROM pg_prepared_statements WHERE statement = $1`,
			session.text(statement)).Scan(&name)
		if err != nil {
			return "", err
		}
		arguments := strings.TrimSuffix(strings.Repeat("NULL,", strings.Count(statement, "?")), ",")
		rows, err := session.conn.Query(t.Context(), "EXPLAIN EXECUTE "+name+"("+arguments+")", pgx.QueryExecModeSimpleProtocol)
		if err != nil {
			return "", err
		}
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		return strings.Join(lines, "\n"), err
	})
	if err != nil {
		t.Fatal(err)
	}
	return plan
}
