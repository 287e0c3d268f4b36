package backup

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // the driver

	"portico/inventory/engine"
)

// Contents describes a backup.
type Contents struct {
	Bytes  int64 `json:"bytes"`
	Layout int64 `json:"layout"` // the number of the last migration
}

// DamagedError reports why a file is not an intact backup.
type DamagedError struct{ File, Why string }

func (e *DamagedError) Error() string { return e.File + " is not a complete database: " + e.Why }

// checkBackup makes SQLite read each page of a backup and compare each index with its table.
// It returns *DamagedError if the backup is not intact or not a gateway's database, and
// [engine.ErrEdition] if its layout is too old.
func checkBackup(ctx context.Context, file string) (c Contents, err error) {
	opened, err := os.Open(file) // because SQLite does not report why it cannot open a file
	if err != nil {
		return c, err
	}
	defer opened.Close()
	info, err := opened.Stat()
	if err != nil {
		return c, err
	}
	if log, err := os.Stat(file + "-wal"); err == nil && log.Size() > 0 {
		return c, &DamagedError{file, "a part of it is in the log beside it, as of a database in use"}
	}
	db, err := openReadOnly(file, "immutable=1")
	if err != nil {
		return c, err
	}
	defer db.Close()
	c.Bytes = info.Size()
	var found string
	err = db.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&found)
	if err == nil && found != "ok" {
		return c, &DamagedError{file, found}
	}
	if err == nil {
		err = db.QueryRowContext(ctx, "SELECT MAX(version_id) FROM schema_versions").Scan(&c.Layout)
	}
	switch {
	case err == nil:
		err = engine.CheckEdition(c.Layout)
	case ctx.Err() == nil:
		err = &DamagedError{file, err.Error()}
	}
	return c, err
}

// openReadOnly opens a database file, with an option of SQLite.
func openReadOnly(file, option string) (*sql.DB, error) {
	path, err := filepath.Abs(file)
	if err != nil {
		return nil, err
	}
	dsn := url.URL{Scheme: "file", Path: path, RawQuery: option + "&mode=ro"}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		return nil, fmt.Errorf("open the file of a database: %w", err)
	}
	return db, nil
}
