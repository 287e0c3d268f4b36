package inventory

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"portico/inventory/engine"
	"portico/inventory/index"
	"portico/test/harness"
)

// A group that was absent when the transaction began to take its locks, and is
// made, with a resource in it, before it has them all: what was read of that
// resource behind the missing row says that there is none.
func TestGroupThatIsCreatedWhileOthersAreLocked(t *testing.T) {
	t.Parallel()
	cluster := harness.StartPostgres(t, "fsync=off")
	dsn := cluster.CreateDatabase(t, "portico")
	s, replica := openPostgres(t, dsn, 2), openPostgres(t, dsn, 2)
	makeGroup(t, s, "rg2")
	release, queued := blocked(t, s)
	tickets, errs := [2]Ticket{}, [2]error{}
	var wait sync.WaitGroup
	for i, group := range []string{"rg1", "rg2"} {
		wait.Go(func() { tickets[i], errs[i] = s.Begin(t.Context(), vmWrite(group, "vm")) })
	}
	queued(2)
	held := cluster.BeginWith(t, "portico", "SELECT key FROM resource_groups WHERE key = 'rg2' FOR UPDATE")
	go release()
	cluster.WaitFor(t, "SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock')")

	makeGroup(t, replica, "rg1")
	created := createdIn(t, replica, "rg1", "vm")
	held.Rollback(t)
	wait.Wait()
	row, err := s.Resource(t.Context(), "s", created.Key)
	harness.OK(t, errors.Join(err, errs[1]))
	switch now := tickets[0]; {
	case errors.Is(errs[0], index.ErrGroupNotFound):
	case errs[0] != nil || now.CreatedRow || now.Row == nil || now.Row.Generation != created.Generation || now.Generation != row.Generation:
		t.Errorf("the write into the new group: %v; it made its row: %v, it knew of %+v, its generation is the row's: %v",
			errs[0], now.CreatedRow, now.Row, now.Generation == row.Generation)
	}
}

// createdIn makes a resource, by a write that succeeds.
func createdIn(t *testing.T, s *Store, group, name string) *Resource {
	t.Helper()
	ticket, err := s.Begin(t.Context(), vmWrite(group, name))
	harness.OK(t, err)
	settled, err := s.Settle(t.Context(), ticket, WriteResult{Outcome: index.Succeeded, Status: http.StatusCreated})
	if err != nil || settled.Row == nil {
		t.Fatal(settled.Row, err)
	}
	return settled.Row
}

// afterReading runs a function once a transaction has read what its members are
// about.
type afterReading struct {
	engine.Session
	run func()
}

// intercept has the only connection of a store that writes observed.
func (s *afterReading) intercept(store *Store) {
	store.engine.Intercept(func(session engine.Session) engine.Session {
		s.Session = session
		return s
	})
}

func (s *afterReading) Begin(ctx context.Context, d engine.Durability) (engine.Conn, error) {
	c, err := s.Session.Begin(ctx, d)
	return afterReadingConn{c, s}, err
}

type afterReadingConn struct {
	engine.Conn
	of *afterReading
}

func (c afterReadingConn) LookUp(queries []engine.Lookup) error {
	err := c.Conn.LookUp(queries)
	if run := c.of.run; run != nil {
		c.of.run = nil
		run()
	}
	return err
}

// A group that was absent is absent for the whole transaction: what was read of
// its resources is of no use once another has made it.
func TestGroupThatIsCreatedAfterItsAbsenceWasRead(t *testing.T) {
	t.Parallel()
	dsn := harness.StartPostgres(t, "fsync=off").CreateDatabase(t, "portico")
	s, replica := openPostgres(t, dsn, 2), openPostgres(t, dsn, 2)
	var created *Resource
	spy := &afterReading{run: func() {
		makeGroup(t, replica, "rg")
		created = createdIn(t, replica, "rg", "vm")
	}}
	spy.intercept(s)
	if _, err := s.Begin(t.Context(), vmWrite("rg", "vm")); !errors.Is(err, index.ErrGroupNotFound) {
		t.Errorf("got %v", err)
	}
	ticket, err := s.Begin(t.Context(), vmWrite("rg", "vm"))
	if err != nil || ticket.Row == nil || ticket.Row.Generation != created.Generation {
		t.Errorf("the next write: %v, it knew of %+v", err, ticket.Row)
	}
}

// A row that is not as it was read, locks or no locks, ends the transaction; it
// is repeated, with what is there.
func TestRowsAreAsTheyWereRead(t *testing.T) {
	t.Parallel()
	cluster := harness.StartPostgres(t, "fsync=off")
	dsn := cluster.CreateDatabase(t, "portico")
	conn, err := pgx.Connect(t.Context(), dsn)
	harness.OK(t, err)
	defer conn.Close(context.Background())
	s := openPostgres(t, dsn, 2)
	makeGroup(t, s, "rg")
	created := createdIn(t, s, "rg", "model")
	spy := &afterReading{}
	spy.intercept(s)
	copied := func(name string) func() {
		return func() {
			_, err := conn.Exec(t.Context(), `CREATE TEMPORARY TABLE copied AS SELECT * FROM resources WHERE key = $1`, created.Key)
			key := strings.TrimSuffix(created.Key, "model") + name
			if err == nil {
				_, err = conn.Exec(t.Context(), `UPDATE copied SET key = $1, id = $1, name = $2, name_key = $2`, key, name)
			}
			if err == nil {
				_, err = conn.Exec(t.Context(), `INSERT INTO resources SELECT * FROM copied`)
			}
			if err == nil {
				_, err = conn.Exec(t.Context(), `DROP TABLE copied`)
			}
			if err != nil {
				t.Error(err)
			}
		}
	}
	spy.run = copied("alone")
	ticket, err := s.Begin(t.Context(), vmWrite("rg", "alone"))
	if err != nil || ticket.CreatedRow || ticket.Row == nil || ticket.Row.Generation != created.Generation {
		t.Errorf("alone: %v, it made its row: %v, it knew of %+v", err, ticket.CreatedRow, ticket.Row)
	}

	release, queued := blocked(t, s)
	var wait sync.WaitGroup
	tickets := map[string]Ticket{}
	var mu sync.Mutex
	for _, name := range []string{"before", "shared"} {
		wait.Go(func() {
			ticket, err := s.Begin(t.Context(), vmWrite("rg", name))
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			tickets[name] = ticket
		})
	}
	queued(2)
	spy.run = copied("shared")
	release()
	wait.Wait()
	if before, shared := tickets["before"], tickets["shared"]; !before.CreatedRow || shared.CreatedRow || shared.Row == nil {
		t.Errorf("with another: %+v, %+v", before, shared)
	}
}

// What comes with a group's row is of after the wait for it: a lock that is set
// meanwhile forbids the write.
func TestLockIsSeenAfterTheWaitForItsGroup(t *testing.T) {
	t.Parallel()
	cluster := harness.StartPostgres(t, "fsync=off")
	dsn := cluster.CreateDatabase(t, "portico")
	s := openPostgres(t, dsn, 2)
	makeGroup(t, s, "rg")
	conn, err := pgx.Connect(t.Context(), dsn)
	harness.OK(t, err)
	defer conn.Close(context.Background())
	exec := func(statement string, args ...any) {
		t.Helper()
		if _, err := conn.Exec(t.Context(), statement, args...); err != nil {
			t.Fatal(err)
		}
	}
	exec("BEGIN")
	exec("SELECT key FROM resource_groups FOR UPDATE")
	exec(`INSERT INTO locks (`+lockColumns+`) VALUES ('s', $1, 'l', $2, '{}', '', '', 0, 0)`, groupScope("s", "rg"), LockReadOnly)
	written := make(chan error, 1)
	go func() {
		_, err := s.Begin(t.Context(), vmWrite("rg", "vm"))
		written <- err
	}()
	cluster.WaitFor(t, "SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock')")
	exec("COMMIT")
	var locked *LockedError
	if err := <-written; !errors.As(err, &locked) {
		t.Errorf("got %v", err)
	}
}
