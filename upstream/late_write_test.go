package upstream

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"portico/arm"
)

// endNow lets the time of the request be over whose bytes a connection carries.
func endNow(t *testing.T, c *guardedConn, back func(time.Time) time.Time) {
	t.Helper()
	s := c.guard.Load()
	if s == nil {
		t.Fatal("the connection carries no request")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started = back(s.started)
}

func hourAgo(since time.Time) time.Time       { return since.Add(-time.Hour) }
func hourAgoByWall(since time.Time) time.Time { return since.Round(0).Add(-time.Hour) }

func TestLaterBytesAreHeldToTheEnd(t *testing.T) {
	for name, back := range map[string]func(time.Time) time.Time{"monotonic clock": hourAgo, "wall clock": hourAgoByWall} {
		t.Run(name, func(t *testing.T) {
			s := &writeGuard{started: time.Now(), firstByteWithin: time.Minute, lastByteWithin: 30 * time.Minute}
			conn := &guardedConn{Conn: discardingConn{}}
			conn.guard.Store(s)
			if n, err := conn.Write([]byte("abc")); n != 3 || err != nil {
				t.Fatalf("the first bytes: %d, %v", n, err)
			}
			endNow(t, conn, func(since time.Time) time.Time { return since.Add(-10 * time.Minute) })
			if n, err := conn.Write([]byte("abc")); n != 3 || err != nil {
				t.Fatalf("past the time for the first byte alone: %d, %v", n, err)
			}
			endNow(t, conn, back)
			if n, err := conn.Write([]byte("abc")); n != 0 || !errors.Is(err, errCutOff) || !s.sent() || s.retryStale() {
				t.Errorf("past the end: %d, %v", n, err)
			}
		})
	}
}

// guardedPair is a guarded connection and its reader.
func guardedPair(t *testing.T) (conn *guardedConn, reader net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	dial := guardedDial(countedDial(&net.Dialer{}, newClient(t, Options{}).metrics.forAddress("westus", "")))
	dialled, err := dial(context.Background(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dialled.Close() })
	if reader, err = listener.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { reader.Close() })
	return dialled.(*guardedConn), reader
}

// A single large write that waits for its reader ends where it was when the
// time was over, even though the connection takes bytes again.
func TestLargeWriteIsBrokenOff(t *testing.T) {
	conn, reader := guardedPair(t)
	s := &writeGuard{started: time.Now(), lastByteWithin: 30 * time.Minute}
	conn.guard.Store(s)
	content := make([]byte, 64<<20)
	var wrote int
	var failed error
	var writing sync.WaitGroup
	writing.Go(func() {
		wrote, failed = conn.Write(content)
		conn.Close()
	})
	within(t, "the first bytes", s.sent)
	endNow(t, conn, hourAgo)
	arrived, err := io.Copy(io.Discard, reader)
	writing.Wait()
	if err != nil || int64(wrote) != arrived || wrote == len(content) || !errors.Is(s.withDeadlineError(failed), s.lateErr) || s.lateErr == nil {
		t.Errorf("%d of %d bytes written, %d arrived: %v, %v", wrote, len(content), arrived, failed, err)
	}
}

// Nor does a byte leave that has begun to wait before the time was over.
func TestWriteThatWaitsIsRefused(t *testing.T) {
	conn, reader := guardedPair(t)
	filled := fill(t, conn.Conn)
	s := &writeGuard{started: time.Now(), lastByteWithin: 30 * time.Minute}
	conn.guard.Store(s)
	var wrote int
	var failed error
	var writing sync.WaitGroup
	writing.Go(func() {
		wrote, failed = conn.Write([]byte("x"))
		conn.Close()
	})
	within(t, "that it waits", writeWaits)
	endNow(t, conn, hourAgo)
	arrived, err := io.Copy(io.Discard, reader)
	writing.Wait()
	if err != nil || wrote != 0 || arrived != filled || failed == nil || s.sent() || !(&Fault{Err: s.withDeadlineError(failed)}).TooLate() {
		t.Errorf("%d bytes written, %d arrived after %d: %v, %v", wrote, arrived-filled, filled, failed, err)
	}
}

// writeWaits reports whether a goroutine waits for a guarded connection to take
// bytes.
func writeWaits() bool {
	stacks := make([]byte, 1<<20)
	for _, stack := range strings.Split(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
		if strings.Contains(stack, "(*guardedConn).Write(") && strings.Contains(stack, "[IO wait") {
			return true
		}
	}
	return false
}

// fill writes to a connection that nobody reads until it takes nothing more.
func fill(t *testing.T, conn net.Conn) (filled int64) {
	t.Helper()
	for wrote := -1; wrote != 0; filled += int64(wrote) {
		if err := conn.SetWriteDeadline(time.Now().Add(300 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		wrote, _ = conn.Write(make([]byte, 64<<20))
	}
	if err := conn.SetWriteDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	return filled
}

// slowReader is a server that reads on only when it is told to.
type slowReader struct {
	*httptest.Server
	begun chan struct{}
	goOn  chan struct{}
	whole atomic.Int64
}

func newSlowReader(t *testing.T, start func(*httptest.Server)) *slowReader {
	t.Helper()
	r := &slowReader{begun: make(chan struct{}, 1), goOn: make(chan struct{})}
	r.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		if q.URL.Path == "/slow" {
			r.begun <- struct{}{}
			<-r.goOn
		}
		if n, err := io.Copy(io.Discard, q.Body); err == nil && n == q.ContentLength {
			r.whole.Add(1)
		}
	}))
	start(r.Server)
	t.Cleanup(r.Close)
	return r
}

// What was broken off may have taken effect, and its connection carries nothing
// more.
func TestContentIsBrokenOffAtTheEnd(t *testing.T) {
	for name, start := range map[string]func(*httptest.Server){"plain": (*httptest.Server).Start, "TLS": (*httptest.Server).StartTLS} {
		t.Run(name, func(t *testing.T) {
			server := newSlowReader(t, start)
			trusted := x509.NewCertPool()
			if server.Certificate() != nil {
				trusted.AddCert(server.Certificate())
			}
			client := newClient(t, Options{TLS: &tls.Config{RootCAs: trusted, MinVersion: tls.VersionTLS12}})
			endpoint := endpointOf(at(t, server.Server))
			transport := client.target(endpoint).pools[0].transports.Load().writes
			dial, dialled := transport.DialContext, make(chan *guardedConn, 8)
			transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
				conn, err := dial(ctx, network, address)
				if err == nil {
					dialled <- conn.(*guardedConn)
				}
				return conn, err
			}
			var err error
			var calling sync.WaitGroup
			calling.Go(func() {
				_, _, err = do(client, Call{
					Endpoint: endpoint, Method: http.MethodPut, Path: "/slow", Content: make([]byte, 64<<20),
					Since: time.Now(), SendWithin: time.Minute, EndWithin: 30 * time.Minute,
				})
			})
			<-server.begun
			endNow(t, <-dialled, hourAgo)
			close(server.goOn)
			calling.Wait()
			if fault := faultOf(t, err); !fault.Sent || fault.TooLate() || fault.ARM("N").Code != arm.GatewayTimeout || ErrorKind(fault) != "timeout" {
				t.Errorf("got %+v", fault)
			}
			mustDo(t, client, Call{Endpoint: endpoint, Method: http.MethodPut, Path: "/next", Content: []byte("x"), Since: time.Now(), SendWithin: time.Minute, EndWithin: time.Minute})
			if whole := server.whole.Load(); whole != 1 || len(dialled) != 1 {
				t.Errorf("%d contents arrived whole, the next call made %d connections", whole, len(dialled))
			}
		})
	}
}

// Without a time for its first byte a request has until its end.
func TestEndWithinAlone(t *testing.T) {
	p := newPeer(t, reply(empty200))
	_, _, err := do(newClient(t, Options{}), Call{Endpoint: p.endpoint(), Method: http.MethodDelete, Path: "/x", Since: time.Now().Add(-time.Hour), EndWithin: time.Minute})
	if fault := faultOf(t, err); fault.Sent || !fault.TooLate() || p.count() != 0 {
		t.Errorf("got %+v", fault)
	}
}

// No way of writing goes past the guard.
func TestGuardHidesOtherWrites(t *testing.T) {
	var conn net.Conn = &guardedConn{}
	if _, past := conn.(io.ReaderFrom); past {
		t.Error("bytes are read from their source past the guard")
	}
}
