package harness

import (
	"net"
	"testing"
)

// Standby makes a synchronous streaming standby of p, on a new cluster: from now on a
// flushed commit of p waits until it is on the standby's disk.
func (p *Postgres) Standby(t testing.TB) *Postgres {
	t.Helper()
	return p.standbyAt(t, FreeAddress(t))
}

// Rejoin makes another synchronous standby of p at the address of a cluster that has
// ended: the former primary, after [Postgres.Promote].
func (p *Postgres) Rejoin(t testing.TB, former *Postgres) *Postgres {
	t.Helper()
	if former.Running() {
		t.Fatalf("postgres on %s still runs", former.Address)
	}
	return p.standbyAt(t, former.Address)
}

func (p *Postgres) standbyAt(t testing.TB, address string) *Postgres {
	t.Helper()
	host, port, err := net.SplitHostPort(p.Address)
	OK(t, err)
	s := newPostgres(t, address, p.settings)
	s.programs.run(t, s.folder, "pg_basebackup", "--pgdata", s.data(), "--host", host, "--port", port, "--username", "postgres",
		"--write-recovery-conf", "--wal-method", "stream", "--checkpoint", "fast", "--no-sync", "--no-password")
	s.Start(t)
	p.setSynchronous(t, "'*'")
	p.WaitFor(t, "SELECT EXISTS (SELECT 1 FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = 'sync')")
	return s
}

// Promote turns a standby into a primary. The former primary must have ended: otherwise
// both would accept writes.
func (p *Postgres) Promote(t testing.TB) {
	t.Helper()
	p.Exec(t, "SELECT pg_promote(true, 60)")
	p.setSynchronous(t, "''")
	p.WaitFor(t, "SELECT NOT pg_is_in_recovery()")
}

func (p *Postgres) setSynchronous(t testing.TB, names string) {
	t.Helper()
	p.Exec(t, "ALTER SYSTEM SET synchronous_standby_names = "+names, "SELECT pg_reload_conf()")
	// The reload reaches each process at a different time, but new connections always have
	// it.
	p.WaitFor(t, "SELECT current_setting('synchronous_standby_names') = "+names)
}
