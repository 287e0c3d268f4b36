package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"portico/arm"
	"portico/limits"
	"portico/routing"
)

// Time that a client has to send its content: a fixed part, and the slowest
// pace that still counts as sending.
const (
	contentTime = 15 * time.Second
	slowestPace = 64 << 10 // bytes per second
)

// Content has so much memory at first, and twice as much each time that is full:
// it holds what has arrived, not what was declared. Content that has none yet waits
// for its first for a moment, should others hold it all.
const (
	firstMemory  = 16 << 10
	contentWait  = time.Second
	contentRetry = 5 * time.Second
)

// boundContent sets the time in which a request's content, of at most so many
// bytes, must have arrived, whether it is read by a handler or, after a refusal,
// by the server that clears the connection for the next request.
func boundContent(most int64) middleware {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if size := r.ContentLength; size != 0 {
				if size < 0 || size > most {
					size = most
				}
				deadline := time.Now().Add(contentTime + time.Duration(size/slowestPace)*time.Second)
				control := http.NewResponseController(w)
				_ = control.SetReadDeadline(deadline) // not every writer has a connection
				// That of the answer before is for that one alone: the client may have
				// to be told to send its content.
				_ = control.SetWriteDeadline(time.Time{})
			}
			next.ServeHTTP(w, r)
		})
	}
}

// contentArrived ends that time: what follows may take its own.
func contentArrived(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
}

// content reads a request's content whole, within the bounds on its size and on
// that of the contents of all requests together. Methods without content have
// theirs dropped: GET, HEAD and DELETE mean the same with any.
func (g *Gateway) content(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	switch r.Method {
	case http.MethodPut, http.MethodPatch, http.MethodPost:
	default:
		return nil, nil
	}
	limit := g.config.Limits.RequestBody
	tooLarge := arm.NewError(arm.RequestContentTooLarge, megabytes(limit))
	if r.ContentLength > limit {
		return nil, tooLarge
	}
	x := of(r)
	if callerOf(r.Context()) == nil { // else it is a part of the batch's, which has its share
		x.memory = g.contentMemory.Reservation(x.caller(), limit)
	}
	text, err := readWhole(r.Context(), http.MaxBytesReader(w, r.Body, limit), r.ContentLength, limit, x.memory)
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
		return nil, arm.NewError(arm.InvalidRequestContent, "it could not be read to its end").Because(err)
	}
	x.received = int64(len(text))
	contentArrived(w)
	return text, routing.CheckContentType(r.Header, text)
}

// readWhole reads content of the declared size, less than 0 where none was, which
// is not above the limit. The memory that it has is the share's, where there is one.
func readWhole(ctx context.Context, from io.Reader, size, limit int64, share *limits.Reservation) ([]byte, error) {
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

// moreMemory is how much content has when what it has is full: no more than is
// declared, and a byte by which its end is seen.
func moreMemory(has, size, limit int64) int64 {
	room := max(2*has, firstMemory)
	if has <= size {
		room = min(room, size+1)
	}
	return min(room, limit+1)
}

func megabytes(n int64) string {
	if n%(1<<20) == 0 {
		return fmt.Sprintf("%d MB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}
