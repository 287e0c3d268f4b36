package observe

import (
	"net/http"
	"time"

	"portico/tracing/headers"
)

// recorder notes what an answer was.
type recorder struct {
	http.ResponseWriter
	status       int
	bytes        int64
	started      bool
	deliveryTime time.Duration // 0: unbounded
}

// AnswerStarted reports whether a part of the answer to an observed request has
// gone out, so that it cannot be taken back.
func AnswerStarted(w http.ResponseWriter) bool {
	answer, ok := w.(*recorder)
	return ok && answer.started
}

func (w *recorder) WriteHeader(status int) {
	w.ResponseWriter.WriteHeader(status) // panics at what is no status
	if !w.started {
		w.status = status
		w.begin()
	}
}

func (w *recorder) Write(p []byte) (int, error) {
	if !w.started {
		w.begin()
	}
	n, err := w.ResponseWriter.Write(p)
	w.bytes += int64(n)
	return n, err
}

// SetOwn implements [headers.Owner].
func (w *recorder) SetOwn(own headers.Fields) { headers.SetOwn(w.ResponseWriter, own) }

func (w *recorder) begin() {
	w.started = true
	if w.deliveryTime == 0 {
		return
	}
	if own, ok := w.ResponseWriter.(interface{ WriteWithin(time.Duration) }); ok {
		own.WriteWithin(w.deliveryTime) // it knows when the answer began
		return
	}
	_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(w.deliveryTime)) // not every writer has a connection
}

// Unwrap lets http.ResponseController reach the connection.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }
