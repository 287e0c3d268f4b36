package chain

import (
	"compress/gzip"
	"net/http"
	"strings"

	"portico/gateway/exchange"
	"portico/limits"
	"portico/tracing/headers"
)

// compressedAnswer is the writer of an answer that may be compressed. It decides once the headers
// are written or, if they declare no length, with the first bytes.
type compressedAnswer struct {
	http.ResponseWriter
	compressor   *Compressor
	exchange     *exchange.Exchange
	mustCompress bool // the client accepts only a compressed answer

	status      int   // 0: WriteHeader was not called
	ended       bool  // the answer is complete
	headersSent bool  // the headers were sent
	length      int64 // declared by the handler; -1 if it did not
	written     int64
	gzip        *gzip.Writer // nil: the answer is not compressed
	memory      *limits.Reservation
}

// SetOwn implements [headers.Owner]. None of these headers matters for compression.
func (a *compressedAnswer) SetOwn(own headers.Fields) { headers.SetOwn(a.ResponseWriter, own) }

// WriteHeader implements [http.ResponseWriter].
func (a *compressedAnswer) WriteHeader(status int) {
	if status < http.StatusOK || a.status != 0 {
		if a.status == 0 || a.headersSent {
			a.ResponseWriter.WriteHeader(status) // informational, or a misuse that the server reports
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
		a.begin(a.worthCompressing(a.length))
	}
}

// worthCompressing reports whether to compress an answer of n bytes.
func (a *compressedAnswer) worthCompressing(n int64) bool {
	return n >= a.compressor.minimum || a.mustCompress && n > 0
}

// compressible reports whether the answer's headers and status permit compression.
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
func (a *compressedAnswer) begin(compress bool) {
	a.headersSent = true
	h := a.Header()
	if !headers.HasToken(h["Vary"], "accept-encoding") && !headers.HasToken(h["Vary"], "*") {
		h["Vary"] = append(append([]string(nil), h["Vary"]...), vary...) // keep the provider's values
	}
	if compress {
		if a.memory = a.compressor.reserve(a.exchange.Caller()); a.memory != nil {
			delete(h, "Content-Length")
			h["Content-Encoding"] = []string{"gzip"}
			a.gzip = a.compressor.writers.Get().(*gzip.Writer) //nolint:forcetypeassert // the only type in it
			a.gzip.Reset(a.ResponseWriter)
		}
	}
	a.ResponseWriter.WriteHeader(a.status)
}

// Write implements [http.ResponseWriter].
func (a *compressedAnswer) Write(p []byte) (int, error) {
	if a.status == 0 {
		a.WriteHeader(http.StatusOK)
	}
	if !a.headersSent {
		a.begin(a.worthCompressing(int64(len(p))))
	}
	if a.gzip == nil {
		return a.ResponseWriter.Write(p)
	}
	if a.written += int64(len(p)); a.length >= 0 && a.written > a.length {
		return 0, http.ErrContentLength
	}
	return a.gzip.Write(p)
}

// FlushError flushes the answer for [http.ResponseController].
func (a *compressedAnswer) FlushError() error {
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
func (a *compressedAnswer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// finish ends an answer whose handler has returned. If the answer is shorter than
// declared, it aborts the connection, as the server would for an uncompressed one.
func (a *compressedAnswer) finish() {
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
	// Not after a failure: HTTP/2 may still read what it was given for a stream that has
	// ended.
	a.compressor.writers.Put(a.gzip)
}

// release frees the memory, and the writer if nothing refers to it any more.
func (a *compressedAnswer) release() {
	if a.memory != nil {
		a.memory.Close()
	}
	if of, ended := a.compressor, a.ended; ended {
		*a = compressedAnswer{}
		of.answers.Put(a)
	}
}
