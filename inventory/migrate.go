package inventory

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrate brings the database to the present layout.
func migrate(ctx context.Context, db *sql.DB, engine goose.Dialect) error {
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(engine, db, files,
		goose.WithDisableGlobalRegistry(true), goose.WithTableName("schema_versions"))
	if err != nil {
		return err
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrate the database: %w", err)
	}
	return nil
}

// checkCollation refuses an engine that does not compare text bytewise: paging
// and prefixes stand on the order of folded keys.
func checkCollation(ctx context.Context, db *sql.DB) error {
	var bytewise bool
	err := db.QueryRowContext(ctx,
		`SELECT CASE WHEN 'rg-1/x' < 'rg/x' AND 'Z' < 'a' THEN 1 ELSE 0 END`).Scan(&bytewise)
	if err != nil {
		return err
	}
	if !bytewise {
		return errCollation
	}
	return nil
}

var errCollation = errors.New("inventory: the database does not compare text bytewise; create it with the collation C")
