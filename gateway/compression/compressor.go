// Package compression compresses answers on their way to clients that ask for it
// (RFC 9110, section 12.5.3), by gzip, in one middleware: the handler of a request does not
// know of it.
//
// An answer goes as it is where it has another coding already, is short, is a part, has
// no text, or has a strong entity tag or a digest, which hold for its very bytes. Weak
// tags stay: they name the representation, in whichever coding. What compresses takes
// memory, which its caller is charged for; where there is none, answers go as they are.
package compression

import (
	"compress/gzip"
	"io"
	"net/http"
	"sync"

	"portico/gateway/exchange"
	"portico/limits"
	"portico/tracing/headers"
)

// cost is what one answer takes of memory while it is compressed: the tables of its
// writer.
const cost = 1280 << 10

// Compressor compresses answers. It is safe for concurrent use.
type Compressor struct {
	minimum int64
	memory  *limits.Memory
	writers sync.Pool // of *gzip.Writer
	answers sync.Pool // of *answer: most clients ask, and most answers are short
}

// New returns a compressor of answers of at least so many bytes. What it takes of memory
// is charged to the callers.
func New(minimum int64, memory *limits.Memory) *Compressor {
	c := &Compressor{minimum: minimum, memory: memory}
	c.answers.New = func() any { return &answer{} }
	c.writers.New = func() any {
		w, err := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed)
		if err != nil { // the level is a legal one
			return gzip.NewWriter(io.Discard)
		}
		return w
	}
	return c
}

// vary is shared by all answers: a change of a header's value replaces the slice.
var vary = []string{"Accept-Encoding"}

// Compress compresses the answers of a handler. The request has its exchange.
func (c *Compressor) Compress(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.Header["Accept-Encoding"]) == 0 {
			next.ServeHTTP(w, r) // and whoever keeps the answer may give it to everybody
			return
		}
		w.Header()["Vary"] = vary
		accepted := headers.AcceptedEncodings(r.Header)
		if !accepted.Gzip || r.Method == http.MethodHead {
			next.ServeHTTP(w, r)
			return
		}
		a := c.answers.Get().(*answer) //nolint:forcetypeassert // the only type in it
		*a = answer{ResponseWriter: w, of: c, exchange: exchange.From(r), must: !accepted.Identity, length: -1}
		defer a.release() // also after a panic
		next.ServeHTTP(a, r)
		a.finish()
	})
}

// reserve takes the memory of one answer, without waiting; nil: there is none.
func (c *Compressor) reserve(caller string) *limits.Reservation {
	memory := c.memory.Reservation(caller, cost)
	if !memory.TryGrow(cost) {
		return nil
	}
	return memory
}
