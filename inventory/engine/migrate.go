package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

// migrate applies every migration that the database lacks, even one with a lower number
// than those it has: such a file may have been added later.
func migrate(ctx context.Context, db *sql.DB, engine goose.Dialect, files fs.FS) error {
	options := []goose.ProviderOption{
		goose.WithDisableGlobalRegistry(true), goose.WithTableName(layoutTable), goose.WithAllowOutofOrder(true),
	}
	if engine == goose.DialectPostgres {
		// Replicas may start at the same time. The lock ends with its session.
		locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, uint64(openTimeout.Seconds())))
		if err != nil {
			return err
		}
		options = append(options, goose.WithSessionLocker(locker))
	}
	provider, err := goose.NewProvider(engine, db, files, options...)
	if err != nil {
		return err
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrate the database: %w", err)
	}
	return nil
}

// checkCollation refuses an engine that does not compare text bytewise: paging and
// prefixes rely on the order of folded keys.
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

// createDatabase advises how to create a suitable database.
const createDatabase = "create it by CREATE DATABASE portico TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C' ENCODING 'UTF8'"

var errCollation = errors.New("the database does not compare text bytewise, its collation is not C: " + createDatabase)
