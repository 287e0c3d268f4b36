package upstream_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"portico/regions"
	"portico/upstream"
)

// doorman counts the connections to a server by what has become of them.
type doorman struct {
	mu     sync.Mutex
	states map[net.Conn]http.ConnState
}

func (d *doorman) state(c net.Conn, s http.ConnState) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.states[c] = s
}

func (d *doorman) count() (made, open int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.states {
		if s != http.StateClosed {
			open++
		}
	}
	return len(d.states), open
}

func watchedServer(t *testing.T, start func(*httptest.Server)) (*httptest.Server, *doorman) {
	t.Helper()
	d := &doorman{states: map[net.Conn]http.ConnState{}}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	server.Config.ConnState = d.state
	start(server)
	t.Cleanup(server.Close)
	return server, d
}

// at makes the endpoint anew each time, as a map that is read again does.
func at(t *testing.T, server *httptest.Server) *regions.Endpoint {
	t.Helper()
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return &regions.Endpoint{Region: "westus", URLs: []*url.URL{u}}
}

func call(t *testing.T, c *upstream.Client, e *regions.Endpoint) error {
	t.Helper()
	answer, err := c.Do(t.Context(), upstream.Call{Endpoint: e, Method: http.MethodGet, Path: "/"})
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

// Connections to an endpoint that is in the next map too are kept; those to one
// that is gone are closed.
func TestRetain(t *testing.T) {
	c := upstream.New(upstream.Options{CallTimeout: time.Minute, MaxAnswer: 1 << 20})
	defer c.Close()
	stays, staying := watchedServer(t, (*httptest.Server).Start)
	goes, going := watchedServer(t, (*httptest.Server).Start)
	for range 2 {
		for _, server := range []*httptest.Server{stays, goes} {
			if err := call(t, c, at(t, server)); err != nil {
				t.Fatal(err)
			}
		}
		c.Retain([]*regions.Endpoint{at(t, stays)})
	}
	if made, open := staying.count(); made != 1 || open != 1 {
		t.Errorf("of the endpoint that stays %d connections were made, %d are open", made, open)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		made, open := going.count()
		if made == 2 && open == 0 {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("of the endpoint that is gone %d connections were made, %d are open", made, open)
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// Other authorities hold for the next call, whatever connections there are.
func TestUseTLS(t *testing.T) {
	server, _ := watchedServer(t, (*httptest.Server).StartTLS)
	trusting := &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
	trusting.RootCAs.AddCert(server.Certificate())
	c := upstream.New(upstream.Options{CallTimeout: time.Minute, MaxAnswer: 1 << 20, TLS: &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}})
	defer c.Close()
	for i, trusted := range []bool{false, true, false} {
		if err := call(t, c, at(t, server)); (err == nil) != trusted {
			t.Errorf("call %d: %v", i, err)
		}
		next := trusting
		if trusted {
			next = &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
		}
		c.UseTLS(next)
	}
}
