package upstream

import (
	"net/http"
	"net/url"
	"testing"
	"time"
)

// What connections to an address are held to: nothing of the environment,
// nothing unpacked on the way, no wait without an end.
func TestTransports(t *testing.T) {
	client := newClient(t, Options{})
	x := client.transport(&pool{base: &url.URL{Scheme: "https"}})
	if x.Proxy != nil || !x.DisableCompression || x.MaxIdleConns != 0 || x.MaxIdleConnsPerHost < 64 || x.MaxConnsPerHost == 0 ||
		x.TLSHandshakeTimeout != 5*time.Second || x.MaxResponseHeaderBytes != 64<<10 {
		t.Errorf("%+v", x)
	}
	if h := x.HTTP2; h.SendPingTimeout != 15*time.Second || h.PingTimeout != 5*time.Second || h.StrictMaxConcurrentRequests {
		t.Errorf("%+v", h)
	}
	if dialTimeout != 3*time.Second {
		t.Errorf("dialling may take %v", dialTimeout)
	}
}

// Only reads over TLS may go by net/http, as HTTP/2 may be spoken there.
func TestWhichClientMakesACall(t *testing.T) {
	client := newClient(t, Options{})
	for scheme, read := range map[string]bool{"http": true, "https": false} { // whether package internal/http1/client makes a read
		endpoint := endpointOf(&url.URL{Scheme: scheme, Host: "provider.example"})
		pool := client.target(endpoint).pools[0]
		for method, want := range map[string]bool{http.MethodGet: read, http.MethodHead: read, http.MethodPut: true, http.MethodDelete: true, http.MethodPost: true} {
			if got := pool.useHTTP1(&Call{Endpoint: endpoint, Method: method}); got != want {
				t.Errorf("%s, %s: %v", scheme, method, got)
			}
		}
	}
}
