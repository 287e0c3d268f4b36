package client

import (
	"errors"
	"fmt"
	"io"
)

// body is the state of an answer's body.
type body struct {
	kind bodyKind
	left int64 // of a body with a length, or of the chunk
	err  error // result of all further reads
	chunks
}

var (
	errClosed = errors.New("the answer's body was closed")
	errEarly  = fmt.Errorf("the answer ended before its length: %w", io.ErrUnexpectedEOF)
)

// Held reports whether the whole body is in memory, so that no read of it waits.
func (x *exchange) Held() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.cn != nil && x.kind == lengthBody && x.left <= int64(x.cn.w-x.cn.r)
}

// Read implements [io.Reader]. At the body's end it returns [io.EOF], if possible with
// the last bytes.
func (x *exchange) Read(p []byte) (n int, err error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.err != nil || len(p) == 0 {
		return 0, x.err
	}
	switch x.kind {
	case chunkedBody:
		n, err = x.readChunked(p)
	case lengthBody:
		n, err = x.cn.read(p[:min(int64(len(p)), x.left)])
		if x.left -= int64(n); x.left == 0 {
			err = io.EOF
		} else if errors.Is(err, io.EOF) {
			err = errEarly
		}
	default:
		n, err = x.cn.read(p)
	}
	switch {
	case err == nil:
		return n, nil
	case err == io.EOF: //nolint:errorlint // the end itself, not a wrapped one
		x.err = io.EOF
		x.finish(true)
		return n, io.EOF
	}
	x.err = x.fail(err)
	return n, x.err
}

// Close implements [io.Closer]. A read in another goroutine fails.
func (x *exchange) Close() error {
	if !x.mu.TryLock() {
		x.interrupt()
		x.mu.Lock()
	}
	defer x.mu.Unlock()
	if x.cn != nil {
		x.finish(x.kind == lengthBody && x.cn.skip(x.left))
	}
	if x.err == nil {
		x.err = errClosed
	}
	return nil
}
