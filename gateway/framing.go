package gateway

import (
	"context"
	"net/http"

	"portico/arm"
	"portico/connections"
)

// endAmbiguous has an answer be its connection's last where something in front
// could have seen the request end elsewhere. net/http takes chunks for the content
// and drops a Content-Length beside them before anybody sees it, and takes no notice
// of Transfer-Encoding in HTTP/1.0; so what stands behind any chunked message, or
// behind one of HTTP/1.0, is not taken for a request. One that has both is noted, and
// refused by what answers.
func endAmbiguous(next http.Handler) http.Handler {
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

// oneLength refuses what endAmbiguous has noted.
func oneLength(ctx context.Context) *arm.Error {
	if ctx.Value(ambiguousKey{}) == nil {
		return nil
	}
	return arm.NewError(arm.InvalidRequestHeader, "Content-Length", "it stands beside Transfer-Encoding, or goes on in another line").About("Content-Length")
}

// adminLength is oneLength for the admin listener.
func adminLength(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if fault := oneLength(r.Context()); fault != nil {
			adminFault(w, fault)
			return
		}
		next.ServeHTTP(w, r)
	})
}
