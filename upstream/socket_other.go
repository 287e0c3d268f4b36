//go:build !unix

package upstream

import (
	"errors"
	"net"
	"syscall"
)

// socketOf returns nil: raw socket writes are not supported here. A piece that
// blocks may then leave late.
func socketOf(net.Conn) syscall.RawConn { return nil }

func writeSocket(syscall.RawConn, []byte, func() error) (int, error) {
	return 0, errors.ErrUnsupported
}
