package engine

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/pressly/goose/v3"
)

// sqliteReaders is the size of the reading pool.
const sqliteReaders = 8

// lockTimeout is how long another process may lock the file.
const lockTimeout = 5 * time.Second

// connectSQLite opens the file and brings it to the current layout.
func (e *Engine) connectSQLite(ctx context.Context) error {
	path, err := filepath.Abs(e.options.DSN)
	if err != nil {
		return fmt.Errorf("inventory: %w", err)
	}
	if err := createPrivate(path); err != nil {
		return Unavailable(err)
	}
	busy := fmt.Sprintf("busy_timeout(%d)", lockTimeout.Milliseconds())
	if e.writes, err = openSQLite(path, 1, busy, "journal_mode(WAL)", "synchronous(FULL)", "journal_size_limit(67108864)"); err != nil {
		return err
	}
	if err := checkCollation(ctx, e.writes); err != nil {
		return Classify(ctx, err)
	}
	if err := migrate(ctx, e.writes, goose.DialectSQLite3, e.options.Migrations); err != nil {
		return Classify(ctx, err)
	}
	if e.reads, err = openSQLite(path, sqliteReaders, busy, "query_only(1)"); err != nil {
		return err
	}
	e.dialect = dialect{now: e.options.Now}
	if e.dialect.now == nil {
		e.dialect.now = time.Now
	}
	e.sessions = []Session{&sqliteSession{db: e.writes, dialect: e.dialect, ran: &e.ran}}
	return nil
}

// createPrivate makes the database's file, readable by its owner alone; the engine
// gives its side files the same mode.
func createPrivate(path string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	return file.Close()
}

func openSQLite(path string, connections int, pragmas ...string) (*sql.DB, error) {
	dsn := url.URL{Scheme: "file", Path: path, RawQuery: url.Values{"_pragma": pragmas}.Encode()}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		return nil, fmt.Errorf("inventory: %w", err)
	}
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	return db, nil
}
