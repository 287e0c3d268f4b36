package exchange

import (
	"context"
	"net/http"

	"portico/arm"
	"portico/internal/connections"
)

// OneLength refuses a request whose end a proxy in front could have seen elsewhere.
func OneLength(ctx context.Context) *arm.Error {
	if !connections.Ambiguous(ctx) {
		return nil
	}
	return arm.NewError(arm.InvalidRequestHeader, "Content-Length", "it stands beside Transfer-Encoding, or goes on in another line").About("Content-Length")
}

// NoRequest is the error of bytes that are refused before there is a request.
func NoRequest(why *connections.Refusal) *arm.Error {
	fault := arm.NewError(arm.InvalidRequestURI, why.Why)
	if why.Header != "" {
		fault = arm.NewError(arm.InvalidRequestHeader, why.Header, why.Why)
	}
	return fault.WithStatus(why.Status)
}

// TooManyHeaders is the error of a request with more headers than can be passed on.
func TooManyHeaders(why string) *arm.Error {
	return arm.NewError(arm.InvalidRequestHeader, "*", why).WithStatus(http.StatusRequestHeaderFieldsTooLarge)
}
