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
)

func TestConnectionsAreReused(t *testing.T) {
	for name, text := range map[string]string{
		"length": "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", "chunks": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\nA: b\r\n\r\n",
		"nothing": empty, "no content": "HTTP/1.1 204 No Content\r\n\r\n", "interim": "HTTP/1.1 100 Continue\r\n\r\n" + empty, "large": fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", 100_000, strings.Repeat("x", 100_000)),
	} {
		t.Run(name, func(t *testing.T) {
			p := newPeer(t, answers(text))
			c := p.client(t)
			for range 5 {
				if r := c.get(http.MethodGet); r.err != nil {
					t.Fatal(r.err)
				}
			}
			if n := p.conns.Load(); n != 1 {
				t.Errorf("%d connections", n)
			}
		})
	}
}

// What is ambiguous, closed or not read to its end carries nothing more.
func TestConnectionsThatAreNotReused(t *testing.T) {
	for name, text := range map[string]string{
		"closes": "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", "old": "HTTP/1.0 200 OK\r\nContent-Length: 0\r\n\r\n",
		"two lengths": "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "a body that may not be": "HTTP/1.1 204 X\r\nTransfer-Encoding: chunked\r\n\r\n",
		"surplus": empty + "HTTP/1.1 299 Evil\r\nContent-Length: 0\r\n\r\n", "surplus behind chunks": "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			p := newPeer(t, answers(text))
			c := p.client(t)
			for range 3 {
				if r := c.get(http.MethodGet); r.err != nil || r.status > 204 {
					t.Fatal(r.status, r.err)
				}
			}
			if n := p.conns.Load(); n != 3 {
				t.Errorf("%d connections", n)
			}
		})
	}
}

// Bytes that come while no one asked are no answer, whenever they come: also such as
// TLS has read together with the answer before them.
func TestUnsolicitedBytes(t *testing.T) {
	for _, later := range []bool{false, true} {
		for _, secured := range []bool{false, true} {
			t.Run(fmt.Sprintf("later %v, TLS %v", later, secured), func(t *testing.T) {
				came := make(chan struct{}, 1)
				serve := func(_ int64, conn net.Conn, requests *requests) {
					for requests.complete() {
						_, _ = io.WriteString(conn, empty)
						if later {
							time.Sleep(20 * time.Millisecond)
						}
						_, _ = io.WriteString(conn, "HTTP/1.1 299 Evil\r\nContent-Length: 0\r\n\r\n")
						came <- struct{}{}
					}
				}
				var p *peer
				var config *tls.Config
				if secured {
					p, config = newTLSPeer(t, serve)
				} else {
					p = newPeer(t, serve)
				}
				o := p.options()
				o.TLS = config
				c := newClient(t, o)
				for range 3 {
					mustGet(t, c)
					<-came
					time.Sleep(5 * time.Millisecond) // loopback is not slower, and if it is the test shows less
				}
			})
		}
	}
}

// A connection that its other end has closed is replaced before a request is lost.
func TestConnectionsThatEndWhileIdle(t *testing.T) {
	for _, method := range []string{http.MethodGet, http.MethodPut} {
		t.Run(method, func(t *testing.T) {
			p := newPeer(t, func(_ int64, conn net.Conn, requests *requests) {
				requests.complete()
				_, _ = io.WriteString(conn, empty)
			})
			c := p.client(t)
			for range 10 {
				guard := &sendguard.Guard{}
				r := readAll(c.Do(context.Background(), &Request{Method: method, Path: "/", Guard: guard}))
				if r.err != nil {
					t.Fatal(r.err)
				}
				c.pool.mu.Lock()
				idle := c.pool.idle
				c.pool.mu.Unlock()
				for _, cn := range idle {
					within(t, "the connection's end", func() bool { return cn.SetDeadline(time.Time{}) != nil || !cn.alive() })
				}
			}
		})
	}
}

// A connection may die in the instant in which it is used again. A read is repeated
// then; a write is not, as it may have had an effect.
func TestConnectionsThatEndWhenTheyAreUsed(t *testing.T) {
	serve := func(n int64, conn net.Conn, requests *requests) {
		for i := 0; requests.complete(); i++ {
			if n == 1 && i == 1 {
				return
			}
			_, _ = io.WriteString(conn, empty)
		}
	}
	p := newPeer(t, serve)
	c := p.client(t)
	mustGet(t, c)
	mustGet(t, c)
	if n := p.conns.Load(); n != 2 {
		t.Errorf("%d connections", n)
	}
	o, dials := newPeer(t, serve).options(), 0
	dial := o.Dial
	o.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		dials++
		return dial(ctx, network, address)
	}
	c = newClient(t, o)
	mustGet(t, c)
	guard := &sendguard.Guard{}
	r := readAll(c.Do(context.Background(), &Request{Method: http.MethodPut, Path: "/", Guard: guard}))
	if r.err == nil || !guard.Sent() || dials != 1 {
		t.Errorf("got %+v over %d connections", r, dials)
	}
}

// Nor is a read repeated of whose answer something has come, nor one on a new
// connection.
func TestReadsThatAreNotRepeated(t *testing.T) {
	for name, first := range map[string]string{"half an answer": "HTTP/1.1 2", "an interim answer": "HTTP/1.1 100 Continue\r\n\r\n"} {
		p := newPeer(t, func(_ int64, conn net.Conn, requests *requests) {
			requests.complete()
			_, _ = io.WriteString(conn, empty)
			requests.complete()
			_, _ = io.WriteString(conn, first)
		})
		c := p.client(t)
		mustGet(t, c)
		if r := c.get(http.MethodGet); r.err == nil || p.conns.Load() != 1 {
			t.Errorf("%s: got %+v over %d connections", name, r, p.conns.Load())
		}
	}
	p := newPeer(t, func(_ int64, _ net.Conn, requests *requests) { requests.complete() })
	if r := p.client(t).get(http.MethodGet); !errors.Is(r.err, errUnanswered) || p.conns.Load() != 1 {
		t.Errorf("got %+v over %d connections", r, p.conns.Load())
	}
}

func TestIdleConnectionsAreBounded(t *testing.T) {
	gate := make(chan struct{})
	p := newPeer(t, func(_ int64, conn net.Conn, requests *requests) {
		for requests.complete() {
			<-gate
			_, _ = io.WriteString(conn, empty)
		}
	})
	o := p.options()
	o.MaxIdle, o.IdleInAll = 3, &Idle{Max: 5}
	a, b := newClient(t, o), newClient(t, o)
	var calls sync.WaitGroup
	for range 6 {
		for _, c := range []*Client{a, b} {
			calls.Go(func() { mustGet(t, c) })
		}
	}
	within(t, "all connections", func() bool { return p.conns.Load() == 12 })
	close(gate)
	calls.Wait()
	if na, nb := len(a.pool.idle), len(b.pool.idle); na > 3 || nb > 3 || na+nb != 5 || a.pool.open != na || b.pool.open != nb {
		t.Errorf("%d and %d are idle, %d and %d open", na, nb, a.pool.open, b.pool.open)
	}
	a.CloseIdle()
	b.CloseIdle()
	if n := o.IdleInAll.open.Load(); n != 0 || a.pool.open != 0 {
		t.Errorf("%d count as idle, %d as open", n, a.pool.open)
	}
}

func TestOpenConnectionsAreBounded(t *testing.T) {
	p := newPeer(t, func(_ int64, _ net.Conn, requests *requests) { requests.complete(); requests.complete() })
	o := p.options()
	o.MaxOpen = 2
	c := newClient(t, o)
	ctx, cancel := context.WithCancel(t.Context())
	var calls sync.WaitGroup
	for range 2 {
		calls.Go(func() {
			if r := readAll(c.Do(ctx, &Request{Method: http.MethodGet, Path: "/"})); !errors.Is(r.err, context.Canceled) {
				t.Errorf("got %+v", r)
			}
		})
	}
	within(t, "both connections", func() bool { return p.conns.Load() == 2 })
	if r := c.get(http.MethodGet); !errors.Is(r.err, errFull) {
		t.Errorf("got %+v", r)
	}
	cancel()
	calls.Wait()
	if c.pool.open != 0 {
		t.Errorf("%d connections count as open", c.pool.open)
	}
}

// Idle connections end after a time, and as soon as their other end closes them.
func TestIdleConnectionsEnd(t *testing.T) {
	for name, o := range map[string]struct {
		timeout time.Duration
		closes  bool
	}{"too old": {20 * time.Millisecond, false}, "closed": {400 * time.Millisecond, true}} {
		t.Run(name, func(t *testing.T) {
			p := newPeer(t, func(_ int64, conn net.Conn, requests *requests) {
				for requests.complete() {
					_, _ = io.WriteString(conn, empty)
					if o.closes {
						return
					}
				}
			})
			options := p.options()
			options.IdleTimeout = o.timeout
			c := newClient(t, options)
			mustGet(t, c)
			within(t, "the end", func() bool {
				c.pool.mu.Lock()
				defer c.pool.mu.Unlock()
				return c.pool.open == 0 && len(c.pool.idle) == 0 && !c.pool.due
			})
			mustGet(t, c)
		})
	}
}

// A connection in use while idle ones are closed is closed when its answer ends, but
// for a client that is used on.
func TestCloseIdleWhileInUse(t *testing.T) {
	for _, usedOn := range []bool{false, true} {
		p := newPeer(t, answers("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"))
		c := p.client(t)
		response, err := c.Do(context.Background(), &Request{Method: http.MethodGet, Path: "/"})
		if err != nil {
			t.Fatal(err)
		}
		c.CloseIdle()
		if usedOn {
			mustGet(t, c)
		}
		if _, err := io.ReadAll(response.Body); err != nil {
			t.Fatal(err)
		}
		if want := map[bool]int{false: 0, true: 2}[usedOn]; c.pool.open != want {
			t.Errorf("used on %v: %d are open", usedOn, c.pool.open)
		}
		_ = response.Body.Close()
	}
}
