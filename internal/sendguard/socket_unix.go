//go:build unix

package sendguard

import (
	"errors"
	"net"
	"os"
	"syscall"
)

// Socket returns the socket of a connection, or of the connection that it
// wraps; nil if it has none.
func Socket(conn net.Conn) syscall.RawConn {
	for {
		wrapper, ok := conn.(interface{ NetConn() net.Conn })
		if !ok {
			break
		}
		conn = wrapper.NetConn()
	}
	if s, ok := conn.(syscall.Conn); ok {
		if socket, err := s.SyscallConn(); err == nil {
			return socket
		}
	}
	return nil
}

// pieceWrite is a write to a socket. Its connection reuses it for one piece
// at a time, so that a write does not allocate.
type pieceWrite struct {
	conn *Conn
	step func(fd uintptr) bool // writeOnce

	guard *Guard
	p     []byte
	wait  bool
	n     int
	first bool
	err   error
}

// write writes as much of p as the socket takes at once. If it takes nothing, write
// waits, or writes nothing. It consults the guard again after each wait.
func (w *pieceWrite) write(socket syscall.RawConn, g *Guard, p []byte, wait bool) (n int, first bool, err error) {
	w.guard, w.p, w.wait, w.n, w.first, w.err = g, p, wait, 0, false, nil
	closed := socket.Write(w.step)
	n, first, err = w.n, w.first, w.err
	w.guard, w.p = nil, nil
	var failed syscall.Errno
	switch {
	case closed != nil:
		return 0, first, closed
	case err == nil:
		return n, first, nil
	case err == syscall.EAGAIN: //nolint:errorlint // as the system call returned it
		return 0, first, nil
	case errors.As(err, &failed):
		return 0, first, &net.OpError{Op: "write", Net: "tcp", Err: os.NewSyscallError("write", failed)}
	}
	return 0, first, err
}

// writeOnce returns false to wait until the socket takes bytes.
func (w *pieceWrite) writeOnce(fd uintptr) bool {
	for {
		first, err := w.guard.allow(w.conn)
		if w.first = w.first || first; err != nil {
			w.err = err
			return true
		}
		w.n, w.err = syscall.Write(int(fd), w.p)
		if w.err != syscall.EINTR { //nolint:errorlint // as the system call returned it
			return w.err != syscall.EAGAIN || !w.wait //nolint:errorlint // as above
		}
	}
}
