package gateway

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"
)

// What a client may take for an answer, from its beginning. One that does not
// take it in time is cut off: it must not hold a connection, nor what is held for
// it, for ever.
const (
	slowestClient = 256 << 10 // bytes per second
	clientPause   = 30 * time.Second
)

func takingTime(size int64) time.Duration {
	return clientPause + time.Duration(size/slowestClient)*time.Second
}

// longestAnswer bounds any answer that [Gateway.sendTimed] does not: one of a
// provider comes as fast as the provider sends it.
func (g *Gateway) longestAnswer() time.Duration {
	return g.config.Upstream.CallTimeout + takingTime(g.config.Limits.AnswerBody)
}

// sendTimed sends JSON of so many bytes, which is held until then.
func (g *Gateway) sendTimed(ctx context.Context, w http.ResponseWriter, x *exchange, size int64, write func(io.Writer) error) {
	h := w.Header()
	h["Content-Type"] = []string{"application/json; charset=utf-8"}
	h["Content-Length"] = []string{strconv.FormatInt(size, 10)}
	w.WriteHeader(http.StatusOK)
	if err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(takingTime(size))); err != nil && !errors.Is(err, http.ErrNotSupported) {
		x.failure = errors.Join(err, ctx.Err())
		panic(http.ErrAbortHandler)
	}
	if err := write(w); err != nil {
		x.failure = errors.Join(err, ctx.Err())
		panic(http.ErrAbortHandler)
	}
}
