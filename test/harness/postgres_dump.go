package harness

import (
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Dump writes a database, which may be in use, to a file, and returns its name.
func (p *Postgres) Dump(t testing.TB, database string) (file string) {
	t.Helper()
	file = filepath.Join(p.folder, database+".dump")
	p.programs.run(t, p.folder, "pg_dump", "--format", "custom", "--file", file, "--no-password", p.DSN(database))
	return file
}

// Replace puts what Dump wrote in the place of a database, which nobody uses.
func (p *Postgres) Replace(t testing.TB, database, file string) {
	t.Helper()
	p.Exec(t, "DROP DATABASE "+pgx.Identifier{database}.Sanitize())
	p.CreateDatabase(t, database)
	p.programs.run(t, p.folder, "pg_restore", "--dbname", p.DSN(database), "--exit-on-error", "--no-password", file)
}
