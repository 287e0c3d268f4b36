package connections

import (
	"bufio"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"testing"
	"time"

	"portico/test/harness"
)

// parkingServer serves with TLS or without; a request for / is authenticated.
type parkingServer struct {
	*secureServer
	listener *listener
}

func startParking(t *testing.T, secure bool, change func(*parkingServer)) *parkingServer {
	t.Helper()
	p := &parkingServer{}
	p.secureServer = newSecure(time.Hour, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			Authenticated(r.Context())
		}
		if Ambiguous(r.Context()) || (r.TLS != nil) != secure {
			w.WriteHeader(http.StatusTeapot)
		}
	}))
	p.IdleTimeout = time.Hour
	p.table.parkAfter = time.Millisecond
	if change != nil {
		change(p)
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.address = l.Addr().String()
	var handshakes *TLSOptions
	if secure {
		handshakes = &TLSOptions{Config: p.TLSConfig, Timeout: time.Minute, OnFailed: func(net.Addr, error) {}}
	}
	p.listener = p.table.listen(l, handshakes)
	served := make(chan error, 1)
	go func() { served <- p.Serve(p.listener) }()
	t.Cleanup(func() {
		_ = p.Server.Close()
		<-served
	})
	return p
}

// client is a connection of a client.
type client struct {
	net.Conn
	answers *bufio.Reader
}

func (p *parkingServer) client(t *testing.T) client {
	t.Helper()
	c := p.dial(t)
	if p.listener.handshakes != nil {
		c = tls.Client(c, http1Only(p.config))
	}
	return client{c, bufio.NewReader(c)}
}

func (c client) ask(t *testing.T, request string) (status int) {
	t.Helper()
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(c.answers, nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	return response.StatusCode
}

func (p *parkingServer) parkedNow() int {
	p.listener.mu.Lock()
	defer p.listener.mu.Unlock()
	return len(p.listener.parked)
}

func (p *parkingServer) awaitParked(t *testing.T, n int) {
	t.Helper()
	harness.Await(t, time.Minute, "parked connections", func() bool { return p.parkedNow() == n })
}

const (
	plainGet     = "GET / HTTP/1.1\r\nHost: h\r\n\r\n"
	plainPost    = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nab"
	ambiguousAsk = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n"
)

func eachTransport(t *testing.T, run func(t *testing.T, secure bool)) {
	for name, secure := range map[string]bool{"plain": false, "TLS": true} {
		t.Run(name, func(t *testing.T) { run(t, secure) })
	}
}

// A client does not notice that its connection was parked: each request is answered,
// and judged by its own head.
func TestParkedConnectionsGoOn(t *testing.T) {
	eachTransport(t, func(t *testing.T, secure bool) {
		p := startParking(t, secure, nil)
		c := p.client(t)
		for i, request := range []string{plainGet, plainPost, plainGet, ambiguousAsk} {
			want := http.StatusOK
			if request == ambiguousAsk {
				want = http.StatusTeapot
			}
			if got := c.ask(t, request); got != want {
				t.Errorf("request %d: status %d", i, got)
			}
			if want == http.StatusOK {
				p.awaitParked(t, 1)
			}
			if p.table.Count() != 1 && want == http.StatusOK {
				t.Errorf("%d connections are counted", p.table.Count())
			}
		}
	})
}

// A request that comes in pieces, however slowly, is not taken for an idle connection.
func TestHalfARequestIsNotParked(t *testing.T) {
	p := startParking(t, false, nil)
	c := p.client(t)
	c.ask(t, plainGet)
	p.awaitParked(t, 1)
	for _, piece := range []string{"GE", "T / HT"} {
		if _, err := io.WriteString(c, piece); err != nil {
			t.Fatal(err)
		}
		p.awaitParked(t, 0)
		time.Sleep(20 * p.table.parkAfter)
	}
	if n := p.parkedNow(); n != 0 {
		t.Errorf("%d are parked", n)
	}
	if got := c.ask(t, "TP/1.1\r\nHost: h\r\n\r\n"); got != http.StatusOK {
		t.Errorf("status %d", got)
	}
}

// While no request over it was authenticated, a connection is not parked: it is closed
// soon.
func TestOnlyAuthenticatedConnectionsAreParked(t *testing.T) {
	p := startParking(t, false, func(p *parkingServer) { p.table.options.IdleUnauthenticated = 50 * time.Millisecond })
	c := p.client(t)
	c.ask(t, "GET /other HTTP/1.1\r\nHost: h\r\n\r\n")
	if reason := <-p.refused; reason != ReasonUnauthenticated || p.parkedNow() != 0 {
		t.Errorf("%s, %d parked", reason, p.parkedNow())
	}
}

// Parked connections end by the idle time, by their clients, by eviction and with the
// listener, and leave the table.
func TestParkedConnectionsEnd(t *testing.T) {
	ended := func(t *testing.T, c client) {
		t.Helper()
		if _, err := c.answers.ReadByte(); err == nil || errors.Is(err, net.ErrClosed) {
			t.Errorf("the connection is open: %v", err)
		}
	}
	eachTransport(t, func(t *testing.T, secure bool) {
		t.Run("idle", func(t *testing.T) {
			p := startParking(t, secure, func(p *parkingServer) { p.IdleTimeout = 200 * time.Millisecond })
			c := p.client(t)
			c.ask(t, plainGet)
			ended(t, c)
			harness.Await(t, time.Minute, "an empty table", func() bool { return p.table.Count() == 0 && p.parkedNow() == 0 })
		})
		t.Run("by the client", func(t *testing.T) {
			p := startParking(t, secure, nil)
			c := p.client(t)
			c.ask(t, plainGet)
			p.awaitParked(t, 1)
			_ = c.Close()
			harness.Await(t, time.Minute, "an empty table", func() bool { return p.table.Count() == 0 && p.parkedNow() == 0 })
		})
		t.Run("evicted", func(t *testing.T) {
			p := startParking(t, secure, nil)
			c := p.client(t)
			c.ask(t, plainGet)
			p.awaitParked(t, 1)
			p.table.mu.Lock()
			var victim *conn
			for _, from := range p.table.addresses {
				victim = from.firstToEvict()
			}
			p.table.remove(victim)
			p.table.mu.Unlock()
			_ = victim.Conn.Close()
			ended(t, c)
			p.awaitParked(t, 0)
		})
		t.Run("with the listener", func(t *testing.T) {
			p := startParking(t, secure, nil)
			var all []client
			for range 5 {
				c := p.client(t)
				c.ask(t, plainGet)
				all = append(all, c)
			}
			p.awaitParked(t, len(all))
			if err := p.Shutdown(t.Context()); err != nil {
				t.Error(err)
			}
			for _, c := range all {
				ended(t, c)
			}
			if p.table.Count() != 0 {
				t.Errorf("%d are left", p.table.Count())
			}
		})
	})
}

// What parked connections hold, both ends of them in this process: no buffers, and a
// small stack.
func TestParkedConnectionsHoldLittle(t *testing.T) {
	const many, most = 400, 8 << 10 // bytes for each
	p := startParking(t, false, func(p *parkingServer) { p.table.options.MaxConnections, p.table.options.MaxPerAddress = many, many })
	held := func() uint64 {
		var m runtime.MemStats
		for range 3 { // stacks shrink, and pools are emptied, one collection after the other
			runtime.GC()
		}
		runtime.ReadMemStats(&m)
		return m.HeapAlloc + m.StackInuse
	}
	before := held()
	var all []net.Conn
	for range many {
		c := p.client(t)
		c.ask(t, plainGet)
		all = append(all, c.Conn)
	}
	p.awaitParked(t, many)
	if each := (held() - before) / many; each > most {
		t.Errorf("a parked connection holds %d bytes", each)
	} else {
		t.Logf("a parked connection holds %d bytes", each)
	}
	runtime.KeepAlive(all)
}
