package connections

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"
)

// secureServer is a server over ListenTLS; it records what its table refused.
type secureServer struct {
	*http.Server
	table   *Table
	address string
	config  *tls.Config // of a client
	refused chan string
	failed  chan error
	served  chan error
}

// newSecure returns one that does not serve yet.
func newSecure(idle time.Duration, h http.Handler) *secureServer {
	pairs := httptest.NewUnstartedServer(nil)
	pairs.StartTLS() // for its certificate
	pairs.Close()
	s := &secureServer{refused: make(chan string, 100), failed: make(chan error, 100), served: make(chan error, 1), config: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // the server's identity does not matter here
	s.table = New(Options{MaxConnections: 100, MaxPerAddress: 100, IdleUnauthenticated: idle, Trusted: func(netip.Addr) bool { return false }, OnRefused: func(reason string) { s.refused <- reason }})
	config := &tls.Config{Certificates: pairs.TLS.Certificates, NextProtos: []string{"h2", "http/1.1"}, MinVersion: tls.VersionTLS12}
	s.Server = &http.Server{Handler: h, TLSConfig: config, ConnState: s.table.ConnState, ConnContext: s.table.ConnContext, ReadHeaderTimeout: time.Minute}
	return s
}

func startSecure(t *testing.T, idle, limit time.Duration, h http.Handler) *secureServer {
	t.Helper()
	s := newSecure(idle, h)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.address = l.Addr().String()
	secure := s.table.ListenTLS(l, TLSOptions{Config: s.TLSConfig, Timeout: limit, OnFailed: func(_ net.Addr, err error) { s.failed <- err }})
	go func() { s.served <- s.Serve(secure) }()
	t.Cleanup(func() {
		if err := s.Shutdown(t.Context()); err != nil && t.Context().Err() == nil {
			t.Error(err)
		}
		_ = s.Server.Close()
	})
	return s
}

func (s *secureServer) dial(t *testing.T) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return c
}

// Handlers see the same of TLS over either protocol, and the table's connection.
func TestHandlersSeeTheTLSState(t *testing.T) {
	s := startSecure(t, time.Hour, time.Minute, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS == nil || !r.TLS.HandshakeComplete || r.Context().Value(connKey{}) == nil || Ambiguous(r.Context()) {
			w.WriteHeader(http.StatusTeapot)
		}
	}))
	for protocol, major := range map[string]int{"h2": 2, "http/1.1": 1, "": 1} {
		transport := &http.Transport{TLSClientConfig: s.config.Clone(), ForceAttemptHTTP2: protocol == "h2"}
		if protocol != "" {
			transport.TLSClientConfig.NextProtos = []string{protocol}
		}
		for range 3 {
			res, err := (&http.Client{Transport: transport, Timeout: time.Minute}).Get("https://" + s.address)
			if err != nil {
				t.Fatal(err)
			}
			_ = res.Body.Close()
			if res.StatusCode != 200 || res.ProtoMajor != major || res.TLS.NegotiatedProtocol != protocol {
				t.Errorf("%q: %d over %s, %q", protocol, res.StatusCode, res.Proto, res.TLS.NegotiatedProtocol)
			}
		}
		transport.CloseIdleConnections()
	}
}

// Failed and endless handshakes are counted and free their places; they delay no one
// else.
func TestHandshakesThatFail(t *testing.T) {
	t.Run("as they are none", func(t *testing.T) {
		s := startSecure(t, time.Hour, time.Hour, http.NotFoundHandler())
		silent := s.dial(t)
		plain := s.dial(t)
		if _, err := io.WriteString(plain, "GET / HTTP/1.1\r\nHost: a\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		said, err := io.ReadAll(plain)
		if err != nil || !strings.HasPrefix(string(said), "HTTP/1.1 400 ") {
			t.Errorf("HTTP without TLS: %q %v", said, err)
		}
		if reason, err := <-s.refused, <-s.failed; reason != ReasonHandshake || err == nil {
			t.Errorf("%s: %v", reason, err)
		}
		if s.table.Count() != 1 {
			t.Errorf("%d open, want the silent one", s.table.Count())
		}
		if err := s.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := silent.Read(make([]byte, 1)); err == nil || errors.Is(err, net.ErrClosed) {
			t.Errorf("silent, after the end of the listener: %v", err)
		}
		if err := <-s.served; !errors.Is(err, http.ErrServerClosed) || s.table.Count() != 0 || len(s.failed)+len(s.refused) > 0 {
			t.Errorf("%v, %d open", err, s.table.Count())
		}
	})
	t.Run("in time", func(t *testing.T) {
		s := startSecure(t, time.Hour, time.Millisecond, http.NotFoundHandler())
		s.dial(t)
		if reason, err := <-s.refused, <-s.failed; reason != ReasonHandshake || err == nil {
			t.Errorf("%s: %v", reason, err)
		}
	})
	t.Run("while no one is authenticated", func(t *testing.T) {
		s := startSecure(t, time.Millisecond, time.Hour, http.NotFoundHandler())
		s.dial(t)
		if reason := <-s.refused; reason != ReasonUnauthenticated {
			t.Error(reason)
		}
		_ = s.Shutdown(t.Context())
		if len(s.failed) > 0 {
			t.Error("it counts twice")
		}
	})
}
