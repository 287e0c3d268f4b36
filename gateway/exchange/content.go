package exchange

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"portico/arm"
	"portico/internal/jsontext"
	"portico/limits"
	"portico/routing"
)

// Time that a client has to send its content: a fixed part, and the time for its size at
// the slowest acceptable pace.
const (
	contentTime = 15 * time.Second
	slowestPace = 64 << 10 // bytes per second
)

// Content is read into firstMemory at first, and into twice as much each time that is
// full: memory grows with what has arrived, not with what was declared. If other requests
// hold all memory, it waits for contentWait.
const (
	firstMemory  = 16 << 10
	contentWait  = time.Second
	contentRetry = 5 * time.Second
)

// ContentTime returns how long content of size bytes may take to arrive.
func ContentTime(size int64) time.Duration {
	return contentTime + time.Duration(size/slowestPace)*time.Second
}

// BoundContent bounds the time for a request's content, of at most limit bytes, to
// arrive. The bound also holds when the server discards the content of a refused request
// to reuse the connection.
func BoundContent(w http.ResponseWriter, r *http.Request, limit int64) {
	size := r.ContentLength
	if size == 0 {
		return
	}
	if size < 0 || size > limit {
		size = limit
	}
	deadline := time.Now().Add(ContentTime(size))
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(deadline) // not every writer has a connection
	// The write deadline of the previous answer must not apply: the server may have to
	// ask the client for its content.
	_ = control.SetWriteDeadline(time.Time{})
}

// ContentArrived lifts the deadline that BoundContent set.
func ContentArrived(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
}

// Content reads a request's complete content, within the bounds on its size and on the
// memory of all requests together. It ignores the content of GET, HEAD and DELETE, which
// has no meaning. A byte order mark is dropped, for providers too: JSON is sent without
// one (RFC 8259, 8.1).
func (x *Exchange) Content(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	switch r.Method {
	case http.MethodPut, http.MethodPatch, http.MethodPost:
	default:
		return nil, nil
	}
	limit := x.settings.MaxContent
	tooLarge := arm.NewError(arm.RequestContentTooLarge, megabytes(limit))
	if r.ContentLength > limit {
		return nil, tooLarge
	}
	if !x.Inner() { // otherwise it is part of a content whose memory is reserved
		x.memory = x.settings.Memory.Reservation(x.Caller(), limit)
	}
	text, err := readComplete(r.Context(), http.MaxBytesReader(w, r.Body, limit), r.ContentLength, limit, x.memory)
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return nil, tooLarge
	case errors.Is(err, limits.ErrNoRoom), errors.Is(err, limits.ErrBusy):
		fault := arm.NewError(arm.ServerBusy, "the contents of other requests hold all the memory that there is for them")
		if errors.Is(err, limits.ErrCallerShare) {
			fault = arm.NewError(arm.TooManyRequests, "the contents of this caller's other requests hold all the memory that one caller may have for them")
		}
		fault.RetryAfter = contentRetry
		return nil, fault
	case err != nil:
		return nil, arm.NewError(arm.InvalidRequestContent, "it could not be read to its end").WithCause(err)
	}
	x.Received = int64(len(text))
	ContentArrived(w)
	if content := jsontext.WithoutMark(text); len(content) < len(text) {
		text = content
		r.Header.Del("Content-Md5") // the digest of what was sent
	}
	return text, routing.CheckContentType(r.Header, text)
}

// readComplete reads content of the declared size, negative if none was declared, and at
// most limit. It reserves memory from share unless that is nil.
func readComplete(ctx context.Context, from io.Reader, size, limit int64, share *limits.Reservation) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, contentWait)
	defer cancel()
	var text []byte
	for {
		if has := int64(cap(text)); int64(len(text)) == has {
			room := moreMemory(has, size, limit)
			if share != nil {
				if err := share.Grow(ctx, room-has); err != nil {
					return nil, err
				}
			}
			text = append(make([]byte, 0, room), text...)
		}
		n, err := from.Read(text[len(text):cap(text)])
		text = text[:len(text)+n]
		if errors.Is(err, io.EOF) {
			return text, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// moreMemory returns the new capacity for content that has filled its memory: at most
// what was declared, and one byte to detect its end.
func moreMemory(has, size, limit int64) int64 {
	room := max(2*has, firstMemory)
	if has <= size {
		room = min(room, size+1)
	}
	return min(room, limit+1)
}

// AnswerTooLarge returns the error for a provider's answer of more than limit bytes.
func AnswerTooLarge(namespace string, limit int64) *arm.Error {
	return arm.NewError(arm.ResponseTooLarge, namespace, megabytes(limit))
}

func megabytes(n int64) string {
	if n%(1<<20) == 0 {
		return fmt.Sprintf("%d MB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}
