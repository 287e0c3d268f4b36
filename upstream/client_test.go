package upstream

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"portico/regions"
)

// What connections to an address are held to: nothing of the environment,
// nothing unpacked on the way, no wait without an end.
func TestTransports(t *testing.T) {
	client := newClient(t, Options{})
	for _, forWrites := range []bool{false, true} {
		x := client.transport(forWrites, &pool{base: &url.URL{Scheme: "http"}})
		if x.Proxy != nil || !x.DisableCompression || x.MaxIdleConns != 0 || x.MaxIdleConnsPerHost < 64 || x.MaxConnsPerHost == 0 ||
			x.TLSHandshakeTimeout != 5*time.Second || x.MaxResponseHeaderBytes != 64<<10 {
			t.Errorf("for writes %v: %+v", forWrites, x)
		}
		if h := x.HTTP2; h.SendPingTimeout != 15*time.Second || h.PingTimeout != 5*time.Second || h.StrictMaxConcurrentRequests {
			t.Errorf("for writes %v: %+v", forWrites, h)
		}
	}
	if dialTimeout != 3*time.Second {
		t.Errorf("dialling may take %v", dialTimeout)
	}
}

// Which client makes a call: the map decides, and whether HTTP/2 may be spoken.
func TestWhichClientMakesACall(t *testing.T) {
	client := newClient(t, Options{})
	for _, c := range []struct {
		of     regions.HTTPClient
		scheme string
		read   bool // over package http1
		write  bool
	}{
		{regions.AutoClient, "http", true, true}, {regions.AutoClient, "https", false, true},
		{regions.HTTP1Client, "http", true, true}, {regions.HTTP1Client, "https", true, true},
		{regions.StandardClient, "http", false, false}, {regions.StandardClient, "https", false, false},
	} {
		endpoint := &regions.Endpoint{Region: "westus", URLs: []*url.URL{{Scheme: c.scheme, Host: "provider.example"}}, HTTPClient: c.of}
		pool := client.target(endpoint).pools[0]
		for method, want := range map[string]bool{http.MethodGet: c.read, http.MethodHead: c.read, http.MethodPut: c.write, http.MethodDelete: c.write, http.MethodPost: c.write} {
			if got := pool.useHTTP1(&Call{Endpoint: endpoint, Method: method}); got != want {
				t.Errorf("%v, %s, %s: %v", c.of, c.scheme, method, got)
			}
		}
	}
}
