package exchange

import (
	"context"
	"net/http"

	"portico/arm"
	"portico/internal/connections"
)

// OneLength refuses a request whose end a proxy in front of Portico may have placed
// elsewhere (request smuggling).
func OneLength(ctx context.Context) *arm.Error {
	if !connections.Ambiguous(ctx) {
		return nil
	}
	return arm.NewError(arm.InvalidRequestHeader, "Content-Length", "it stands beside Transfer-Encoding, or goes on in another line").WithTarget("Content-Length")
}

// NoRequest returns the error for bytes that are refused before they form a request.
func NoRequest(why *connections.Refusal) *arm.Error {
	fault := arm.NewError(arm.InvalidRequestURI, why.Why)
	if why.Header != "" {
		fault = arm.NewError(arm.InvalidRequestHeader, why.Header, why.Why)
	}
	return fault.WithStatus(why.Status)
}

// TooManyHeaders returns the error for a request with more headers than can be passed on.
func TooManyHeaders(why string) *arm.Error {
	return arm.NewError(arm.InvalidRequestHeader, "*", why).WithStatus(http.StatusRequestHeaderFieldsTooLarge)
}
