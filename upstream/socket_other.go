//go:build !unix

package upstream

import (
	"errors"
	"net"
	"syscall"
)

// socketOf returns none: how to write to a socket is unknown here. A piece that
// waits for its reader can then leave late.
func socketOf(net.Conn) syscall.RawConn { return nil }

func writeSocket(syscall.RawConn, []byte, func() error) (int, error) {
	return 0, errors.ErrUnsupported
}
