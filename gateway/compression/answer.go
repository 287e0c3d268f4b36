package compression

import (
	"compress/gzip"
	"net/http"
	"strings"

	"portico/gateway/exchange"
	"portico/limits"
	"portico/tracing/headers"
)

// answer is the writer of an answer that may be compressed. Whether it is shows with its
// headers, or, where they declare no length, with its first bytes.
type answer struct {
	http.ResponseWriter
	of       *Compressor
	exchange *exchange.Exchange
	must     bool // the client takes no answer that is not compressed

	status      int   // 0: WriteHeader was not called
	ended       bool  // the answer is whole
	headersSent bool  // the headers have gone out
	length      int64 // as the handler declares it; -1: it does not
	written     int64
	gzip        *gzip.Writer // nil: the answer goes as it is
	memory      *limits.Reservation
}

// SetOwn implements [headers.Owner]. None of them says whether to compress.
func (a *answer) SetOwn(own headers.Fields) { headers.SetOwn(a.ResponseWriter, own) }

// WriteHeader implements [http.ResponseWriter].
func (a *answer) WriteHeader(status int) {
	if status < http.StatusOK || a.status != 0 {
		if a.status == 0 || a.headersSent {
			a.ResponseWriter.WriteHeader(status) // it says what is wrong with that
		}
		return
	}
	a.status = status
	if n, ok := headers.ContentLength(a.Header()); ok {
		a.length = n
	}
	switch {
	case !compressible(a.Header(), status):
		a.begin(false)
	case a.length >= 0:
		a.begin(a.pays(a.length))
	}
}

// pays reports whether an answer of so many bytes is to be compressed.
func (a *answer) pays(n int64) bool { return n >= a.of.minimum || a.must && n > 0 }

// compressible reports whether an answer may be sent in another coding than it has.
func compressible(h http.Header, status int) bool {
	switch status {
	case http.StatusNoContent, http.StatusPartialContent, http.StatusNotModified:
		return false
	}
	for _, name := range [...]string{"Content-Encoding", "Content-Md5", "Content-Range"} {
		if len(h[name]) > 0 {
			return false
		}
	}
	if ranges := h.Get("Accept-Ranges"); ranges != "" && ranges != "none" {
		return false
	}
	if tag := h.Get("Etag"); tag != "" && !strings.HasPrefix(tag, "W/") {
		return false
	}
	kind, _, _ := strings.Cut(strings.ToLower(h.Get("Content-Type")), ";")
	kind = headers.TrimSpace(kind)
	return kind == "application/json" || strings.HasSuffix(kind, "+json") ||
		strings.HasPrefix(kind, "text/") && kind != "text/event-stream"
}

// begin sends the headers.
func (a *answer) begin(compress bool) {
	a.headersSent = true
	h := a.Header()
	if !headers.HasToken(h["Vary"], "accept-encoding") && !headers.HasToken(h["Vary"], "*") {
		h["Vary"] = append(append([]string(nil), h["Vary"]...), vary...) // the provider's own is there
	}
	if compress {
		if a.memory = a.of.reserve(a.exchange.Caller()); a.memory != nil {
			delete(h, "Content-Length")
			h["Content-Encoding"] = []string{"gzip"}
			a.gzip = a.of.writers.Get().(*gzip.Writer) //nolint:forcetypeassert // the only type in it
			a.gzip.Reset(a.ResponseWriter)
		}
	}
	a.ResponseWriter.WriteHeader(a.status)
}

// Write implements [http.ResponseWriter].
func (a *answer) Write(p []byte) (int, error) {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	if !a.headersSent {
		a.begin(a.pays(int64(len(p))))
	}
	if a.gzip == nil {
		return a.ResponseWriter.Write(p)
	}
	if a.written += int64(len(p)); a.length >= 0 && a.written > a.length {
		return 0, http.ErrContentLength
	}
	return a.gzip.Write(p)
}

// FlushError is what [http.ResponseController] calls.
func (a *answer) FlushError() error {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	if !a.headersSent {
		a.begin(false)
	}
	if a.gzip != nil {
		if err := a.gzip.Flush(); err != nil {
			return err
		}
	}
	return http.NewResponseController(a.ResponseWriter).Flush()
}

// Unwrap lets [http.ResponseController] reach the connection.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// finish ends an answer whose handler has returned. One that is shorter than it was
// declared is broken off, as it would be uncompressed.
func (a *answer) finish() {
	if a.status != 0 && !a.headersSent {
		a.begin(false)
	}
	if a.gzip == nil {
		a.ended = true
		return
	}
	if a.length >= 0 && a.written != a.length || a.gzip.Close() != nil {
		panic(http.ErrAbortHandler)
	}
	a.ended = true
	// Not after a failure: HTTP/2 may go on to read what it was given for a stream that
	// has ended.
	a.of.writers.Put(a.gzip)
}

// release returns the memory, and the writer where nothing refers to it any more.
func (a *answer) release() {
	if a.memory != nil {
		a.memory.Close()
	}
	if of, ended := a.of, a.ended; ended {
		*a = answer{}
		of.answers.Put(a)
	}
}
