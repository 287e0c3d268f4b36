//go:build unix

package upstream

import (
	"errors"
	"net"
	"os"
	"syscall"
)

// socketOf returns the socket of a connection; nil if it has none.
func socketOf(conn net.Conn) syscall.RawConn {
	if counted, ok := conn.(*countedConn); ok {
		conn = counted.Conn
	}
	if s, ok := conn.(syscall.Conn); ok {
		if socket, err := s.SyscallConn(); err == nil {
			return socket
		}
	}
	return nil
}

// writeSocket writes as much of p as the socket takes at once, and waits while it
// takes nothing. It calls allow again after each wait.
func writeSocket(socket syscall.RawConn, p []byte, allow func() error) (n int, err error) {
	closed := socket.Write(func(fd uintptr) bool {
		for {
			if err = allow(); err != nil {
				return true
			}
			n, err = syscall.Write(int(fd), p)
			if !errors.Is(err, syscall.EINTR) {
				return !errors.Is(err, syscall.EAGAIN)
			}
		}
	})
	var failed syscall.Errno
	switch {
	case closed != nil:
		return 0, closed
	case errors.As(err, &failed):
		return 0, &net.OpError{Op: "write", Net: "tcp", Err: os.NewSyscallError("write", failed)}
	case err != nil:
		return 0, err
	}
	return n, nil
}
