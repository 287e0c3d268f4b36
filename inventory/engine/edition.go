package engine

import (
	"context"
	"database/sql"
	"errors"
)

// firstLayout is the number of the first migration. Editions before the first release used
// the lower numbers.
const firstLayout = 31

// layoutTable records which migrations a database has.
const layoutTable = "schema_versions"

// ErrEdition refuses a database that an edition before the first release created. The
// database is not changed.
var ErrEdition = errors.New("the database was created by an edition before the first release, and this version cannot read it: " +
	"start with an empty database, for SQLite in an empty folder")

// CheckEdition returns ErrEdition if an edition before the first release made the
// database. layout is the number of its last migration, 0 for an empty database.
func CheckEdition(layout int64) error {
	if layout > 0 && layout < firstLayout {
		return ErrEdition
	}
	return nil
}

// Queries of each engine that report whether a database has the table of migrations.
const (
	sqliteHasLayout   = `SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE name = '` + layoutTable + `')`
	postgresHasLayout = `SELECT to_regclass('` + layoutTable + `') IS NOT NULL`
)

func checkEdition(ctx context.Context, db *sql.DB, hasLayout string) error {
	var has bool
	if err := db.QueryRowContext(ctx, hasLayout).Scan(&has); err != nil || !has {
		return err
	}
	var layout int64
	if err := db.QueryRowContext(ctx, `SELECT COALESCE(MAX(version_id), 0) FROM `+layoutTable).Scan(&layout); err != nil {
		return err
	}
	return CheckEdition(layout)
}
