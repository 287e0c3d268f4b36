package gateway

import "net/http"

// endAmbiguous has an answer be its connection's last where something in front
// could have seen the request end elsewhere. net/http takes chunks for the content
// and drops a Content-Length beside them before anybody sees it, and takes no notice
// of Transfer-Encoding in HTTP/1.0; so what stands behind any chunked message, or
// behind one of HTTP/1.0, is not taken for a request.
func endAmbiguous(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ProtoMajor == 1 && (len(r.TransferEncoding) > 0 || r.ProtoMinor == 0) {
			w.Header()["Connection"] = []string{"close"}
		}
		next.ServeHTTP(w, r)
	})
}
