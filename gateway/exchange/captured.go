package exchange

import (
	"errors"
	"maps"
	"net/http"
	"strconv"

	"portico/arm"
)

// Captured records an answer instead of sending it: the answer to a request of a batch,
// or to a call that another request makes internally.
type Captured struct {
	Status int
	Body   []byte

	header        http.Header // a copy of these is made when the status is written
	sent          http.Header // the copy
	limit         int64
	onlyBeginning bool // keep only the beginning of a longer answer
	tooLong       bool
}

// Capture returns a writer that records an answer of at most limit bytes.
func Capture(limit int64) *Captured { return &Captured{header: http.Header{}, limit: limit} }

// beginningSize is how much CaptureBeginning records: Portico's own errors are shorter.
const beginningSize = 64 << 10

// CaptureBeginning does what Capture does for an answer of any length, but records only
// the beginning.
func CaptureBeginning() *Captured {
	return &Captured{header: http.Header{}, limit: beginningSize, onlyBeginning: true}
}

var errOverCaptured = errors.New("the answer is too long to be held")

// Header implements http.ResponseWriter.
func (w *Captured) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *Captured) WriteHeader(status int) {
	if w.Status == 0 && status >= http.StatusOK {
		w.Status, w.sent = status, w.header.Clone()
	}
}

func (w *Captured) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if room := w.limit - int64(len(w.Body)); w.onlyBeginning && int64(len(p)) > room {
		w.Body = append(w.Body, p[:room]...)
		return len(p), nil
	}
	if int64(len(w.Body)+len(p)) > w.limit {
		w.tooLong, w.Body = true, nil
		return 0, errOverCaptured
	}
	w.Body = append(w.Body, p...)
	return len(p), nil
}

// Run runs answer, which writes the answer for target. It returns an error if the answer
// is incomplete: a shortened success is never passed on.
func (w *Captured) Run(target string, answer func()) *arm.Error {
	switch broken := aborted(answer); {
	case w.tooLong:
		return w.TooLong(target)
	case broken:
		return arm.NewError(arm.BadGatewayConnection, target).
			WithMessage("The response of '%s', with the status %d, broke off.", target, w.Status)
	}
	w.WriteHeader(http.StatusOK) // for a handler that wrote nothing
	w.header = w.sent
	return nil
}

// aborted runs a handler, and reports whether it aborted its answer.
func aborted(answer func()) (broken bool) {
	defer func() {
		failure := recover()
		if failure == nil {
			return
		}
		if err, ok := failure.(error); !ok || !errors.Is(err, http.ErrAbortHandler) {
			panic(failure)
		}
		broken = true
	}()
	answer()
	return false
}

// TooLong returns the error for an answer that exceeds the limit.
func (w *Captured) TooLong(target string) *arm.Error {
	return AnswerTooLarge(target, w.limit).
		WithMessage("The response of '%s', with the status %d, exceeds the maximum size of %s and was dropped.", target, w.Status, megabytes(w.limit))
}

// SendTo sends the recorded answer.
func (w *Captured) SendTo(to http.ResponseWriter) {
	h := to.Header()
	maps.Copy(h, w.header)
	if len(w.Body) > 0 {
		h.Set("Content-Length", strconv.Itoa(len(w.Body)))
	}
	to.WriteHeader(w.Status)
	_, _ = to.Write(w.Body) // the client may be gone
}
