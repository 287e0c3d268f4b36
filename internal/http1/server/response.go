package server

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"portico/tracing/headers"
)

// maxHeld bounds the part of an answer that is buffered until the handler
// returns or writes more. A single write that does not fit is not copied.
const maxHeld = bufferSize

// headRoom bounds the bytes that start adds to the buffered ones.
const headRoom = 128

// response is the [http.ResponseWriter] of an exchange. It sends buffered
// bytes when the handler returns or flushes, or when they no longer fit.
type response struct {
	x            *exchange
	status       int   // 0: WriteHeader was not called
	length       int64 // the length declared by the handler; -1: none
	written      int64
	headComplete bool // its head is complete
	chunked      bool
	bodyless     bool // the answer has no content
	over         bool // the handler has returned
	err          error
	until        time.Time // write deadline; zero: none
	began        time.Time // when its head was written

	header http.Header // a new map for each answer: a handler may keep it
	own    headers.Fields

	head int // the end of the handler's headers in the buffered bytes
}

func (x *exchange) begin() { x.response.x, x.length = x, -1 }

var errOver = errors.New("the handler of this answer has returned")

// Header implements [http.ResponseWriter].
func (w *response) Header() http.Header {
	if w.header == nil {
		w.header = make(http.Header, usualHeaders)
	}
	return w.header
}

// usualHeaders is the largest size of a map without tables.
const usualHeaders = 8

// SetOwn implements [headers.Owner].
func (w *response) SetOwn(own headers.Fields) { w.own = own }

// WriteHeader implements [http.ResponseWriter].
func (w *response) WriteHeader(status int) {
	if status < 100 || status > 999 {
		panic(fmt.Sprintf("invalid WriteHeader code %v", status))
	}
	if w.status != 0 || w.over {
		w.x.conn.server.logf("http: superfluous response.WriteHeader call")
		return
	}
	if status < http.StatusOK {
		return // interim answers are not sent
	}
	w.status = status
	w.bodyless = status == http.StatusNoContent || status == http.StatusNotModified
	w.writeHead()
	if (w.bodyless || w.length >= 0) && w.x.body.ended {
		w.start(false)
	}
}

// writeHead writes the current headers, except those that depend on the rest
// of the answer.
func (w *response) writeHead() {
	c := w.x.conn
	out := c.out[:0]
	if w.x.request.ProtoMinor == 0 {
		out = append(out, "HTTP/1.0 "...)
	} else {
		out = append(out, "HTTP/1.1 "...)
	}
	out = strconv.AppendInt(out, int64(w.status), 10)
	text := http.StatusText(w.status)
	if text == "" {
		text = "status code " + strconv.Itoa(w.status)
	}
	out = append(append(append(out, ' '), text...), "\r\n"...)
	dated := false
	for name, values := range w.header {
		switch name {
		case "Content-Length":
			w.declareLength(values)
			continue
		case "Connection":
			w.x.last = w.x.last || headers.HasToken(values, "close")
			continue
		case "Transfer-Encoding", "Trailer":
			continue // the server itself frames the answer
		case "Content-Type":
			if w.status == http.StatusNotModified {
				continue
			}
		case "Date":
			dated = true
		}
		if !headers.IsToken(name) {
			continue
		}
		for _, value := range values {
			out = append(append(out, name...), ": "...)
			out = append(appendValue(out, value), "\r\n"...)
		}
	}
	for i := range w.own {
		out = append(append(out, w.own[i].Name...), ": "...)
		out = append(appendValue(out, w.own[i].Value), "\r\n"...)
	}
	w.began = time.Now()
	if !dated {
		out = append(c.server.date.append(append(out, "Date: "...), w.began), "\r\n"...)
	}
	c.out, w.head = out, len(out)
}

// declareLength sets the length that the handler declares.
func (w *response) declareLength(values []string) {
	if w.bodyless || len(values) == 0 {
		return
	}
	n, err := strconv.ParseInt(headers.TrimSpace(values[0]), 10, 64)
	if err != nil || n < 0 {
		w.x.conn.server.logf("http: invalid Content-Length of %q", values[0])
		return
	}
	w.length = n
}

// appendValue appends a header's value without line breaks.
func appendValue(out []byte, value string) []byte {
	value = headers.TrimSpace(value)
	if strings.IndexByte(value, '\n') < 0 && strings.IndexByte(value, '\r') < 0 {
		return append(out, value...)
	}
	return append(out, strings.NewReplacer("\r", " ", "\n", " ").Replace(value)...)
}

// Write implements [http.ResponseWriter].
func (w *response) Write(p []byte) (int, error) {
	if w.over {
		return 0, errOver
	}
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	switch {
	case len(p) == 0:
		return 0, nil
	case w.bodyless:
		return 0, http.ErrBodyNotAllowed
	case w.err != nil:
		return 0, w.err
	}
	w.written += int64(len(p))
	if w.length >= 0 && w.written > w.length {
		return 0, http.ErrContentLength
	}
	if w.x.request.Method == http.MethodHead {
		return len(p), nil
	}
	c := w.x.conn
	if !w.headComplete {
		if len(c.out)+len(p) <= maxHeld-headRoom {
			c.out = append(c.out, p...)
			return len(p), nil
		}
		w.start(false)
	}
	switch {
	case w.chunked:
		c.out = strconv.AppendInt(c.out, int64(len(p)), 16)
		c.out = append(c.out, "\r\n"...)
		w.bufferOrWrite(p)
		c.out = append(c.out, "\r\n"...)
	default:
		w.bufferOrWrite(p)
	}
	if w.err != nil {
		return 0, w.err
	}
	return len(p), nil
}

// bufferOrWrite buffers p, or writes it after the buffered bytes.
func (w *response) bufferOrWrite(p []byte) {
	c := w.x.conn
	if len(c.out)+len(p) <= maxHeld {
		c.out = append(c.out, p...)
		return
	}
	if len(p) <= maxHeld || len(c.out) > 0 {
		// The beginning of p fills the buffer, so that it is sent with the headers.
		n := min(max(0, maxHeld-len(c.out)), len(p))
		c.out, p = append(c.out, p[:n]...), p[n:]
		w.send()
	}
	if len(p) <= maxHeld {
		c.out = append(c.out, p...)
		return
	}
	w.write(p)
}

// start decides how the answer is framed, and completes its head. complete
// reports whether the buffered content is the whole content.
func (w *response) start(complete bool) {
	w.headComplete = true
	c, x := w.x.conn, w.x
	if !x.last && !x.body.discard() {
		x.last = true
	}
	if c.server.ended.Load() {
		x.last = true
	}
	head := x.request.Method == http.MethodHead
	content := bytes.Clone(c.out[w.head:]) // empty, unless the handler has not declared a length
	out := c.out[:w.head]
	switch {
	case w.bodyless:
	case w.length >= 0:
		out = appendLength(out, w.length)
	case complete && !(head && w.written == 0):
		w.length = w.written
		out = appendLength(out, w.length)
	case head:
	case x.request.ProtoMinor == 0:
		x.last = true
	default:
		w.chunked = true
		out = append(out, "Transfer-Encoding: chunked\r\n"...)
	}
	if x.last {
		out = append(out, "Connection: close\r\n"...)
	}
	out = append(out, "\r\n"...)
	if w.chunked && len(content) > 0 {
		out = append(strconv.AppendInt(out, int64(len(content)), 16), "\r\n"...)
		out = append(append(out, content...), "\r\n"...)
	} else {
		out = append(out, content...)
	}
	c.out = out
}

func appendLength(out []byte, n int64) []byte {
	return append(strconv.AppendInt(append(out, "Content-Length: "...), n, 10), "\r\n"...)
}

// send writes the buffered bytes.
func (w *response) send() {
	c := w.x.conn
	if len(c.out) > 0 {
		w.write(c.out)
	}
	c.out = c.out[:0]
}

func (w *response) write(p []byte) {
	if w.err != nil {
		return
	}
	w.x.writeUntil(w.until)
	if _, err := w.x.conn.Conn.Write(p); err != nil {
		w.err = err
		w.x.context.end()
	}
}

// finish sends the rest of the answer, and reports whether another request may follow.
func (w *response) finish() bool {
	x, c := w.x, w.x.conn
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if !w.headComplete {
		w.start(true)
	}
	if w.chunked {
		c.out = append(c.out, "0\r\n\r\n"...)
	}
	w.send()
	w.over = true
	short := w.length >= 0 && w.written != w.length && x.request.Method != http.MethodHead
	_ = x.body.Close() // never fails
	if w.err != nil || short {
		return false
	}
	if x.last {
		x.lingerForContent()
		return false
	}
	c.shrink()
	return true
}

// Flush implements [http.Flusher].
func (w *response) Flush() { _ = w.FlushError() }

// FlushError implements [http.ResponseController.Flush].
func (w *response) FlushError() error {
	if w.over {
		return errOver
	}
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if !w.headComplete {
		w.start(false)
	}
	w.send()
	return w.err
}

// SetReadDeadline implements [http.ResponseController.SetReadDeadline] for
// the request's content.
func (w *response) SetReadDeadline(t time.Time) error {
	w.x.body.mu.Lock()
	defer w.x.body.mu.Unlock()
	w.x.body.readUntil = t
	return nil
}

// SetWriteDeadline implements [http.ResponseController.SetWriteDeadline].
func (w *response) SetWriteDeadline(t time.Time) error {
	w.until = t
	return nil
}

// WriteWithin bounds the client's time to take the whole answer, from the
// writing of the head, or from now.
func (w *response) WriteWithin(d time.Duration) {
	began := w.began
	if began.IsZero() {
		began = time.Now()
	}
	w.until = began.Add(d)
}

// askForContent tells a waiting client to send its content. It fails once the
// answer has started.
func (x *exchange) askForContent() error {
	if x.headComplete {
		return http.ErrBodyReadAfterClose
	}
	x.writeUntil(x.until)
	_, err := x.conn.Conn.Write([]byte("HTTP/1.1 100 Continue\r\n\r\n"))
	return err
}
