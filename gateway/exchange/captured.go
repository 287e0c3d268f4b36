package exchange

import (
	"errors"
	"maps"
	"net/http"
	"strconv"

	"portico/arm"
)

// Captured is an answer that is held instead of sent: that of a request in a
// batch, or of a call that another request makes on its way.
type Captured struct {
	Status int
	Body   []byte

	header http.Header // until the status is written: the one that is being made
	sent   http.Header // as it was then
	limit  int64
	begins bool // no more than the beginning is held
	over   bool
}

// Capture returns a writer that holds an answer of at most limit bytes.
func Capture(limit int64) *Captured { return &Captured{header: http.Header{}, limit: limit} }

// beginning is how much CaptureBeginning holds: Portico's own errors are shorter.
const beginning = 64 << 10

// CaptureBeginning is Capture for an answer of any length, of which the beginning is held.
func CaptureBeginning() *Captured {
	return &Captured{header: http.Header{}, limit: beginning, begins: true}
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
	if room := w.limit - int64(len(w.Body)); w.begins && int64(len(p)) > room {
		w.Body = append(w.Body, p[:room]...)
		return len(p), nil
	}
	if int64(len(w.Body)+len(p)) > w.limit {
		w.over, w.Body = true, nil
		return 0, errOverCaptured
	}
	w.Body = append(w.Body, p...)
	return len(p), nil
}

// Hold runs answer, which writes the answer of what target names. It returns an
// error where the answer is not whole: never a shortened success.
func (w *Captured) Hold(target string, answer func()) *arm.Error {
	switch broken := aborted(answer); {
	case w.over:
		return w.TooLong(target)
	case broken:
		return arm.NewError(arm.BadGatewayConnection, target).
			Saying("The response of '%s', with the status %d, broke off.", target, w.Status)
	}
	w.WriteHeader(http.StatusOK) // for a handler that wrote nothing
	w.header = w.sent
	return nil
}

// aborted runs a handler, and reports whether it cut its answer off.
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

// TooLong is the error of an answer that is longer than may be held.
func (w *Captured) TooLong(target string) *arm.Error {
	return AnswerTooLarge(target, w.limit).
		Saying("The response of '%s', with the status %d, exceeds the maximum size of %s and was dropped.", target, w.Status, megabytes(w.limit))
}

// SendTo passes the answer on.
func (w *Captured) SendTo(to http.ResponseWriter) {
	h := to.Header()
	maps.Copy(h, w.header)
	if len(w.Body) > 0 {
		h.Set("Content-Length", strconv.Itoa(len(w.Body)))
	}
	to.WriteHeader(w.Status)
	_, _ = to.Write(w.Body) // the client may be gone
}
