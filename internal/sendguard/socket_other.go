//go:build !unix

package sendguard

import (
	"errors"
	"net"
	"syscall"
)

// Socket returns nil: raw socket writes are not supported here. A blocked
// piece may then leave late.
func Socket(net.Conn) syscall.RawConn { return nil }

type pieceWrite struct {
	conn *Conn
	step func(fd uintptr) bool
}

func (*pieceWrite) writeOnce(uintptr) bool { return true }

func (*pieceWrite) write(syscall.RawConn, *Guard, []byte, bool) (n int, first bool, err error) {
	return 0, false, errors.ErrUnsupported
}
