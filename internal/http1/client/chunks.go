package client

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

// Bounds of the overhead around the data of chunks.
const (
	maxChunkLine = 4 << 10
	maxTrailers  = 4 << 10
	// A chunk may have 16 bytes and twice its data as overhead; more counts
	// against maxExcess.
	freeExcess = 16
	maxExcess  = 16 << 10
)

var (
	errChunk  = errors.New("the answer's chunks are malformed")
	errExcess = errors.New("the answer's chunks bring too little data")
	errChunks = fmt.Errorf("the answer ended within its chunks: %w", io.ErrUnexpectedEOF)
)

// chunks is the state of a chunked body, without the data left of the chunk.
type chunks struct {
	lineEndDue bool  // the line end after a chunk is next
	last       bool  // only trailers are left
	excess     int64 // bytes of overhead beyond the free ones
	tail       int   // bytes of trailers
}

// readChunked reads into p, which must not be empty. It waits only until it
// has some bytes.
func (x *exchange) readChunked(p []byte) (n int, err error) {
	for {
		if n > 0 && (x.left > 0 && x.cn.r == x.cn.w || x.left == 0 && !x.cn.hasLine()) {
			return n, nil
		}
		switch {
		case x.lineEndDue:
			err = x.endChunk()
		case x.last:
			err = x.readTrailer()
		case x.left == 0:
			err = x.beginChunk()
		case len(p) == 0:
			return n, nil
		default:
			var m int
			m, err = x.cn.read(p[:min(int64(len(p)), x.left)])
			n, p = n+m, p[m:]
			x.left -= int64(m)
			x.lineEndDue = x.left == 0
		}
		switch {
		case err == io.EOF && x.last && x.tail < 0: //nolint:errorlint // readTrailer's
			return n, io.EOF
		case errors.Is(err, io.EOF):
			return n, errChunks
		case err != nil:
			return n, err
		}
	}
}

// endChunk reads the line end after a chunk's data.
func (x *exchange) endChunk() error {
	line, err := x.cn.line(2)
	switch {
	case errors.Is(err, errTooLong), err == nil && string(line) != "\r\n":
		return errChunk
	case err != nil:
		return err
	}
	x.lineEndDue = false
	return nil
}

// beginChunk reads the line before a chunk's data.
func (x *exchange) beginChunk() error {
	line, err := x.cn.line(maxChunkLine)
	if err != nil {
		return err
	}
	size, err := chunkSize(line)
	if err != nil {
		return err
	}
	x.excess = max(0, x.excess+int64(len(line))-freeExcess-2*min(size, maxExcess))
	if x.excess > maxExcess {
		return errExcess
	}
	x.left, x.last = size, size == 0
	return nil
}

// chunkSize parses a line: a number in hexadecimal digits, optionally
// followed by a semicolon and an extension.
func chunkSize(line []byte) (int64, error) {
	text, ok := bytes.CutSuffix(line, []byte("\r\n"))
	if !ok || bytes.IndexByte(text, '\r') >= 0 {
		return 0, errChunk
	}
	text = bytes.TrimRight(text, " \t")
	if end := bytes.IndexByte(text, ';'); end >= 0 {
		text = text[:end]
	}
	if len(text) == 0 || len(text) > 16 {
		return 0, errChunk
	}
	var size int64
	for _, c := range text {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, errChunk
		}
		if size >= 1<<58 {
			return 0, errChunk
		}
		size = size<<4 | int64(c)
	}
	return size, nil
}

// readTrailer reads and drops a trailer. After the last one it returns
// [io.EOF], and sets tail below 0.
func (x *exchange) readTrailer() error {
	line, err := x.cn.line(maxTrailers - x.tail)
	if err != nil {
		return err
	}
	x.tail += len(line)
	text, ok := bytes.CutSuffix(line, []byte("\r\n"))
	switch {
	case !ok:
		return errChunk
	case len(text) == 0:
		x.tail = -1
		return io.EOF
	}
	return checkField(text)
}
