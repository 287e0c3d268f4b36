package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"portico/inventory"
	"portico/inventory/engine"
)

// ErrInUse refuses to replace a database that a process has open.
var ErrInUse = errors.New("a process has it open: stop the gateway first")

// Restoration describes a restoration of a backup.
type Restoration struct {
	Backup, Database string
	// NotResumed are the kinds of jobs that are not resumed in the new database.
	NotResumed inventory.NotResumed
	// Now is the time of the restoration.
	Now time.Time
	// Progress is called with the number of bytes copied so far; it may be nil.
	Progress func(done, of int64)
}

// Restored is the result of a restoration.
type Restored struct {
	Contents
	// Aside is the new path of the former database; "" if there was none.
	Aside string `json:"aside,omitempty"`
	// Disarmed is the work that was ended.
	Disarmed inventory.Disarmed `json:"disarmed"`
}

// Restore replaces a database by a backup, and keeps the former database next to it
// under another name. The error is ErrInUse if a process has the database open, and
// *DamagedError if the backup is not intact. After an error the former database is in its
// place or next to it.
func (r Restoration) Restore(ctx context.Context) (done Restored, err error) {
	if done.Contents, err = checkBackup(ctx, r.Backup); err != nil {
		return done, err
	}
	if own := inventory.Layout(); done.Layout > own {
		return done, fmt.Errorf("%s has the layout %d, and this version knows none later than %d: restore it with the version that made it, or a later one",
			r.Backup, done.Layout, own)
	}
	unlock, err := lockDatabase(r.Database)
	if err != nil {
		return done, fmt.Errorf("%s: %w", r.Database, err)
	}
	defer unlock()
	ready, err := r.prepare(ctx, &done)
	if err != nil {
		return done, err
	}
	defer func() { _ = os.Remove(ready) }() // does nothing once it is renamed
	if done.Aside, err = r.setAside(); err != nil {
		return done, err
	}
	if err := os.Rename(ready, r.Database); err != nil {
		return done, fmt.Errorf("move the restored database to its place: %w", err)
	}
	return done, syncPath(filepath.Dir(r.Database))
}

// prepare creates the new database next to the former one.
func (r Restoration) prepare(ctx context.Context, done *Restored) (path string, err error) {
	from, err := os.Open(r.Backup)
	if err != nil {
		return "", err
	}
	defer from.Close()
	to, err := os.CreateTemp(filepath.Dir(r.Database), filepath.Base(r.Database)+".restoring.*") // of mode 0600
	if err != nil {
		return "", err
	}
	_, err = io.Copy(&progressWriter{to, r.Progress, 0, done.Bytes}, from)
	if err = errors.Join(err, to.Close()); err == nil {
		done.Disarmed, err = r.disarm(ctx, to.Name())
	}
	if err == nil {
		err = syncPath(to.Name())
	}
	if err != nil {
		return "", errors.Join(err, os.Remove(to.Name()))
	}
	return to.Name(), nil
}

// progressWriter is a writer that reports how many bytes were written.
type progressWriter struct {
	io.Writer
	progress func(done, of int64)
	done, of int64
}

func (c *progressWriter) Write(part []byte) (int, error) {
	n, err := c.Writer.Write(part)
	if c.done += int64(n); c.progress != nil {
		c.progress(c.done, c.of)
	}
	return n, err
}

// disarm migrates the new database to this gateway's layout, and ends the work in it that
// must not be resumed.
func (r Restoration) disarm(ctx context.Context, path string) (inventory.Disarmed, error) {
	store, err := inventory.OpenRestored(ctx, engine.SQLite, path)
	if err != nil {
		return inventory.Disarmed{}, fmt.Errorf("open the restored database: %w", err)
	}
	done, err := store.Disarm(ctx, r.NotResumed)
	err = errors.Join(err, store.Close())
	if _, stays := os.Lstat(path + "-wal"); err == nil && stays == nil {
		err = fmt.Errorf("%s: its log stayed beside it", path)
	}
	return done, err
}

// setAside renames the former database and SQLite's files next to it: the log may hold
// commits that the database file lacks.
func (r Restoration) setAside() (aside string, err error) {
	if _, err := os.Lstat(r.Database); errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	aside = r.Database + ".before-" + r.Now.UTC().Format("20060102T150405.000000Z")
	for _, suffix := range [...]string{"-wal", "-shm", ""} {
		err := os.Rename(r.Database+suffix, aside+suffix)
		if err != nil && (suffix == "" || !errors.Is(err, fs.ErrNotExist)) {
			return "", err
		}
	}
	return aside, nil
}
