//go:build !unix

package client

import "errors"

func (*wire) tryRead([]byte) (int, error) { return 0, errors.ErrUnsupported }

func (*wire) readOnce(uintptr) bool { return true }

func (*wire) ask([]byte, []byte, *exchange) (int, []byte, error) {
	return 0, nil, errors.ErrUnsupported
}

func (*wire) askOnce(uintptr) bool { return true }
