//go:build unix

package client

import (
	"io"
	"net"
	"os"
	"syscall"
)

// tryRead reads the available bytes, or returns errNothingYet.
func (w *wire) tryRead(p []byte) (int, error) {
	w.p = p
	closed := w.socket.Read(w.tryStep)
	w.p = nil
	switch {
	case closed != nil:
		return 0, closed
	case w.err == syscall.EAGAIN: //nolint:errorlint // unwrapped from the system call
		return 0, errNothingYet
	case w.err != nil:
		return 0, w.err
	case w.n == 0:
		return 0, io.EOF
	}
	return w.n, nil
}

func (w *wire) readOnce(fd uintptr) bool {
	w.n, w.err = readSocket(fd, w.p)
	return true // never wait
}

// ask is the socket operation of [conn.ask]. It returns the number of bytes
// of the answer, and the rest of the request if the socket did not take all
// of it; then it has not waited for the answer.
func (w *wire) ask(request, answer []byte, by *exchange) (n int, rest []byte, err error) {
	w.request, w.p, w.by, w.tried = request, answer, by, false
	w.n, w.err = 0, nil
	failed := w.socket.Read(w.askStep)
	rest = w.request
	w.request, w.p, w.by = nil, nil, nil
	switch {
	case failed != nil && !w.tried:
		return 0, nil, errStale
	case failed != nil:
		return 0, nil, failed
	case w.err != nil:
		return 0, nil, w.err
	}
	return w.n, rest, nil
}

// askOnce returns false to wait for the answer.
func (w *wire) askOnce(fd uintptr) bool {
	if !w.tried {
		if _, err := readSocket(fd, w.p[:1]); err != syscall.EAGAIN { //nolint:errorlint // as the system call returned it
			w.err = errStale
			return true
		}
		w.tried = true
		w.by.notifyConn()
		return !w.send(fd) // nothing can have arrived yet
	}
	n, err := readSocket(fd, w.p)
	switch {
	case err == syscall.EAGAIN: //nolint:errorlint // as above
		return false
	case err != nil:
		w.err = socketError("read", err)
	default:
		w.n = n
	}
	return true
}

// send writes as much as it can of the request, and reports whether that was all.
func (w *wire) send(fd uintptr) bool {
	for {
		switch n, err := syscall.Write(int(fd), w.request); {
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN:
			return false
		case err != nil:
			w.err = socketError("write", err)
			return false
		default:
			w.request = w.request[n:]
			return len(w.request) == 0
		}
	}
}

func readSocket(fd uintptr, p []byte) (n int, err error) {
	for {
		if n, err = syscall.Read(int(fd), p); err != syscall.EINTR {
			return n, err
		}
	}
}

func socketError(operation string, err error) error {
	return &net.OpError{Op: operation, Net: "tcp", Err: os.NewSyscallError(operation, err)}
}
