package inventory_test

import (
	"context"
	"fmt"
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
	made    atomic.Int64
}

func (d *databases) fresh(t *testing.T) string {
	t.Helper()
	name := fmt.Sprint("test", d.made.Add(1))
	d.cluster.Exec(t, "CREATE SCHEMA "+name)
	return d.cluster.DSN("postgres") + "&search_path=" + name
}

func (d *databases) database(t *testing.T) storetest.Opener {
	dsn := d.fresh(t)
	return func(ctx context.Context, o inventory.Options) (*inventory.Store, error) {
		o.Driver, o.DSN = engine.Postgres, dsn
		return inventory.Open(ctx, o)
	}
}

func TestPostgres(t *testing.T) {
	t.Parallel()
	d := &databases{cluster: harness.StartPostgres(t)}
	storetest.Run(t, d.database)
	t.Run("Shared", func(t *testing.T) { storetest.RunShared(t, d.database) })
}
