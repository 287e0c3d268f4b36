package inventory_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"portico/inventory"
	"portico/inventory/engine"
	"portico/inventory/storetest"
	"portico/test/harness"
)

// databases are schemas of one database, each as empty as a database of its own
// and made much faster.
type databases struct {
	cluster *harness.Postgres
	created atomic.Int64

	mu    sync.Mutex
	empty []string // have the tables and are used by no test
}

// pristine is a schema with the tables that no test writes into.
const pristine = "pristine"

func (d *databases) fresh(t *testing.T) string {
	t.Helper()
	return d.make(t, fmt.Sprint("test", d.created.Add(1)))
}

func (d *databases) make(t *testing.T, name string) (dsn string) {
	t.Helper()
	d.cluster.Exec(t, "CREATE SCHEMA "+name)
	return d.dsn(name)
}

func (d *databases) dsn(name string) string {
	return d.cluster.DSN("postgres") + "&search_path=" + name
}

func (d *databases) database(t *testing.T) storetest.Opener { return opener(d.fresh(t)) }

func opener(dsn string) storetest.Opener {
	return func(ctx context.Context, o inventory.Options) (*inventory.Store, error) {
		o.Driver, o.DSN = engine.Postgres, dsn
		return inventory.Open(ctx, o)
	}
}

// reused is a schema that has the tables: one that an earlier test has left, emptied, where
// there is one. Making the tables takes longer than most tests.
func (d *databases) reused(t *testing.T) storetest.Opener {
	t.Helper()
	name := d.take()
	if name == "" {
		name = fmt.Sprint("test", d.created.Add(1))
		d.make(t, name)
	}
	t.Cleanup(func() {
		if t.Failed() {
			return // what it has left is looked at
		}
		d.cluster.Exec(t, fmt.Sprintf(emptied, name, pristine))
		d.mu.Lock()
		defer d.mu.Unlock()
		d.empty = append(d.empty, name)
	})
	return opener(d.dsn(name))
}

func (d *databases) take() (name string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n := len(d.empty); n > 0 {
		name, d.empty = d.empty[n-1], d.empty[:n-1]
	}
	return name
}

// emptied makes what one schema holds that of another.
const emptied = `DO $$
DECLARE name text;
BEGIN
	SET LOCAL session_replication_role = replica; -- in whatever order
	FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = '%[1]s' LOOP
		EXECUTE format('DELETE FROM %%I.%%I', '%[1]s', name);
		EXECUTE format('INSERT INTO %%I.%%I SELECT * FROM %%I.%%I', '%[1]s', name, '%[2]s', name);
	END LOOP;
	FOR name IN SELECT sequencename FROM pg_sequences WHERE schemaname = '%[1]s' LOOP
		EXECUTE format('SELECT setval(%%L, last_value, is_called) FROM %%I.%%I', '%[1]s.' || name, '%[2]s', name);
	END LOOP;
END $$`

func TestPostgres(t *testing.T) {
	t.Parallel()
	// What has to outlast a server that fails, other tests try.
	d := &databases{cluster: harness.StartPostgres(t, "fsync=off")}
	store, err := opener(d.make(t, pristine))(t.Context(), storetest.Options(storetest.NewClock()))
	harness.OK(t, err)
	harness.OK(t, store.Close())
	storetest.Run(t, d.reused)
	t.Run("Shared", func(t *testing.T) { storetest.RunShared(t, d.database) })
}
