package inventory_test

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"portico/inventory/engine"
	"portico/test/harness"
)

// A migration may take longer than a statement of a request.
func TestMigrationOutlastsAStatement(t *testing.T) {
	t.Parallel()
	cluster := harness.StartPostgres(t, "fsync=off")
	dsn := cluster.CreateDatabase(t, "portico") + "&statement_timeout=300"
	harness.OK(t, migrateBy(t, dsn, map[string]string{"00031_slow.sql": "-- +goose Up\nSELECT pg_sleep(1);\n"}))
}

// migrateBy opens and closes a database with these migrations.
func migrateBy(t *testing.T, dsn string, files map[string]string) error {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		harness.OK(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	e, err := engine.Open(t.Context(), engine.Options{Driver: engine.Postgres, DSN: dsn, Migrations: os.DirFS(folder)})
	if err != nil {
		return err
	}
	return e.Close()
}

// While the index of a table is built, writes to the table go on; what an attempt left
// that did not end is built again.
func TestIndexIsBuiltDuringWrites(t *testing.T) {
	t.Parallel()
	cluster := harness.StartPostgres(t, "fsync=off")
	dsn := cluster.CreateDatabase(t, "portico")
	files := map[string]string{"00031_table.sql": "-- +goose Up\nCREATE TABLE a (x BIGINT NOT NULL);\nINSERT INTO a (x) VALUES (1);\n"}
	harness.OK(t, migrateBy(t, dsn, files))
	db, err := sql.Open("pgx", dsn)
	harness.OK(t, err)
	defer db.Close()
	do := func(on interface {
		ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	}, statement string) error {
		_, err := on.ExecContext(t.Context(), statement)
		return err
	}
	// An attempt that failed: the rows are not unique.
	harness.OK(t, do(db, "INSERT INTO a (x) VALUES (1)"))
	if err := do(db, "CREATE UNIQUE INDEX CONCURRENTLY a_x ON a (x)"); err == nil {
		t.Fatal("an index of rows that are not unique was built")
	}
	writer, err := db.BeginTx(t.Context(), nil)
	harness.OK(t, err)
	harness.OK(t, do(writer, "INSERT INTO a (x) VALUES (2)"))
	files["00032_index.sql"] = "-- +goose NO TRANSACTION\n-- +goose Up\nCREATE INDEX a_x ON a (x);\n"
	migrated := make(chan error, 1)
	go func() { migrated <- migrateBy(t, dsn, files) }()
	cluster.WaitFor(t, `SELECT COUNT(*) > 0 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%INDEX CONCURRENTLY%'`)
	// A lock of the table that no one may write beside would stand before this one.
	if err := do(db, "BEGIN; SET LOCAL lock_timeout = '1s'; INSERT INTO a (x) VALUES (3); COMMIT"); err != nil {
		t.Errorf("a write beside the index: %v", err)
	}
	harness.OK(t, writer.Commit())
	harness.OK(t, <-migrated)
	var valid bool
	if err := db.QueryRowContext(t.Context(), "SELECT indisvalid AND NOT indisunique FROM pg_index WHERE indexrelid = 'a_x'::regclass").Scan(&valid); err != nil || !valid {
		t.Errorf("the index is valid: %v, %v", valid, err)
	}
}
