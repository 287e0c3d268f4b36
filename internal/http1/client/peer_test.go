package client

import (
	"bufio"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// peer is a provider on a raw socket. Its script serves one connection.
type peer struct {
	listener net.Listener
	conns    atomic.Int64
	wait     sync.WaitGroup
}

// script serves connection n, counted from 1. What it reads comes from a reader with
// helpers.
type script func(n int64, conn net.Conn, requests *requests)

type requests struct {
	*bufio.Reader
	test context.Context
}

// wait reads nothing until the test has ended.
func (r *requests) wait() { <-r.test.Done() }

// next reads a request without its content, and reports whether there was one.
func (r *requests) next() (*http.Request, bool) {
	q, err := http.ReadRequest(r.Reader)
	return q, err == nil
}

// complete is next with its content.
func (r *requests) complete() bool {
	q, ok := r.next()
	if ok {
		_, err := io.Copy(io.Discard, q.Body)
		ok = err == nil
	}
	return ok
}

func newPeer(t *testing.T, serve script) *peer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return serveOn(t, listener, serve)
}

// newTLSPeer also returns a configuration that trusts the peer.
func newTLSPeer(t *testing.T, serve script) (*peer, *tls.Config) {
	t.Helper()
	server := httptest.NewUnstartedServer(nil)
	server.StartTLS()
	t.Cleanup(server.Close)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: server.TLS.Certificates, MinVersion: tls.VersionTLS12})
	if err != nil {
		t.Fatal(err)
	}
	trusting := server.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	trusting.ServerName = "example.com"
	return serveOn(t, listener, serve), trusting
}

func serveOn(t *testing.T, listener net.Listener, serve script) *peer {
	p := &peer{listener: listener}
	ended := make(chan struct{})
	p.wait.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			n := p.conns.Add(1)
			stop := context.AfterFunc(t.Context(), func() { _ = conn.Close() })
			p.wait.Go(func() {
				defer stop()
				defer conn.Close()
				serve(n, conn, &requests{bufio.NewReader(conn), t.Context()})
			})
		}
	})
	t.Cleanup(func() {
		close(ended)
		_ = listener.Close()
		p.wait.Wait()
	})
	return p
}

// answers is a script that answers each whole request with the same bytes.
func answers(text string) script {
	return func(_ int64, conn net.Conn, requests *requests) {
		for requests.complete() {
			if _, err := io.WriteString(conn, text); err != nil {
				return
			}
		}
	}
}

func (p *peer) options() Options {
	return Options{
		Host: "provider.example", Address: p.listener.Addr().String(), Dial: (&net.Dialer{}).DialContext,
		HandshakeTimeout: 30 * time.Second, IdleTimeout: time.Hour, MaxIdle: 4, MaxOpen: 8, IdleInAll: &Idle{Max: 16}, MaxHead: 64 << 10,
	}
}

func (p *peer) client(t *testing.T) *Client { return newClient(t, p.options()) }

func newClient(t *testing.T, o Options) *Client {
	t.Helper()
	c := New(o)
	t.Cleanup(c.CloseIdle)
	return c
}

const empty = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"

// mustGet makes a GET that must succeed, and returns its body.
func mustGet(t *testing.T, c *Client) string {
	t.Helper()
	r := c.get(http.MethodGet)
	if r.err != nil || r.status != http.StatusOK {
		t.Fatalf("got %d, %v", r.status, r.err)
	}
	return string(r.body)
}

// within waits until something holds.
func within(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s did not come", what)
		}
	}
}
