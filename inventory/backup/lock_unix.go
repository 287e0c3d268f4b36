//go:build unix

package backup

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// The bytes of a database file that SQLite locks. A process that has the file open in the
// gateway's mode holds a shared lock on the last of them.
const (
	lockBegin  = 0x40000000
	lockLength = 512
)

// lockDatabase locks a database against all other processes until unlock. It returns
// ErrInUse if a process has the database open. It does not read the database, so that a
// damaged one can be replaced, too.
func lockDatabase(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return func() {}, nil
	}
	if err != nil {
		return nil, err
	}
	all := syscall.Flock_t{Type: syscall.F_WRLCK, Whence: io.SeekStart, Start: lockBegin, Len: lockLength}
	if err := syscall.FcntlFlock(file.Fd(), syscall.F_SETLK, &all); err != nil {
		_ = file.Close() // nothing was written
		if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EACCES) {
			err = ErrInUse
		}
		return nil, err
	}
	return func() { _ = file.Close() }, nil // closing ends the lock
}
