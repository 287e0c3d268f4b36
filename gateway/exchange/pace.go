package exchange

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"
)

// Time that a client has to take an answer, from its first byte. A slower client
// is cut off: it must not hold a connection, nor what is held for it, for ever.
const (
	slowestClient = 256 << 10 // bytes per second
	clientPause   = 30 * time.Second
)

// DeliveryTime is how long a client may take for an answer of so many bytes.
func DeliveryTime(size int64) time.Duration {
	return clientPause + time.Duration(size/slowestClient)*time.Second
}

// SendJSON sends size bytes of JSON, which are held in memory until then.
func (x *Exchange) SendJSON(ctx context.Context, w http.ResponseWriter, size int64, write func(io.Writer) error) {
	h := w.Header()
	x.SetHeaders(w)
	h["Content-Type"] = []string{jsonContent}
	h["Content-Length"] = []string{strconv.FormatInt(size, 10)}
	w.WriteHeader(http.StatusOK)
	err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(DeliveryTime(size)))
	if err == nil || errors.Is(err, http.ErrNotSupported) {
		err = write(w)
	}
	if err != nil {
		x.Failure = errors.Join(err, ctx.Err())
		panic(http.ErrAbortHandler)
	}
}
