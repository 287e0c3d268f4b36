package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrExists refuses to write over a file.
var ErrExists = errors.New("it exists, and a backup is never written over another file")

// Write copies a database that may be in use into a file, as it is at one moment. It
// checks the complete copy. The file appears once it is checked
// and on disk, readable by its owner alone; if the file exists already, the error is
// ErrExists. Writers of the database go on meanwhile; their log grows until the copy is
// complete.
func Write(ctx context.Context, database, file string) (c Contents, err error) {
	if _, err := os.Stat(database); err != nil {
		return c, err
	}
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		return c, errors.Join(err, ErrExists)
	}
	// In a private folder, because SQLite creates the copy with the process's default
	// file mode.
	folder, err := os.MkdirTemp(filepath.Dir(file), "."+filepath.Base(file)+".*") // of mode 0700
	if err != nil {
		return c, fmt.Errorf("make a folder for the copy: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	copied := filepath.Join(folder, "copy")
	db, err := openReadOnly(database, "_pragma=busy_timeout(5000)")
	if err != nil {
		return c, err
	}
	_, err = db.ExecContext(ctx, "VACUUM INTO ?", copied)
	if err = errors.Join(err, db.Close()); err != nil {
		return c, fmt.Errorf("copy %s: %w", database, err)
	}
	if err := os.Chmod(copied, 0o600); err != nil {
		return c, err
	}
	if c, err = check(ctx, copied); err != nil {
		return c, err
	}
	if err := flush(copied); err != nil {
		return c, err
	}
	// A link and not a rename, which would replace a file that another process has
	// created.
	if err := os.Link(copied, file); err != nil {
		if errors.Is(err, fs.ErrExist) {
			err = ErrExists
		}
		return c, err
	}
	return c, flush(filepath.Dir(file))
}

// flush waits until a file, or the entries of a folder, are on disk.
func flush(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}
