//go:build !unix

package contoso

import "os"

// lockFile opens the lock file without locking it: this system has no lock
// that ends with its process.
func lockFile(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
}
