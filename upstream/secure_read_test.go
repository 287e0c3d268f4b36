package upstream

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// A read over TLS is sent as it is, by the protocol that its provider speaks, and fails for
// the reasons for which others do.
func TestReadsOverTLS(t *testing.T) {
	for _, proto := range []string{"HTTP/1.1", "HTTP/2.0"} {
		t.Run(proto, func(t *testing.T) {
			over := make(chan struct{})
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				switch r.URL.Path {
				case "/broken":
					w.Header().Set("Content-Length", "100")
					_, _ = io.WriteString(w, "half of")
					_ = http.NewResponseController(w).Flush()
					panic(http.ErrAbortHandler)
				case "/silent":
					<-over // an answer as soon as the client ends the connection may still arrive
				}
				fmt.Fprintf(w, "%s %s %q", r.Proto, r.RequestURI, r.UserAgent())
			}))
			server.EnableHTTP2 = proto == "HTTP/2.0"
			server.StartTLS()
			t.Cleanup(server.Close)
			t.Cleanup(func() { close(over) })
			endpoint := endpointOf(at(t, server))
			client := newClient(t, Options{Identities: trusting(server)})
			want := proto + ` /a%2Fb/(c)?x=1+2 ""`
			if _, got, err := do(client, Call{Endpoint: endpoint, Method: http.MethodGet, Path: "/a%2Fb/(c)", Query: "x=1+2"}); err != nil || got != want {
				t.Errorf("%q (%v), want %q", got, err, want)
			}
			if _, got, err := do(client, Call{Endpoint: endpoint, Method: http.MethodGet, Path: "/broken"}); got != "half of" || ErrorKind(err) != "broken" {
				t.Errorf("broken: %q, %v", got, err)
			}
			hasty := newClient(t, Options{Identities: trusting(server), CallTimeout: 300 * time.Millisecond})
			if _, got, err := do(hasty, Call{Endpoint: endpoint, Method: http.MethodGet, Path: "/silent"}); ErrorKind(err) != "timeout" {
				t.Errorf("silent: %q, %v", got, err)
			}
		})
	}
}
