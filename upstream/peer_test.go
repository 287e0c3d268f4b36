package upstream

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"portico/regions"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// peer is a provider on a raw socket: it keeps what it is sent, byte for byte.
type peer struct {
	listener net.Listener
	wait     sync.WaitGroup

	mu          sync.Mutex
	heads       []string // of the requests that came whole
	connections int
	open        map[net.Conn]bool
}

// script answers request n, counted from 1 over all connections; it returns
// false to end the connection.
type script func(n int, conn net.Conn) bool

func newPeer(t *testing.T, answer script) *peer {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &peer{listener: listener, open: map[net.Conn]bool{}}
	p.wait.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			p.mu.Lock()
			p.connections++
			p.open[conn] = true
			p.mu.Unlock()
			p.wait.Go(func() { p.serve(conn, answer) })
		}
	})
	t.Cleanup(p.close)
	return p
}

// close ends all connections and waits for what is still being read.
func (p *peer) close() {
	p.listener.Close()
	p.mu.Lock()
	for conn := range p.open {
		conn.Close()
	}
	p.mu.Unlock()
	p.wait.Wait()
}

func (p *peer) serve(conn net.Conn, answer script) {
	defer conn.Close()
	reader := bufio.NewReader(conn)
	for {
		var head strings.Builder
		for !strings.HasSuffix(head.String(), "\r\n\r\n") {
			line, err := reader.ReadString('\n')
			if err != nil {
				return
			}
			head.WriteString(line)
		}
		request, err := http.ReadRequest(bufio.NewReader(strings.NewReader(head.String())))
		if err != nil {
			return
		}
		if _, err := io.CopyN(io.Discard, reader, request.ContentLength); err != nil {
			return
		}
		p.mu.Lock()
		p.heads = append(p.heads, head.String())
		n := len(p.heads)
		p.mu.Unlock()
		if !answer(n, conn) {
			return
		}
	}
}

func (p *peer) requests() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.heads...)
}

func (p *peer) count() int { return len(p.requests()) }

func (p *peer) dialled() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.connections
}

func (p *peer) url() *url.URL {
	return &url.URL{Scheme: "http", Host: p.listener.Addr().String()}
}

func (p *peer) endpoint() *regions.Endpoint { return endpointOf(p.url()) }

func endpointOf(urls ...*url.URL) *regions.Endpoint {
	return &regions.Endpoint{Region: "westus", URLs: urls}
}

// refusing is an address where no one listens.
func refusing(t *testing.T) *url.URL {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return &url.URL{Scheme: "http", Host: listener.Addr().String()}
}

// reply answers every request alike and keeps the connection.
func reply(answer string) script {
	return func(_ int, conn net.Conn) bool {
		_, err := io.WriteString(conn, answer)
		return err == nil
	}
}

const (
	empty200 = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
	empty500 = "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n"
	empty503 = "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n\r\n"
)

// reset ends a connection so that its other end sees a reset.
func reset(conn net.Conn) bool {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	return false
}

func newClient(t *testing.T, o Options) *Client {
	t.Helper()
	if o.CallTimeout == 0 {
		o.CallTimeout = 30 * time.Second
	}
	if o.MaxAnswer == 0 {
		o.MaxAnswer = 1 << 20
	}
	c := New(o)
	t.Cleanup(c.Close)
	return c
}

// do makes a call, reads its answer and closes it.
func do(c *Client, call Call) (status int, body string, err error) {
	answer, err := c.Do(context.Background(), call)
	if err != nil {
		return 0, "", err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text), err
}

func mustDo(t *testing.T, c *Client, call Call) {
	t.Helper()
	if status, _, err := do(c, call); err != nil || status != http.StatusOK {
		t.Fatalf("%s: %d, %v", call.Method, status, err)
	}
}

// faultOf returns the *Fault that err must be.
func faultOf(t *testing.T, err error) *Fault {
	t.Helper()
	var fault *Fault
	if !errors.As(err, &fault) {
		t.Fatalf("got %v, want a *Fault", err)
	}
	return fault
}
