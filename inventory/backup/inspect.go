package backup

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	_ "modernc.org/sqlite" // the driver
)

// Contents is what a database holds.
type Contents struct {
	Bytes         int64 `json:"bytes"`
	Layout        int64 `json:"layout"` // the number of the last migration
	Subscriptions int64 `json:"subscriptions"`
	Groups        int64 `json:"groups"`
	Resources     int64 `json:"resources"`
}

// DamagedError says why a file is no intact backup.
type DamagedError struct{ File, Why string }

func (e *DamagedError) Error() string { return e.File + " is no whole database: " + e.Why }

// Inspect reads a complete backup, checks that all of it is as it was written, and
// counts its records. It returns *DamagedError if the backup is not intact.
func Inspect(ctx context.Context, file string) (Contents, error) {
	info, err := os.Stat(file)
	if err != nil {
		return Contents{}, err
	}
	if log, err := os.Stat(file + "-wal"); err == nil && log.Size() > 0 {
		return Contents{}, &DamagedError{file, "a part of it is in the log beside it, as of a database in use"}
	}
	c := Contents{Bytes: info.Size()}
	err = reading(ctx, file, "immutable=1", func(db *sql.Conn) error {
		if err := checkPages(ctx, db, file); err != nil {
			return err
		}
		return count(ctx, db, file, &c)
	})
	return c, err
}

// reading calls do with a read-only connection.
func reading(ctx context.Context, file, option string, do func(*sql.Conn) error) error {
	path, err := filepath.Abs(file)
	if err != nil {
		return err
	}
	return connected(ctx, path, option+"&mode=ro", do)
}

func connected(ctx context.Context, path, options string, do func(*sql.Conn) error) error {
	dsn := url.URL{Scheme: "file", Path: path, RawQuery: options}
	db, err := sql.Open("sqlite", dsn.String())
	if err != nil {
		return fmt.Errorf("open the file of a database: %w", err)
	}
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connect to the file of a database: %w", err)
	}
	defer conn.Close()
	return do(conn)
}

// checkPages makes SQLite read each page and compare each index with its table.
func checkPages(ctx context.Context, db *sql.Conn, file string) error {
	rows, err := db.QueryContext(ctx, "PRAGMA integrity_check(5)")
	if err != nil {
		return damaged(ctx, file, err)
	}
	defer rows.Close()
	var found []string
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			return damaged(ctx, file, err)
		}
		found = append(found, line)
	}
	if err := rows.Err(); err != nil {
		return damaged(ctx, file, err)
	}
	if len(found) != 1 || found[0] != "ok" {
		return &DamagedError{file, strings.Join(found, "; ")}
	}
	return nil
}

func damaged(ctx context.Context, file string, err error) error {
	if ctx.Err() != nil || errors.Is(err, fs.ErrPermission) {
		return err
	}
	return &DamagedError{file, err.Error()}
}

// count counts the records of a database. A database that is not a gateway's has no
// layout.
func count(ctx context.Context, db *sql.Conn, file string, c *Contents) error {
	for _, q := range []struct {
		statement string
		into      *int64
	}{
		{"SELECT MAX(version_id) FROM schema_versions", &c.Layout},
		{"SELECT COUNT(*) FROM subscriptions", &c.Subscriptions},
		{"SELECT COUNT(*) FROM resource_groups", &c.Groups},
		{"SELECT COUNT(*) FROM resources", &c.Resources},
	} {
		if err := db.QueryRowContext(ctx, q.statement).Scan(q.into); err != nil {
			return damaged(ctx, file, fmt.Errorf("it is not of this gateway: %w", err))
		}
	}
	return nil
}
