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

// content reads a request's content whole, within the bound on its size and on
// the time it may take. Methods without content have theirs dropped: GET, HEAD
// and DELETE mean the same with any.
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
	deadline := time.Now().Add(contentTime + time.Duration(limit/slowestPace)*time.Second)
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(deadline) // not every writer has a connection
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	_ = control.SetReadDeadline(time.Time{})
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return nil, tooLarge
	case err != nil:
		return nil, arm.NewError(arm.InvalidRequestContent, "it could not be read to its end").Because(err)
	}
	return text, routing.CheckContentType(r.Header, text)
}

func megabytes(n int64) string {
	if n%(1<<20) == 0 {
		return fmt.Sprintf("%d MB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}
