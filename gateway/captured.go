package gateway

import (
	"errors"
	"net/http"
	"strconv"

	"portico/arm"
)

// captured is an answer that is held instead of sent: that of a request in a
// batch, or of a call that another request makes on its way.
type captured struct {
	header http.Header // until the status is written: the one that is being made
	sent   http.Header // as it was then
	status int
	body   []byte
	most   int64
	over   bool
}

// capture returns an answer to be held, as long as any that goes out may be.
func (g *Gateway) capture() *captured {
	return &captured{header: http.Header{}, most: g.config.Limits.AnswerBody}
}

var errOverCaptured = errors.New("the answer is too long to be held")

func (w *captured) Header() http.Header { return w.header }

func (w *captured) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK {
		w.status, w.sent = status, w.header.Clone()
	}
}

func (w *captured) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if int64(len(w.body)+len(p)) > w.most {
		w.over, w.body = true, nil
		return 0, errOverCaptured
	}
	w.body = append(w.body, p...)
	return len(p), nil
}

// whole has answer write the answer of what target names. It returns what stands
// in its place where it is not whole: never a shortened success.
func (w *captured) whole(target string, answer func()) *arm.Error {
	switch broken := w.written(answer); {
	case w.over:
		return w.tooLong(target)
	case broken:
		return arm.NewError(arm.BadGatewayConnection, target).
			Saying("The response of '%s', with the status %d, broke off.", target, w.status)
	}
	w.WriteHeader(http.StatusOK) // for a handler that wrote nothing
	w.header = w.sent
	return nil
}

// written tells whether the answer was cut off.
func (w *captured) written(answer func()) (broken bool) {
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

func (w *captured) tooLong(target string) *arm.Error {
	return arm.NewError(arm.ResponseTooLarge, target, megabytes(w.most)).
		Saying("The response of '%s', with the status %d, exceeds the maximum size of %s and was dropped.", target, w.status, megabytes(w.most))
}

// send passes the answer on.
func (w *captured) send(to http.ResponseWriter) {
	h := to.Header()
	for name, values := range w.header {
		h[name] = values
	}
	if len(w.body) > 0 {
		h.Set("Content-Length", strconv.Itoa(len(w.body)))
	}
	to.WriteHeader(w.status)
	_, _ = to.Write(w.body) // the client may be gone
}
