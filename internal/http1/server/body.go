package server

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"sync"
	"time"
)

// maxTrailers bounds the trailers after the last chunk.
const maxTrailers = 4 << 10

var (
	errEarly    = fmt.Errorf("the connection ended before the content did: %w", io.ErrUnexpectedEOF)
	errTrailers = errors.New("the trailers are malformed, or too long")
)

// body is the content of a request.
type body struct {
	x *exchange

	mu        sync.Mutex
	left      int64 // of content with a length
	chunks    *chunks
	awaited   bool // the client waits for 100 Continue before sending
	invited   bool // 100 Continue was sent
	ended     bool
	closed    bool
	err       error
	readUntil time.Time // read deadline; zero: none
}

// chunks is content without a declared length. It is the last on its
// connection, so that the parser may read beyond its end.
type chunks struct {
	from *bufio.Reader
	data io.Reader
}

// openBody prepares the request's body.
func (x *exchange) openBody() {
	b, r := &x.body, &x.request
	b.x, b.left = x, r.ContentLength
	switch {
	case r.ContentLength == 0:
		b.ended = true
		x.received.Store(true)
		r.Body = http.NoBody
		return
	case r.ContentLength < 0:
		from := bufio.NewReaderSize(wireReader{b}, bufferSize)
		b.chunks = &chunks{from, httputil.NewChunkedReader(from)}
	}
	r.Body = b
}

// wireReader reads from the connection below a body.
type wireReader struct{ b *body }

func (w wireReader) Read(p []byte) (int, error) { return w.b.x.conn.read(p, w.b.readUntil) }

// Read implements [io.Reader].
func (b *body) Read(p []byte) (n int, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return 0, http.ErrBodyReadAfterClose
	}
	if b.awaited && !b.invited {
		b.invited = true
		if err := b.x.askForContent(); err != nil {
			b.err = err
		}
	}
	return b.read(p)
}

func (b *body) read(p []byte) (n int, err error) {
	switch {
	case b.ended:
		return 0, io.EOF
	case b.err != nil || len(p) == 0:
		return 0, b.err
	case b.chunks != nil:
		n, err = b.chunks.read(p)
	default:
		n, err = b.x.conn.read(p[:min(int64(len(p)), b.left)], b.readUntil)
		if b.left -= int64(n); b.left == 0 {
			err = io.EOF
		} else if errors.Is(err, io.EOF) {
			err = errEarly
		}
	}
	switch {
	case err == io.EOF: //nolint:errorlint // the end itself, not a wrapped one
		b.ended = true
		b.x.received.Store(true)
	case err != nil && !timedOut(err): // reading may continue after a deadline
		b.err = err
	}
	return n, err
}

// read reads data and, after the last chunk, drops the trailers.
func (c *chunks) read(p []byte) (int, error) {
	n, err := c.data.Read(p)
	if !errors.Is(err, io.EOF) {
		return n, err
	}
	return n, c.dropTrailers()
}

// dropTrailers reads to the end of the trailers. It returns [io.EOF] if they are valid.
func (c *chunks) dropTrailers() error {
	for room := maxTrailers; ; {
		line, err := c.from.ReadSlice('\n')
		if errors.Is(err, io.EOF) {
			return errEarly
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
		text, ok := bytes.CutSuffix(line, []byte("\r\n"))
		room -= len(line)
		switch {
		case !ok || room < 0:
			return errTrailers
		case len(text) == 0:
			return io.EOF
		}
		if _, err := checkField(text); err != nil {
			return errTrailers
		}
	}
}

// Close implements [io.Closer].
func (b *body) Close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	return nil
}

// maxUnread bounds the content that is read after the handler has left it
// unread, so that another request can follow on the connection.
const maxUnread = 256 << 10

// discard reads the rest of the content, if that is short, and reports
// whether it reached the end.
func (b *body) discard() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		return true
	}
	if b.err != nil || b.chunks != nil || b.left > maxUnread || b.awaited {
		return false
	}
	into := dropped.Get().(*[dropSize]byte) // the only type in it
	defer dropped.Put(into)
	for {
		if _, err := b.read(into[:]); err != nil {
			return b.ended
		}
	}
}

const dropSize = 8 << 10

var dropped = sync.Pool{New: func() any { return new([dropSize]byte) }}
