package gateway

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"
)

// What a client may take to take an answer: a fixed part, and the slowest pace
// that still counts as taking it.
const (
	slowestClient = 256 << 10 // bytes per second
	clientPause   = 30 * time.Second
)

// inTime has write write an answer of at most so many bytes, which its provider
// may be sending for a while yet. A client that does not take it in time is cut
// off: what the answer holds, of memory and of its provider, is not the client's
// to keep for ever.
func (g *Gateway) inTime(w http.ResponseWriter, x *exchange, size int64, coming time.Duration, write func() error) error {
	control := http.NewResponseController(w)
	limit := coming + clientPause + time.Duration(size/slowestClient)*time.Second
	if err := control.SetWriteDeadline(time.Now().Add(limit)); err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if err := write(); err != nil {
		return err
	}
	// The connection goes on to other requests.
	if err := control.SetWriteDeadline(time.Time{}); err != nil && !errors.Is(err, http.ErrNotSupported) {
		g.note(x, "the time to write an answer could not be lifted", err)
	}
	return nil
}

// sendTimed sends JSON of so many bytes, which is held until then.
func (g *Gateway) sendTimed(ctx context.Context, w http.ResponseWriter, x *exchange, size int64, write func(io.Writer) error) {
	h := w.Header()
	h["Content-Type"] = []string{"application/json; charset=utf-8"}
	h["Content-Length"] = []string{strconv.FormatInt(size, 10)}
	err := g.inTime(w, x, size, 0, func() error {
		w.WriteHeader(http.StatusOK)
		return write(w)
	})
	if err != nil {
		x.failure = errors.Join(err, ctx.Err())
		panic(http.ErrAbortHandler)
	}
}

// sendText sends what is short, or was made here. The client may be gone.
func (g *Gateway) sendText(w http.ResponseWriter, x *exchange, status int, text []byte) {
	_ = g.inTime(w, x, int64(len(text)), 0, func() error {
		w.WriteHeader(status)
		_, err := w.Write(text)
		return err
	})
}
