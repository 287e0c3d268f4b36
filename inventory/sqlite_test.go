package inventory_test

import (
	"context"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"

	"portico/inventory"
	"portico/inventory/storetest"
)

func TestMain(m *testing.M) {
	childMain()
	goleak.VerifyTestMain(m)
}

func sqliteDatabase(t *testing.T) storetest.Opener {
	path := filepath.Join(t.TempDir(), "portico ?#%41.db") // nothing in a name is read as more
	storetest.CreateDatabase(t, path)
	return func(ctx context.Context, o inventory.Options) (*inventory.Store, error) {
		o.DSN = path
		return inventory.Open(ctx, o)
	}
}

func TestSQLite(t *testing.T) {
	t.Parallel()
	storetest.Run(t, sqliteDatabase)
}
