package engine

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/pressly/goose/v3"
)

// sqliteReaders is the size of the reading pool.
const sqliteReaders = 8

// lockTimeout is how long a statement waits for another process's lock on the file.
const lockTimeout = 5 * time.Second

// connectSQLite opens the file and brings it to the current layout.
func (e *Engine) connectSQLite(ctx context.Context) error {
	path, err := filepath.Abs(e.options.DSN)
	if err != nil {
		return fmt.Errorf("inventory: %w", err)
	}
	if err := createPrivateFile(path); err != nil {
		return Unavailable(err)
	}
	busy := fmt.Sprintf("busy_timeout(%d)", lockTimeout.Milliseconds())
	if err := verifySQLite(ctx, sqliteDSN(path, busy)+"&mode=ro"); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	writing := sqliteDSN(path, busy, "journal_mode(WAL)", "synchronous(FULL)", "journal_size_limit(67108864)")
	if err := e.prepareSQLite(ctx, writing); err != nil {
		return err
	}
	reading := sqliteDSN(path, busy, "query_only(1)")
	if e.reads, err = openSQLite(reading, sqliteReaders); err != nil {
		return err
	}
	if e.reserved, err = openSQLite(reading, 1); err != nil {
		return err
	}
	e.dialect = dialect{now: e.options.Now}
	if e.dialect.now == nil {
		e.dialect.now = time.Now
	}
	e.sessions = []Session{&sqliteSession{dsn: writing, dialect: e.dialect, ran: &e.ran}}
	return nil
}

// createPrivateFile creates the database's file, readable only by its owner. The engine
// gives its side files the same mode.
func createPrivateFile(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return file.Close()
}

// verifySQLite refuses an unsuitable file. It uses a read-only connection: any other would
// change the file, because it turns on the write-ahead log.
func verifySQLite(ctx context.Context, dsn string) error {
	db, err := openSQLite(dsn, 1)
	if err != nil {
		return err
	}
	err = checkEdition(ctx, db, sqliteHasLayout)
	return Classify(ctx, errors.Join(err, db.Close()))
}

// prepareSQLite brings a file to the current layout.
func (e *Engine) prepareSQLite(ctx context.Context, dsn string) error {
	db, err := openSQLite(dsn, 1)
	if err != nil {
		return err
	}
	err = checkCollation(ctx, db)
	if err == nil {
		err = migrate(ctx, db, goose.DialectSQLite3, e.options.Migrations)
	}
	return Classify(ctx, errors.Join(err, db.Close()))
}

func sqliteDSN(path string, pragmas ...string) string {
	dsn := url.URL{Scheme: "file", Path: path, RawQuery: url.Values{"_pragma": pragmas}.Encode()}
	return dsn.String()
}

func openSQLite(dsn string, connections int) (*sql.DB, error) {
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, fmt.Errorf("inventory: %w", err)
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return db, nil
}
