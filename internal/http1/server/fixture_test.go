package server

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"portico/internal/connections"
	"portico/test/harness"
)

// patience bounds what a test waits for; no test measures it.
const patience = 30 * time.Second

// lines is a log.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// site is a server on loopback.
type site struct {
	*Server
	address string
	log     lines
	served  chan error
	secured *tls.Config // nil: plain
	table   *connections.Table
}

func start(t testing.TB, handler http.HandlerFunc, change ...func(*site)) *site {
	t.Helper()
	s := &site{served: make(chan error, 1)}
	s.Server = New(Options{Handler: handler, ReadHeaderTimeout: time.Minute, IdleTimeout: time.Minute, MaxHead: 16 << 10, ErrorLog: log.New(&s.log, "", 0)})
	for _, c := range change {
		c(s)
	}
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.address = l.Addr().String()
	if s.table != nil {
		l = s.table.Listen(l)
	}
	if s.secured != nil {
		l = shaking{tls.NewListener(l, s.secured)}
	}
	go func() { s.served <- s.Serve(l) }()
	t.Cleanup(func() {
		_ = s.Close()
		if err := <-s.served; !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("the server ended by %v", err)
		}
		s.running.Wait()
	})
	return s
}

// shaking makes the handshakes of the connections that it accepts.
type shaking struct{ net.Listener }

func (s shaking) Accept() (net.Conn, error) {
	c, err := s.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if session, ok := c.(*tls.Conn); ok {
		_ = session.Handshake() // else the first read fails
	}
	return c, nil
}

// withTLS has the server speak TLS, with these protocols.
func withTLS(t testing.TB, protocols ...string) func(*site) {
	certificate := harness.NewCertificate(t, t.TempDir())
	pair, err := tls.LoadX509KeyPair(certificate.CertFile, certificate.KeyFile)
	if err != nil {
		t.Fatal(err)
	}
	return func(s *site) { s.secured = &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: protocols} }
}

// client is a connection to a site.
type client struct {
	net.Conn
	t    testing.TB
	read *bufio.Reader
}

func (s *site) dial(t testing.TB) *client {
	t.Helper()
	c, err := (&net.Dialer{Timeout: patience}).DialContext(t.Context(), "tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	if s.secured != nil {
		c = tls.Client(c, &tls.Config{InsecureSkipVerify: true, NextProtos: s.secured.NextProtos}) //nolint:gosec // the server's identity does not matter here
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return &client{c, t, bufio.NewReader(c)}
}

func (c *client) send(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c, text); err != nil {
		c.t.Fatal(err)
	}
}

// answer is an answer as a client sees it.
type answer struct {
	status  int
	header  http.Header
	content string
	close   bool
	err     error // behind which there is nothing
	broken  bool  // in place of err, to be compared
}

func (c *client) answer(method string) answer {
	res, err := http.ReadResponse(c.read, &http.Request{Method: method})
	if err != nil {
		return answer{err: err}
	}
	content, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	return answer{status: res.StatusCode, header: res.Header, content: string(content), close: res.Close, err: err}
}

func (c *client) want(status int, content string) answer {
	c.t.Helper()
	got := c.answer(http.MethodGet)
	if got.err != nil || got.status != status || content != "*" && got.content != content {
		c.t.Fatalf("%d %q, %v; want %d %q", got.status, got.content, got.err, status, content)
	}
	return got
}

// wantEnd waits for the end of the connection.
func (c *client) wantEnd() {
	c.t.Helper()
	rest, err := io.ReadAll(c.read)
	if len(rest) > 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		c.t.Fatalf("%q, %v; want the end", rest, err)
	}
}

const get = "GET /a HTTP/1.1\r\nHost: h\r\n\r\n"

func put(content string, more ...string) string {
	return "PUT /a HTTP/1.1\r\nHost: h\r\nContent-Length: " + itoa(len(content)) + "\r\n" + strings.Join(more, "") + "\r\n" + content
}

// echo answers with the request's content.
func echo(w http.ResponseWriter, r *http.Request) {
	content, err := io.ReadAll(r.Body)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	_, _ = w.Write(append([]byte(r.Method+" "), content...))
}

// await waits until something holds.
func await(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("in vain: %s", what)
		}
	}
}

// awaitParked waits until no connection has buffers.
func (s *site) awaitParked(t testing.TB) {
	t.Helper()
	await(t, "parked connections", func() bool {
		parked := true
		s.watch.Each(func(*conn) { parked = false })
		return parked
	})
}
