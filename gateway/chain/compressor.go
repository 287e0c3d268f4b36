package chain

import (
	"compress/gzip"
	"io"
	"net/http"
	"sync"

	"portico/gateway/exchange"
	"portico/limits"
	"portico/tracing/headers"
)

// writerMemory is what compressing one answer takes of memory: the tables of its writer.
const writerMemory = 1280 << 10

// Compressor compresses answers by gzip for clients that accept it (RFC 9110, section
// 12.5.3): the handler of a request does not know of it. It is safe for concurrent use.
//
// An answer is sent unchanged if it is encoded already, short, a part, or not text, or if
// it has a strong entity tag or a digest, which hold for its very bytes. Weak tags stay:
// they name the representation, in any coding. Compression takes memory, which its caller
// is charged for; if there is none left, answers are sent uncompressed.
type Compressor struct {
	minimum int64
	memory  *limits.Memory
	writers sync.Pool // of *gzip.Writer
	answers sync.Pool // reused: most clients accept gzip, and most answers are short
}

// NewCompressor returns a compressor of answers of at least so many bytes. The memory it takes is
// charged to the callers.
func NewCompressor(minimum int64, memory *limits.Memory) *Compressor {
	c := &Compressor{minimum: minimum, memory: memory}
	c.answers.New = func() any { return &compressedAnswer{} }
	c.writers.New = func() any {
		w, err := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed)
		if err != nil { // the level is valid
			return gzip.NewWriter(io.Discard)
		}
		return w
	}
	return c
}

// vary is shared by all answers: a change of a header's value replaces the slice.
var vary = []string{"Accept-Encoding"}

// Compress compresses the answers of a handler. The request must have its exchange.
func (c *Compressor) Compress(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.Header["Accept-Encoding"]) == 0 {
			next.ServeHTTP(w, r) // without Vary, caches may give the answer to everybody
			return
		}
		w.Header()["Vary"] = vary
		accepted := headers.AcceptedEncodings(r.Header)
		if !accepted.Gzip || r.Method == http.MethodHead {
			next.ServeHTTP(w, r)
			return
		}
		a := c.answers.Get().(*compressedAnswer) //nolint:forcetypeassert // the only type in it
		*a = compressedAnswer{ResponseWriter: w, compressor: c, exchange: exchange.From(r), mustCompress: !accepted.Identity, length: -1}
		defer a.release() // also after a panic
		next.ServeHTTP(a, r)
		a.finish()
	})
}

// reserve reserves the memory of one answer, without waiting. It returns nil if there is
// none.
func (c *Compressor) reserve(caller string) *limits.Reservation {
	memory := c.memory.Reservation(caller, writerMemory)
	if !memory.TryGrow(writerMemory) {
		return nil
	}
	return memory
}
