package exchange

import (
	"context"
	"net/http"

	"portico/arm"
	"portico/connections"
)

// EndAmbiguous closes the connection behind a request whose end a proxy in front
// could have seen elsewhere: any chunked one, and any of HTTP/1.0. net/http drops
// a Content-Length beside chunks before a handler sees it, and ignores
// Transfer-Encoding in HTTP/1.0; so what follows is not taken for a request. A
// request that has both is marked, and [OneLength] refuses it.
func EndAmbiguous(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ambiguous := connections.Ambiguous(r.Context())
		if ambiguous || len(r.TransferEncoding) > 0 || r.ProtoMajor == 1 && r.ProtoMinor == 0 {
			w.Header()["Connection"] = []string{"close"}
		}
		if ambiguous {
			r = r.WithContext(context.WithValue(r.Context(), ambiguousKey{}, true))
		}
		next.ServeHTTP(w, r)
	})
}

type ambiguousKey struct{}

// OneLength refuses a request that EndAmbiguous has marked.
func OneLength(ctx context.Context) *arm.Error {
	if ctx.Value(ambiguousKey{}) == nil {
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
