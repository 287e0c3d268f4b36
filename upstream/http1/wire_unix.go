//go:build unix

package http1

import (
	"io"
	"syscall"
)

// tryRead reads what there is, or returns errNothingYet.
func (w *wire) tryRead(p []byte) (int, error) {
	w.p = p
	closed := w.socket.Read(w.step)
	w.p = nil
	switch {
	case closed != nil:
		return 0, closed
	case w.err == syscall.EAGAIN: //nolint:errorlint // as the system call returned it
		return 0, errNothingYet
	case w.err != nil:
		return 0, w.err
	case w.n == 0:
		return 0, io.EOF
	}
	return w.n, nil
}

func (w *wire) readOnce(fd uintptr) bool {
	for {
		if w.n, w.err = syscall.Read(int(fd), w.p); w.err != syscall.EINTR { //nolint:errorlint // as above
			return true // never wait
		}
	}
}
