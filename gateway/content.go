package gateway

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"portico/arm"
	"portico/routing"
)

// Time that a client has to send its content: a fixed part, and the slowest
// pace that still counts as sending.
const (
	contentTime = 15 * time.Second
	slowestPace = 64 << 10 // bytes per second
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

// content reads a request's content whole, within the bound on its size.
// Methods without content have theirs dropped: GET, HEAD and DELETE mean the
// same with any.
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
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return nil, tooLarge
	case err != nil:
		return nil, arm.NewError(arm.InvalidRequestContent, "it could not be read to its end").Because(err)
	}
	of(r).received = int64(len(text))
	contentArrived(w)
	return text, routing.CheckContentType(r.Header, text)
}

func megabytes(n int64) string {
	if n%(1<<20) == 0 {
		return fmt.Sprintf("%d MB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}
