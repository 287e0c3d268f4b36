//go:build unix

package contoso

import (
	"errors"
	"os"
	"syscall"
)

// lockFile locks the state file against other providers. The system releases
// the lock when the process ends, in any way.
func lockFile(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = errors.New("another provider has it open")
		}
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
