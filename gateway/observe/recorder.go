package observe

import (
	"net/http"
	"time"

	"portico/tracing/headers"
)

// recorder records the status and size of an answer.
type recorder struct {
	http.ResponseWriter
	status       int
	bytes        int64
	started      bool
	deliveryTime time.Duration // 0: unbounded
}

// AnswerStarted reports whether a part of the answer to an observed request was sent, so that
// it can no longer be replaced.
func AnswerStarted(w http.ResponseWriter) bool {
	answer, ok := w.(*recorder)
	return ok && answer.started
}

func (w *recorder) WriteHeader(status int) {
	w.ResponseWriter.WriteHeader(status) // panics if the status is invalid
	if !w.started {
		w.status = status
		w.start()
	}
}

func (w *recorder) Write(p []byte) (int, error) {
	if !w.started {
		w.start()
	}
	n, err := w.ResponseWriter.Write(p)
	w.bytes += int64(n)
	return n, err
}

// SetOwn implements [headers.Owner].
func (w *recorder) SetOwn(own headers.Fields) { headers.SetOwn(w.ResponseWriter, own) }

// start records the start of the answer and bounds the time of its delivery.
func (w *recorder) start() {
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
