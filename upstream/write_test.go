package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"portico/arm"
)

var writes = []string{http.MethodPost, http.MethodPatch, http.MethodPut, http.MethodDelete}

func contentFor(method string) []byte {
	if method == http.MethodDelete {
		return nil
	}
	return []byte(strings.Repeat("x", 64<<10)) // more than one write of the transport
}

// Whatever a provider does once it has a write, it gets it once: on a new
// connection and on a used one, and with the headers by which net/http takes a
// write for safe to repeat.
func TestWritesAreSentOnce(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer script
		status int
	}{
		{"reset", func(_ int, conn net.Conn) bool { return reset(conn) }, 0},
		{"closed", func(int, net.Conn) bool { return false }, 0},
		{"half an answer", func(_ int, conn net.Conn) bool { _, _ = io.WriteString(conn, "HTTP/1.1 20"); return false }, 0},
		{"500", reply(empty500), 500},
		{"503", reply(empty503), 503},
		{"408 and closed", func(_ int, conn net.Conn) bool {
			_, _ = io.WriteString(conn, "HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
			return false
		}, 408},
	} {
		for _, method := range writes {
			for _, key := range []string{"", "Idempotency-Key", "X-Idempotency-Key"} {
				for _, used := range []int{0, 1} {
					t.Run(fmt.Sprintf("%s/%s/%s/%d", c.name, method, key, used), func(t *testing.T) {
						p := newPeer(t, func(n int, conn net.Conn) bool {
							if n <= used {
								return reply(empty200)(n, conn)
							}
							return c.answer(n, conn)
						})
						client := newClient(t, Options{})
						if used > 0 {
							mustDo(t, client, Call{Endpoint: p.endpoint(), Method: http.MethodPut, Path: "/warm"})
						}
						h := http.Header{}
						if key != "" {
							h.Set(key, "k1")
						}
						status, _, err := do(client, Call{Endpoint: p.endpoint(), Method: method, Path: "/x", Header: h, Content: contentFor(method)})
						if status != c.status || (err == nil) != (c.status > 0) {
							t.Errorf("got %d, %v", status, err)
						}
						if err != nil {
							if fault := faultOf(t, err); !fault.Sent || fault.Timeout() || fault.TooLate() || fault.ARM("N").Code != arm.BadGatewayConnection {
								t.Errorf("got %+v", fault)
							}
						}
						p.close()
						got := p.requests()
						if len(got) != used+1 || p.dialled() != 1 { // nor was another connection tried
							t.Fatalf("the provider got %d requests over %d connections: %q", len(got), p.dialled(), got)
						}
						if key != "" && !strings.Contains(strings.ToLower(got[used]), "\r\n"+strings.ToLower(key)+": k1\r\n") {
							t.Errorf("the key did not arrive: %q", got[used])
						}
					})
				}
			}
		}
	}
}

// A provider that ends idle connections whenever it likes: a write goes through,
// or it is told truly whether it may have been sent; never is it sent twice.
func TestIdleConnectionsThatEnd(t *testing.T) {
	p := newPeer(t, func(n int, conn net.Conn) bool {
		_, _ = io.WriteString(conn, empty200)
		if n%2 == 0 {
			return reset(conn)
		}
		return n%3 == 0
	})
	client := newClient(t, Options{})
	const rounds = 200
	sent := map[string]bool{}
	for i := range rounds {
		path := fmt.Sprintf("/%d/", i)
		method := writes[i%len(writes)]
		_, _, err := do(client, Call{Endpoint: p.endpoint(), Method: method, Path: path, Header: http.Header{"Idempotency-Key": {"k"}}, Content: contentFor(method)})
		sent[path] = err == nil || faultOf(t, err).Sent
	}
	p.close()
	got := map[string]int{}
	for _, head := range p.requests() {
		got[strings.Fields(head)[1]]++
	}
	for path, n := range got {
		if n > 1 || !sent[path] {
			t.Errorf("%s came %d times; told to be sent: %v", path, n, sent[path])
		}
	}
	if got["/0/"] != 1 {
		t.Error("the first write did not arrive")
	}
}

// failingConn is a connection whose writes fail once it is switched to failing.
type failingConn struct {
	net.Conn
	taken *atomic.Int64 // bytes of the next write that go through; negative: all
}

func (f *failingConn) Write(p []byte) (int, error) {
	n := f.taken.Load()
	if n < 0 {
		return f.Conn.Write(p)
	}
	n = min(n, int64(len(p)))
	if _, err := f.Conn.Write(p[:n]); err != nil {
		return 0, err
	}
	return int(n), syscall.EPIPE
}

// failOnce makes the client's connections to p fail, the first as it is told
// and all others not at all.
func failOnce(client *Client, p *peer) *atomic.Int64 {
	var taken, all atomic.Int64
	taken.Store(-1)
	all.Store(-1)
	dialled := 0
	client.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		var dialer net.Dialer
		conn, err := dialer.DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		if dialled++; dialled == 1 {
			return &failingConn{conn, &taken}, nil
		}
		return &failingConn{conn, &all}, nil
	}
	return &taken
}

// A connection that died while it was idle takes no byte: the write goes out on
// a fresh one.
func TestStaleConnectionIsReplaced(t *testing.T) {
	for _, method := range writes {
		t.Run(method, func(t *testing.T) {
			p := newPeer(t, reply(empty200))
			client := newClient(t, Options{})
			taken := failOnce(client, p)
			mustDo(t, client, Call{Endpoint: p.endpoint(), Method: method, Path: "/1"})
			taken.Store(0)
			mustDo(t, client, Call{Endpoint: p.endpoint(), Method: method, Path: "/2", Content: contentFor(method), Since: time.Now(), SendWithin: time.Hour})
			if p.count() != 2 || p.dialled() != 2 {
				t.Errorf("%d requests over %d connections", p.count(), p.dialled())
			}
		})
	}
}

// One byte is enough: the provider may have it, so no one sends again.
func TestOneByteIsSent(t *testing.T) {
	for _, method := range writes {
		t.Run(method, func(t *testing.T) {
			p := newPeer(t, reply(empty200))
			client := newClient(t, Options{})
			taken := failOnce(client, p)
			mustDo(t, client, Call{Endpoint: p.endpoint(), Method: method, Path: "/1"})
			taken.Store(1)
			_, _, err := do(client, Call{Endpoint: p.endpoint(), Method: method, Path: "/2", Content: contentFor(method)})
			if fault := faultOf(t, err); !fault.Sent || fault.TooLate() {
				t.Errorf("got %+v", fault)
			}
			p.close()
			if p.count() != 1 || p.dialled() != 1 {
				t.Errorf("%d requests over %d connections", p.count(), p.dialled())
			}
		})
	}
}

func TestRefusedConnectionIsUnsent(t *testing.T) {
	client := newClient(t, Options{})
	for _, method := range append(writes, http.MethodGet, http.MethodHead) {
		_, _, err := do(client, Call{Endpoint: endpointOf(refusing(t)), Method: method, Path: "/x", Content: contentFor(method)})
		fault := faultOf(t, err)
		if reported := fault.ARM("N.S"); fault.Region != "westus" || fault.Sent || fault.Timeout() || fault.TooLate() || reported.Status != 502 || reported.Code != arm.BadGatewayConnection || !errors.Is(reported, syscall.ECONNREFUSED) {
			t.Errorf("%s: got %+v", method, fault)
		}
	}
}

func TestSendWithin(t *testing.T) {
	p := newPeer(t, reply(empty200))
	client := newClient(t, Options{})
	write := Call{Endpoint: p.endpoint(), Method: http.MethodPut, Path: "/x", Content: []byte("x")}
	late := func(what string, since time.Time) {
		t.Helper()
		write.Since, write.SendWithin = since, time.Minute
		_, _, err := do(client, write)
		fault := faultOf(t, err)
		if fault.Sent || !fault.TooLate() {
			t.Errorf("%s: got %+v", what, fault)
		}
	}
	late("new connection", time.Now().Add(-time.Hour))
	write.Since, write.SendWithin = time.Now(), time.Hour
	mustDo(t, client, write)
	late("used connection", time.Now().Add(-time.Hour))
	late("by the wall clock alone", time.Now().Round(0).Add(-time.Hour))
	write.Since, write.SendWithin = time.Now().Add(-time.Hour), 0
	mustDo(t, client, write) // no bound
	p.close()
	if p.count() != 2 {
		t.Errorf("the provider got %d requests", p.count())
	}
}

// Under TLS the guard knows the request from the handshake; reads may go over
// HTTP/2, writes may not.
func TestTLS(t *testing.T) {
	var requests atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		_, _ = io.WriteString(w, r.Proto)
		if r.URL.Path == "/abort" {
			panic(http.ErrAbortHandler)
		}
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()
	client := newClient(t, Options{Identities: trusting(server)})
	address, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	endpoint := endpointOf(address)
	if _, proto, err := do(client, Call{Endpoint: endpoint, Method: http.MethodGet, Path: "/"}); err != nil || proto != "HTTP/2.0" {
		t.Errorf("read: %q, %v", proto, err)
	}
	for range 2 { // on a new connection and on a used one
		if _, proto, err := do(client, Call{Endpoint: endpoint, Method: http.MethodPut, Path: "/", Since: time.Now(), SendWithin: time.Hour}); err != nil || proto != "HTTP/1.1" {
			t.Errorf("write: %q, %v", proto, err)
		}
	}
	before := requests.Load()
	_, _, err = do(client, Call{Endpoint: endpoint, Method: http.MethodPut, Path: "/", Since: time.Now().Add(-time.Hour), SendWithin: time.Minute})
	if fault := faultOf(t, err); fault.Sent || !fault.TooLate() || requests.Load() != before {
		t.Errorf("late: %+v, %d requests", fault, requests.Load()-before)
	}
	_, _, err = do(client, Call{Endpoint: endpoint, Method: http.MethodDelete, Path: "/abort", Header: http.Header{"Idempotency-Key": {"k"}}})
	if fault := faultOf(t, err); !fault.Sent || requests.Load() != before+1 {
		t.Errorf("aborted: %+v, %d requests", fault, requests.Load()-before)
	}

	// A certificate that is not trusted ends before anything is sent.
	strict := newClient(t, Options{})
	_, _, err = do(strict, Call{Endpoint: endpoint, Method: http.MethodPut, Path: "/"})
	if fault := faultOf(t, err); fault.Sent || requests.Load() != before+1 {
		t.Errorf("untrusted: %+v", fault)
	}
}
