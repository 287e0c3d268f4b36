package e2e

import (
	"bytes"
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"portico/test/harness"
)

// A database of an edition before the first release is refused by every command that opens
// it, with what to do, and stays as it is.
func TestDatabaseOfAnEditionIsRefused(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{})
	p := w.Portico
	p.Stop(t)
	folder := filepath.Dir(p.ConfigFile)
	database := filepath.Join(folder, "portico.db")
	harness.OK(t, os.Remove(database))
	db, err := sql.Open("sqlite", database)
	harness.OK(t, err)
	for _, statement := range []string{
		`CREATE TABLE schema_versions (id INTEGER PRIMARY KEY AUTOINCREMENT, version_id INTEGER NOT NULL, is_applied INTEGER NOT NULL, tstamp TIMESTAMP)`,
		`INSERT INTO schema_versions (version_id, is_applied) VALUES (0, 1), (1, 1), (30, 1)`,
		`CREATE TABLE touched (subscription TEXT NOT NULL, PRIMARY KEY (subscription))`,
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	harness.OK(t, db.Close())
	before, err := os.ReadFile(database)
	harness.OK(t, err)
	saved := filepath.Join(folder, "saved.db")
	for _, args := range [][]string{{"serve"}, {"backup", saved}, {"restore", database}} {
		_, said := runCommand(t, p, 1, args...)
		if !strings.Contains(said, "the database was created by an edition before the first release") || !strings.Contains(said, "start with an empty database") {
			t.Errorf("portico %s says %s", args[0], said)
		}
	}
	if left, err := filepath.Glob(filepath.Join(folder, "*saved*")); err != nil || len(left) > 0 {
		t.Errorf("a backup was made: %v, %v", left, err)
	}
	if after, err := os.ReadFile(database); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the database was changed: %v", err)
	}
}
