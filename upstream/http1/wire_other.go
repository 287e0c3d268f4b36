//go:build !unix

package http1

import "errors"

func (*wire) tryRead([]byte) (int, error) { return 0, errors.ErrUnsupported }

func (*wire) readOnce(uintptr) bool { return true }
