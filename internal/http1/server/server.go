// Package server serves HTTP/1.1 on accepted and secured connections. It replaces the
// HTTP/1 part of net/http's server, at less cost for each request.
//
// A connection has one goroutine, which reads a head, calls the handler and writes the
// answer. Only if the handler runs long, a second goroutine reads meanwhile: it waits
// for the client to leave, and then ends the request's context. An answer that fits into
// the buffer is sent in one write. Deadlines are set on the socket when it may have to
// wait, and only when they move by more than a little. A connection that waits long for
// its next request gives up its buffers and its stack.
//
// It accepts no request that net/http's server would refuse, and interprets each in the
// same way. It refuses requests that two readers may understand differently: see the
// refusals. The connection is closed after any HTTP/1.0 request, and after any with
// chunks.
//
// Connections on which TLS negotiated HTTP/2 go to another server.
//
// Handlers work as with net/http, except that connections cannot be hijacked, trailers
// are dropped, no Content-Type is guessed, interim answers other than 100 Continue are
// not sent, and contexts do not have the server.
package server

import (
	"context"
	"crypto/tls"
	"errors"
	"log"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"portico/internal/connections"
	"portico/internal/timing"
)

// Options configure a [Server]. Fields that [http.Server] also has mean the same.
type Options struct {
	Handler           http.Handler
	ReadHeaderTimeout time.Duration
	IdleTimeout       time.Duration
	MaxHead           int // bytes of a request line, and of its headers
	ConnState         func(net.Conn, http.ConnState)
	ConnContext       func(context.Context, net.Conn) context.Context
	ErrorLog          *log.Logger
	// Describe returns the content of answers to bytes that are not a request;
	// nil: plain text.
	Describe connections.Describer
	// HTTP2 serves connections that negotiated HTTP/2; nil: they are closed.
	HTTP2 *http.Server
}

// Server serves HTTP/1.1 on listeners of TCP connections, or of TLS
// connections after their handshakes.
type Server struct {
	options Options
	watch   timing.Watch[*conn] // over connections that have buffers
	date    date
	ended   atomic.Bool // Shutdown or Close was called

	mostLingering int32
	lingering     atomic.Int32 // number of lingering connections

	parkAfter time.Duration

	mu        sync.Mutex
	listeners map[net.Listener]struct{}
	conns     map[*conn]struct{}
	running   sync.WaitGroup
}

// New returns a server.
func New(o Options) *Server {
	return &Server{
		options: o, watch: timing.Watch[*conn]{Every: watchEvery, Look: (*conn).look}, parkAfter: parkAfter, mostLingering: mostLingering,
		listeners: map[net.Listener]struct{}{}, conns: map[*conn]struct{}{},
	}
}

// Pauses after a failed Accept.
const (
	shortestPause = 5 * time.Millisecond
	longestPause  = time.Second
)

// Serve accepts connections until the listener fails or the server is ended;
// then it returns [http.ErrServerClosed]. It closes the listener.
func (s *Server) Serve(l net.Listener) error {
	defer func() { _ = l.Close() }()
	if !s.track(l) {
		return http.ErrServerClosed
	}
	defer s.untrack(l)
	over := newHandover(l.Addr())
	defer over.serve(s.options.HTTP2)()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for pause := shortestPause; ; {
		accepted, err := l.Accept()
		if err != nil {
			if s.ended.Load() {
				return http.ErrServerClosed
			}
			if !isTemporary(err) {
				return err
			}
			s.logf("http: Accept error: %v; retrying in %v", err, pause)
			_ = timing.Sleep(ctx, pause) // ctx is never cancelled
			pause = min(2*pause, longestPause)
			continue
		}
		pause = shortestPause
		if session, ok := accepted.(*tls.Conn); ok && session.ConnectionState().NegotiatedProtocol == "h2" {
			over.handOver(accepted)
			continue
		}
		s.begin(accepted)
	}
}

// isTemporary reports whether accepting can work again after an error: the
// process or the machine lacked a resource that others release.
func isTemporary(err error) bool {
	for _, lack := range []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM, syscall.EINTR, syscall.ECONNABORTED} {
		if errors.Is(err, lack) {
			return true
		}
	}
	return false
}

// begin serves a connection in a goroutine.
func (s *Server) begin(accepted net.Conn) {
	c := &conn{Conn: accepted, server: s}
	if !s.add(c) {
		_ = accepted.Close()
		return
	}
	c.hook(http.StateNew)
	go c.begin()
}

func (s *Server) track(l net.Listener) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended.Load() {
		return false
	}
	s.listeners[l] = struct{}{}
	return true
}

func (s *Server) untrack(l net.Listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.listeners, l)
}

func (s *Server) add(c *conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended.Load() {
		return false
	}
	s.conns[c] = struct{}{}
	s.running.Add(1)
	return true
}

func (s *Server) remove(c *conn) {
	s.mu.Lock()
	delete(s.conns, c)
	s.mu.Unlock()
	s.running.Done()
}

// Shutdown closes the listeners and all connections without a running
// request, and waits until the others have ended or ctx is done.
func (s *Server) Shutdown(ctx context.Context) error {
	s.end(func(c *conn) bool {
		c.hurry()
		return c.state.CompareAndSwap(waiting, closing)
	})
	var err error
	if s.options.HTTP2 != nil {
		err = s.options.HTTP2.Shutdown(ctx)
	}
	done := make(chan struct{})
	go func() { // ends with the connections, which have their own bounds
		defer close(done)
		s.running.Wait()
	}()
	select {
	case <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Close closes the listeners and all connections.
func (s *Server) Close() error {
	s.end(func(*conn) bool { return true })
	if s.options.HTTP2 != nil {
		return s.options.HTTP2.Close()
	}
	return nil
}

// end closes the listeners, and the connections selected by closes.
func (s *Server) end(closes func(*conn) bool) {
	s.mu.Lock()
	s.ended.Store(true)
	var listeners []net.Listener
	var conns []*conn
	for l := range s.listeners {
		listeners = append(listeners, l)
	}
	for c := range s.conns {
		if closes(c) {
			conns = append(conns, c)
		}
	}
	s.mu.Unlock()
	for _, l := range listeners {
		_ = l.Close()
	}
	for _, c := range conns {
		_ = c.Close()
	}
}

func (s *Server) logf(format string, args ...any) {
	if s.options.ErrorLog != nil {
		s.options.ErrorLog.Printf(format, args...)
		return
	}
	log.Printf(format, args...)
}
