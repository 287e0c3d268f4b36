package client

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"portico/internal/sendguard"
	"portico/tracing/headers"
)

func TestRequestOnTheWire(t *testing.T) {
	var got strings.Builder
	p := newPeer(t, func(_ int64, conn net.Conn, r *requests) {
		for {
			line, err := r.ReadString('\n')
			if err != nil {
				return
			}
			if got.WriteString(line); line == "\r\n" {
				break
			}
		}
		_, _ = io.CopyN(&got, r, 4)
		_, _ = io.WriteString(conn, empty)
	})
	r := readAll(p.client(t).Do(context.Background(), &Request{
		Method: http.MethodPost, Path: "/a%20b;c", Query: "d=e&f", Content: []byte("text"),
		Header: http.Header{"X-One": {" 1", "2\t"}, "User-Agent": {"sdk/1"}, "Host": {"evil"}, "Content-Length": {"9"}, "transfer-encoding": {"chunked"}, "Trailer": {"x"}},
		Own:    headers.Fields{{Name: "X-Two", Value: " 3"}, {Name: "Host", Value: "evil"}, {Name: "content-length", Value: "9"}, {Name: "Transfer-Encoding", Value: "chunked"}},
	}))
	const want = "POST /a%20b;c?d=e&f HTTP/1.1\r\nHost: provider.example\r\nUser-Agent: sdk/1\r\nContent-Length: 4\r\nX-One: 1\r\nX-One: 2\r\nX-Two: 3\r\n\r\ntext"
	if r.err != nil || got.String() != want {
		t.Errorf("%v, sent %q, want %q", r.err, got.String(), want)
	}
}

// What would be two requests on the wire is none.
func TestRequestsThatAreRefused(t *testing.T) {
	p := newPeer(t, answers(empty))
	c := p.client(t)
	for name, r := range map[string]*Request{
		"method": {Method: "GET /\r\n", Path: "/"}, "no method": {Path: "/"}, "space in the path": {Method: "GET", Path: "/a b"}, "line in the path": {Method: "GET", Path: "/a\r\nX: y"}, "no path": {Method: "GET"},
		"path without a slash": {Method: "GET", Path: "a"}, "line in the query": {Method: "GET", Path: "/", Query: "a\n"}, "space in the query": {Method: "GET", Path: "/", Query: "a b"},
		"name": {Method: "GET", Path: "/", Header: http.Header{"A b": {"c"}}}, "line in a value": {Method: "GET", Path: "/", Header: http.Header{"A": {"b\r\nC: d"}}}, "zero in a value": {Method: "GET", Path: "/", Header: http.Header{"A": {"\x00"}}},
		"own name": {Method: "GET", Path: "/", Own: headers.Fields{{Name: "A:", Value: "b"}}}, "line in an own value": {Method: "GET", Path: "/", Own: headers.Fields{{Name: "A", Value: "b\nC: d"}}},
	} {
		if got := readAll(c.Do(context.Background(), r)); got.err == nil || p.conns.Load() != 0 {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

// plainAndTLS runs a test against a peer of each kind.
func plainAndTLS(t *testing.T, serve script, test func(t *testing.T, p *peer, o Options)) {
	t.Run("plain", func(t *testing.T) {
		p := newPeer(t, serve)
		test(t, p, p.options())
	})
	t.Run("TLS", func(t *testing.T) {
		p, config := newTLSPeer(t, serve)
		o := p.options()
		o.TLS = config
		test(t, p, o)
	})
}

func write(c *Client, content int, guard *sendguard.Guard) reading {
	return readAll(c.Do(context.Background(), &Request{
		Method: http.MethodPut, Path: "/", Content: make([]byte, content), Guard: guard,
	}))
}

// Contents of all sizes arrive whole.
func TestContents(t *testing.T) {
	plainAndTLS(t, func(_ int64, conn net.Conn, r *requests) {
		for {
			q, ok := r.next()
			if !ok {
				return
			}
			n, _ := io.Copy(io.Discard, q.Body)
			fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%d", len(fmt.Sprint(n)), n)
		}
	}, func(t *testing.T, p *peer, o Options) {
		c := newClient(t, o)
		for _, n := range []int{0, 1, inlineContent, inlineContent + 1, 64 << 10, 1 << 20, 32 << 20} {
			guard := &sendguard.Guard{}
			if r := write(c, n, guard); r.err != nil || string(r.body) != fmt.Sprint(n) || !guard.Sent() {
				t.Errorf("%d bytes: got %q, %v", n, r.body, r.err)
			}
		}
		if n := p.conns.Load(); n != 1 {
			t.Errorf("%d connections", n)
		}
	})
}

// What a connection carries after a write is not held to the write's time.
func TestGuardEndsWithItsWrite(t *testing.T) {
	p := newPeer(t, answers(empty))
	c, guard := p.client(t), &sendguard.Guard{}
	if r := write(c, 1, guard); r.err != nil {
		t.Fatal(r.err)
	}
	guard.Set(time.Now().Add(-time.Hour), time.Minute, time.Minute)
	mustGet(t, c)
	if n := p.conns.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

// A provider that refuses a large content before it has read it, and reads no more of
// it, has its answer read; the connection ends.
func TestEarlyRefusal(t *testing.T) {
	for _, hangsUp := range []bool{false, true} {
		plainAndTLS(t, func(_ int64, conn net.Conn, r *requests) {
			if _, ok := r.next(); !ok {
				return
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 413 Too Large\r\nContent-Length: 4\r\n\r\nmuch")
			if !hangsUp {
				r.wait()
			}
		}, func(t *testing.T, p *peer, o Options) {
			guard := &sendguard.Guard{}
			c := newClient(t, o)
			r := write(c, 64<<20, guard)
			if r.err != nil && !hangsUp || r.err == nil && (r.status != 413 || string(r.body) != "much") || !guard.Sent() || c.pool.open != 0 {
				t.Errorf("hangs up %v: got %+v, %d connections are open", hangsUp, r, c.pool.open)
			}
		})
	}
}

// A success that begins before the request has ended does not end the request.
func TestEarlySuccess(t *testing.T) {
	plainAndTLS(t, func(_ int64, conn net.Conn, r *requests) {
		for {
			q, ok := r.next()
			if !ok {
				return
			}
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n")
			n, _ := io.Copy(io.Discard, q.Body)
			fmt.Fprintf(conn, "%08d", n)
		}
	}, func(t *testing.T, p *peer, o Options) {
		c := newClient(t, o)
		for range 2 {
			if r := write(c, 32<<20, &sendguard.Guard{}); r.err != nil || string(r.body) != "33554432" {
				t.Errorf("got %q, %v", r.body, r.err)
			}
		}
		if n := p.conns.Load(); n != 1 {
			t.Errorf("%d connections", n)
		}
	})
}

// Nor does its connection carry another request while the rest of this one is due.
func TestEarlySuccessThatReadsNoMore(t *testing.T) {
	plainAndTLS(t, func(_ int64, conn net.Conn, r *requests) {
		if _, ok := r.next(); ok {
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ndone")
			r.wait()
		}
	}, func(t *testing.T, _ *peer, o Options) {
		c := newClient(t, o)
		if r := write(c, 64<<20, &sendguard.Guard{}); r.err != nil || string(r.body) != "done" || c.pool.open != 0 {
			t.Errorf("got %q, %v, %d connections are open", r.body, r.err, c.pool.open)
		}
	})
}

// The heads of all answers to a request have a bound together.
func TestHeadsAreBounded(t *testing.T) {
	const interim, start, end = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: ", "\r\n\r\n"
	for _, before := range []string{"", interim, strings.Repeat(interim, 10)} {
		for _, beyond := range []int{0, 1} {
			for _, lines := range []bool{false, true} {
				fill := strings.Repeat("x", 2000-len(before)-len(start)-len(end)+beyond)
				if lines {
					fill = "\r\nY: " + fill[len("\r\nY: "):]
				}
				p := newPeer(t, answers(before+start+fill+end))
				o := p.options()
				o.MaxHead = 2000
				if r := newClient(t, o).get(http.MethodGet); (beyond == 0) != (r.err == nil) || r.err != nil && !errors.Is(r.err, errTooLong) {
					t.Errorf("%d bytes before, %d too many: got %d, %v", len(before), beyond, r.status, r.err)
				}
			}
		}
	}
}

// A large content that no one reads ends with the call's time, and with its caller.
func TestContentThatNoOneReads(t *testing.T) {
	for name, c := range map[string]struct {
		timeout time.Duration
		want    error
	}{"time": {100 * time.Millisecond, context.DeadlineExceeded}, "caller": {0, context.Canceled}} {
		t.Run(name, func(t *testing.T) {
			started := make(chan struct{}, 2)
			plainAndTLS(t, func(_ int64, _ net.Conn, r *requests) {
				if _, ok := r.next(); ok {
					started <- struct{}{}
					r.wait()
				}
			}, func(t *testing.T, _ *peer, o Options) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				r := &Request{Method: http.MethodPut, Path: "/", Content: make([]byte, 64<<20), Guard: &sendguard.Guard{}}
				if c.timeout > 0 {
					r.Deadline = time.Now().Add(c.timeout)
				} else {
					go func() { <-started; cancel() }()
				}
				client := newClient(t, o)
				if got := readAll(client.Do(ctx, r)); !errors.Is(got.err, c.want) || client.pool.open != 0 {
					t.Errorf("got %+v, %d connections are open", got, client.pool.open)
				}
			})
		})
	}
}

// A body ends with its call's time and its caller, and with its Close.
func TestBodiesThatDoNotEnd(t *testing.T) {
	for _, head := range []string{"Content-Length: 10\r\n\r\nhalf", "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n", "\r\nhalf"} {
		for name, want := range map[string]error{"time": context.DeadlineExceeded, "caller": context.Canceled, "close": net.ErrClosed} {
			t.Run(name+" "+head, func(t *testing.T) {
				p := newPeer(t, func(_ int64, conn net.Conn, r *requests) {
					r.complete()
					_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n"+head)
					r.complete()
				})
				c := p.client(t)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				r := &Request{Method: http.MethodGet, Path: "/"}
				if name == "time" {
					r.Deadline = time.Now().Add(300 * time.Millisecond)
				}
				response, err := c.Do(ctx, r)
				if err != nil {
					t.Fatal(err)
				}
				text := make([]byte, 4)
				if _, err := io.ReadFull(response.Body, text); err != nil || string(text) != "half" {
					t.Fatalf("%q, %v", text, err)
				}
				var closing sync.WaitGroup
				switch name {
				case "caller":
					cancel()
				case "close":
					closing.Go(func() { _ = response.Body.Close() })
				}
				n, err := response.Body.Read(text)
				closing.Wait()
				if n != 0 || err == nil || name != "close" && !errors.Is(err, want) || c.pool.open != 0 {
					t.Errorf("%d, %v, %d connections are open", n, err, c.pool.open)
				}
				_ = response.Body.Close()
				if _, again := response.Body.Read(text); again == nil {
					t.Error("a closed body can be read")
				}
			})
		}
	}
}

// A call that may take long ends with its time, and its connection with it.
func TestLongCallsEnd(t *testing.T) {
	t.Parallel()
	p := newPeer(t, func(_ int64, _ net.Conn, r *requests) {
		r.complete()
		r.complete()
	})
	c := p.client(t)
	deadline := time.Now().Add(watchFrom + 100*time.Millisecond)
	r := readAll(c.Do(context.Background(), &Request{Method: http.MethodGet, Path: "/", Deadline: deadline}))
	watched := 0
	c.watch.Each(func(*exchange) { watched++ })
	if !errors.Is(r.err, context.DeadlineExceeded) || time.Now().Before(deadline) || c.pool.open != 0 || watched != 0 {
		t.Errorf("got %+v %v after the deadline, %d connections are open", r, time.Since(deadline), c.pool.open)
	}
}

// A connection that had a deadline carries calls that have none.
func TestDeadlinesEndWithTheirCalls(t *testing.T) {
	p := newPeer(t, answers(empty))
	c := p.client(t)
	for range 3 {
		if r := readAll(c.Do(t.Context(), &Request{Method: http.MethodGet, Path: "/", Deadline: time.Now().Add(200 * time.Millisecond)})); r.err != nil {
			t.Fatal(r.err)
		}
		time.Sleep(250 * time.Millisecond)
		mustGet(t, c)
	}
	if n := p.conns.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
}

// A caller that has gone before the call makes none.
func TestCallerThatHasGone(t *testing.T) {
	p := newPeer(t, answers(empty))
	c := p.client(t)
	mustGet(t, c)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if r := readAll(c.Do(ctx, &Request{Method: http.MethodGet, Path: "/"})); !errors.Is(r.err, context.Canceled) {
		t.Errorf("got %+v", r)
	}
	if r := readAll(c.Do(context.Background(), &Request{Method: http.MethodGet, Path: "/", Deadline: time.Now().Add(-time.Second)})); !errors.Is(r.err, context.DeadlineExceeded) {
		t.Errorf("got %+v", r)
	}
	mustGet(t, c)
}

func TestHandshakes(t *testing.T) {
	p, config := newTLSPeer(t, answers(empty))
	for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
		o := p.options()
		o.TLS = config.Clone()
		o.TLS.MaxVersion = version
		c := newClient(t, o)
		before := p.conns.Load()
		for range 3 {
			mustGet(t, c)
		}
		if n := p.conns.Load() - before; n != 1 {
			t.Errorf("%x: %d connections", version, n)
		}
	}
	o := p.options()
	o.TLS = &tls.Config{MinVersion: tls.VersionTLS12, ServerName: "example.com"}
	var untrusted *tls.CertificateVerificationError
	if c := newClient(t, o); !errors.As(c.get(http.MethodGet).err, &untrusted) || c.pool.open != 0 {
		t.Errorf("%d connections are open", c.pool.open)
	}
	mute := newPeer(t, func(_ int64, conn net.Conn, _ *requests) { _, _ = io.Copy(io.Discard, conn) })
	o = mute.options()
	o.TLS, o.HandshakeTimeout = config, 20*time.Millisecond
	var timeout net.Error
	if r := newClient(t, o).get(http.MethodGet); !errors.As(r.err, &timeout) || !timeout.Timeout() || errors.Is(r.err, context.DeadlineExceeded) {
		t.Errorf("got %+v", r)
	}
}
