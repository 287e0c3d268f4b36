package harness

import (
	"testing"

	"github.com/jackc/pgx/v5"
)

// An acknowledged commit survives the primary's death: the standby has it, and accepts
// writes after its promotion.
func TestAStandbyTakesOver(t *testing.T) {
	primary := StartPostgres(t)
	primary.CreateDatabase(t, "d")
	standby := primary.Standby(t)
	count := func(p *Postgres) (n int) {
		t.Helper()
		conn := session(t, p.DSN("postgres"))
		OK(t, conn.QueryRow(t.Context(), "SELECT count(*) FROM x").Scan(&n))
		return n
	}
	primary.Exec(t, "CREATE TABLE x (n INT)", "INSERT INTO x VALUES (1)")
	primary.Kill(t)
	standby.Promote(t)
	if n := count(standby); n != 1 {
		t.Errorf("the standby has %d rows, want 1", n)
	}
	standby.Exec(t, "INSERT INTO x VALUES (2)")
	again := standby.Rejoin(t, primary)
	session(t, MultiHostDSN("d", primary, standby)) // finds the server that accepts writes
	standby.Exec(t, "INSERT INTO x VALUES (3)")
	standby.Stop(t)
	again.Promote(t)
	if n := count(again); n != 3 {
		t.Errorf("the new standby has %d rows, want 3", n)
	}
}

func session(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	OK(t, err)
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	return conn
}

func TestRestartAndPause(t *testing.T) {
	p := StartPostgres(t)
	p.Exec(t, "CREATE TABLE x (n INT)")
	for _, restart := range []func(){
		func() { p.Restart(t, true) },
		func() { p.Restart(t, false) },
		func() { p.Kill(t); p.Start(t) },
		func() { p.Pause(t); p.Resume(t) },
	} {
		restart()
		p.Exec(t, "INSERT INTO x VALUES (1)")
	}
	p.WaitFor(t, "SELECT count(*) = 4 FROM x")
}
