package inventory

import (
	"bytes"
	"database/sql"
	"errors"
	"os"
	"testing"

	"portico/inventory/engine"
	"portico/test/harness"
)

// ofEdition are the statements by which an edition before the first release began a store.
var ofEdition = []string{
	`CREATE TABLE schema_versions (id INTEGER PRIMARY KEY, version_id BIGINT NOT NULL, is_applied INTEGER NOT NULL, tstamp TEXT)`,
	`INSERT INTO schema_versions (id, version_id, is_applied) VALUES (1, 0, 1), (2, 1, 1), (3, 30, 1)`,
	`CREATE TABLE subscriptions (subscription TEXT NOT NULL, PRIMARY KEY (subscription))`,
	`INSERT INTO subscriptions (subscription) VALUES ('kept')`,
}

// A store of an edition before the first release is refused, and stays as it is.
func TestStoreOfAnEditionIsRefused(t *testing.T) {
	refused := func(t *testing.T, o Options) {
		t.Helper()
		s, err := Open(t.Context(), o)
		if err == nil {
			err = s.Close()
			t.Fatalf("it opened: %v", err)
		}
		if !errors.Is(err, engine.ErrEdition) || errors.Is(err, ErrUnavailable) {
			t.Errorf("the error is %v", err)
		}
	}
	fill := func(t *testing.T, db *sql.DB) {
		t.Helper()
		for _, statement := range ofEdition {
			if _, err := db.ExecContext(t.Context(), statement); err != nil {
				t.Fatalf("%s: %v", statement, err)
			}
		}
	}
	t.Run("sqlite", func(t *testing.T) {
		o := testOptions(t)
		db, err := sql.Open("sqlite", o.DSN)
		harness.OK(t, err)
		fill(t, db)
		harness.OK(t, db.Close())
		before, err := os.ReadFile(o.DSN)
		harness.OK(t, err)
		refused(t, o)
		if after, err := os.ReadFile(o.DSN); err != nil || !bytes.Equal(after, before) {
			t.Errorf("the file was changed, %v", err)
		}
	})
	t.Run("postgres", func(t *testing.T) {
		o := testOptions(t)
		o.Driver, o.DSN = engine.Postgres, harness.StartPostgres(t, "fsync=off").CreateDatabase(t, "portico")
		db, err := sql.Open("pgx", o.DSN)
		harness.OK(t, err)
		defer db.Close()
		fill(t, db)
		refused(t, o)
		if err := engine.CheckPostgres(t.Context(), o.DSN); !errors.Is(err, engine.ErrEdition) {
			t.Errorf("a check says %v", err)
		}
		var tables, versions int
		harness.OK(t, db.QueryRowContext(t.Context(), `SELECT (SELECT COUNT(*) FROM pg_tables WHERE schemaname = 'public'),
			(SELECT COUNT(*) FROM schema_versions)`).Scan(&tables, &versions))
		if tables != 2 || versions != 3 {
			t.Errorf("it has %d tables and %d versions now", tables, versions)
		}
	})
}

// A store that a later version has migrated is opened: that version adds, and takes nothing
// away.
func TestStoreOfALaterVersionIsOpened(t *testing.T) {
	o := testOptions(t)
	harness.OK(t, openTest(t, o).Close())
	db, err := sql.Open("sqlite", o.DSN)
	harness.OK(t, err)
	defer db.Close()
	for _, statement := range []string{
		`ALTER TABLE jobs ADD COLUMN later TEXT NOT NULL DEFAULT ''`,
		`INSERT INTO schema_versions (version_id, is_applied) VALUES (1000, 1)`,
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	harness.OK(t, openTest(t, o).Ready(t.Context()))
}
