package exchange

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"
)

// Time that a client has to receive an answer, from its first byte. A slower client is
// cut off: it must not hold a connection and its buffers for ever.
const (
	slowestClient = 256 << 10 // bytes per second
	clientPause   = 30 * time.Second
)

// DeliveryTime returns how long a client may take to receive an answer of size bytes.
func DeliveryTime(size int64) time.Duration {
	return clientPause + time.Duration(size/slowestClient)*time.Second
}

// SendJSON sends size bytes of JSON that write produces.
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
