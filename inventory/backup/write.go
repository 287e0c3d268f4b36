package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ErrExists refuses to overwrite a file.
var ErrExists = errors.New("it exists, and a backup is never written over another file")

// Write copies a database, which may be in use, into a file, as it is at one moment. The
// file appears once the copy is checked and on disk, and only its owner can read it. If the
// file exists already, the error is ErrExists. Writes to the database continue meanwhile;
// its log grows until the copy is complete.
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
	if c, err = checkBackup(ctx, copied); err != nil {
		return c, err
	}
	if err := syncPath(copied); err != nil {
		return c, err
	}
	// A rename would replace a file that another process has created meanwhile.
	if err := os.Link(copied, file); err != nil {
		if errors.Is(err, fs.ErrExist) {
			err = ErrExists
		}
		return c, err
	}
	return c, syncPath(filepath.Dir(file))
}

// syncPath flushes a file, or the entries of a folder, to disk.
func syncPath(path string) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}
