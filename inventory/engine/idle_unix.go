//go:build unix

package engine

import (
	"context"
	"errors"
	"net"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
)

// closedByServer reports whether the server has closed an idle connection. Replacing such a
// connection before use costs nothing. A whole transaction sent on it would fail, and it
// would be unknown whether it was committed.
func closedByServer(ctx context.Context, conn *pgconn.PgConn) bool {
	return readable(conn.Conn()) && conn.Ping(ctx) != nil // a notice is readable, too
}

// readable reports whether a read of the connection would return data or its end at once.
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
	// Read would wait for a reader that the driver may have left in the background.
	err = raw.Control(func(fd uintptr) {
		var one [1]byte
		_, _, err := syscall.Recvfrom(int(fd), one[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		nothing = errors.Is(err, syscall.EAGAIN)
	})
	return err != nil || !nothing
}
