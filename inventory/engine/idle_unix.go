//go:build unix

package engine

import (
	"context"
	"errors"
	"net"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
)

// ended reports whether the server has closed an idle connection. Replacing such a
// connection before use costs nothing; sending a complete transaction on it would fail,
// and leave open whether the transaction was committed.
func ended(ctx context.Context, conn *pgconn.PgConn) bool {
	return readable(conn.Conn()) && conn.Ping(ctx) != nil // it may be a notice
}

// readable reports whether there is something to read on a connection, or its end.
func readable(conn net.Conn) bool {
	if secure, ok := conn.(interface{ NetConn() net.Conn }); ok {
		conn = secure.NetConn()
	}
	socket, ok := conn.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return true
	}
	nothing := false
	// Not Read, which waits for a reader that the driver may have left in the background.
	err = raw.Control(func(fd uintptr) {
		var one [1]byte
		_, _, err := syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		nothing = errors.Is(err, syscall.EAGAIN)
	})
	return err != nil || !nothing
}
