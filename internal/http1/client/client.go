// Package client calls one address over HTTP/1.1, plain or over TLS, without a goroutine
// for each connection: a call writes its request and reads its answer in the caller's
// goroutine.
//
// A call ends at its deadline or with its context, and so does the body of its answer: a
// read with two seconds or more ends within a fiftieth of a second, all others
// immediately. Its connection is used again once the answer has been read to its end,
// unless anything about that end is ambiguous: bytes after it, two lengths, a request
// that has not left completely. Idle connections are checked before they are used: a
// closed one, or one with unexpected bytes, is not used. A read checks, writes and waits
// in one operation on the socket, which takes three system calls.
//
// A request is repeated on another connection only if its connection had been used
// before, and died: a write (with a [sendguard.Guard]) only if no byte of it has left, a
// read only if nothing of an answer has arrived.
//
// Anything but an answer of HTTP/1.0 or HTTP/1.1 is an error. This package is stricter
// than net/http's transport: it refuses folded header lines, a space before a colon,
// unusual forms of lengths and chunks, and excessive numbers of headers or interim
// answers.
package client

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"os"
	"time"

	"portico/internal/sendguard"
	"portico/internal/timing"
	"portico/tracing/headers"
)

// Options configure a [Client]. None of the bounds may be 0.
type Options struct {
	Host    string // as in the Host header
	Address string // host and port to dial
	Dial    func(ctx context.Context, network, address string) (net.Conn, error)
	// TLS is used for all connections, with its own list of protocols; nil: plain.
	TLS              *tls.Config
	HandshakeTimeout time.Duration
	IdleTimeout      time.Duration
	MaxIdle, MaxOpen int   // connections
	IdleInAll        *Idle // shared by clients
	MaxHead          int   // bytes of an answer's headers, with those of interim answers
}

const (
	// watchEvery bounds how long a call may continue after its deadline or its
	// context's end.
	watchEvery = 20 * time.Millisecond
	// watchFrom is the minimum duration of a call that may end so late.
	watchFrom = 2 * time.Second
)

// Client calls one address. It is safe for concurrent use.
type Client struct {
	options Options
	pool    pool
	watch   timing.Watch[*exchange] // ends calls after their deadline or their caller's end
}

// New returns a client. [Client.CloseIdle] closes its idle connections.
func New(o Options) *Client {
	if o.TLS != nil {
		o.TLS = o.TLS.Clone()
		o.TLS.NextProtos = []string{"http/1.1"}
	}
	return &Client{
		options: o,
		pool:    pool{maxIdle: o.MaxIdle, maxOpen: o.MaxOpen, inAll: o.IdleInAll, timeout: o.IdleTimeout},
		watch:   timing.Watch[*exchange]{Every: watchEvery, Look: (*exchange).endOverdue},
	}
}

// CloseIdle closes idle connections. Those in use are closed when they become
// idle, unless another call is made.
func (c *Client) CloseIdle() { c.pool.closeIdle() }

// Request is one request.
type Request struct {
	Method      string
	Path, Query string // as on the wire; no query if it is empty
	// Header and Own both hold headers, and are not changed. Host and headers
	// that frame the message are ignored.
	Header  http.Header
	Own     headers.Fields
	Content []byte
	// Deadline bounds the call and the reading of its answer, in addition to
	// the context's; zero: none.
	Deadline time.Time
	// Started is when the call started, if the caller has just read the clock;
	// zero: it has not.
	Started time.Time
	// Guard decides about each byte of a write; nil for requests that may be repeated.
	Guard *sendguard.Guard
	// Observer may be nil.
	Observer Observer
}

// Observer is notified of a request's connection, before the request is written.
type Observer interface {
	// GotConn is called for each connection of the request. State is nil for a
	// plain one.
	GotConn(conn net.Conn, reused bool, state *tls.ConnectionState)
}

// errUnanswered is wrapped by the error of a connection that ended before the
// first byte of an answer.
var errUnanswered = errors.New("the connection ended before an answer")

// Do sends a request and returns the answer. One goroutine must close its Body or read
// it to its end; another one may close it. The answer's Request is nil. If the call's
// time is over, the error is the context's, or [context.DeadlineExceeded].
func (c *Client) Do(ctx context.Context, r *Request) (*http.Response, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	deadline := r.Deadline
	if d, ok := ctx.Deadline(); ok && (deadline.IsZero() || d.Before(deadline)) {
		deadline = d
	}
	started := r.Started
	if started.IsZero() {
		started = time.Now()
	}
	exact, shared := deadline, false
	if r.Guard == nil && len(r.Content) == 0 && (deadline.IsZero() || deadline.Sub(started) >= watchFrom) {
		exact, shared = time.Time{}, true
	}
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		cn, err := c.connection(ctx, r, deadline, exact)
		if err != nil {
			return nil, err
		}
		x := &exchange{ctx: ctx, cn: cn, client: c, request: r, deadline: deadline, shared: shared, reused: cn.reused}
		if err = x.run(); err == nil {
			return &x.response, nil
		}
		switch reused := x.reused; {
		case errors.Is(err, errStale):
		case r.Guard != nil && r.Guard.RetryStale():
		case r.Guard == nil && reused && len(r.Content) == 0 && errors.Is(err, errUnanswered):
		default:
			return nil, err
		}
	}
}

// connection returns an idle connection, or a new one that was made before
// the deadline. The connection itself has the exact deadline, if that is not
// zero. An idle connection is not checked for a request that does so itself.
func (c *Client) connection(ctx context.Context, r *Request, deadline, exact time.Time) (*conn, error) {
	for {
		cn, err := c.pool.takeOrCount()
		if err != nil {
			return nil, err
		}
		if cn == nil {
			break
		}
		if err := cn.bound(exact); err == nil && (cn.canAsk(r) || cn.alive()) {
			return cn, nil
		}
		c.pool.discard(cn)
	}
	if !deadline.IsZero() {
		bounded, cancel := context.WithDeadline(ctx, deadline)
		defer cancel()
		ctx = bounded
	}
	cn, err := c.dial(ctx)
	if err != nil {
		c.pool.countClosed()
		return nil, err
	}
	if err := cn.bound(exact); err != nil {
		c.pool.discard(cn)
		return nil, err
	}
	return cn, nil
}

// handshakeTimeout is the error of a TLS handshake that took too long.
type handshakeTimeout struct{}

func (handshakeTimeout) Error() string   { return "the TLS handshake took too long" }
func (handshakeTimeout) Timeout() bool   { return true }
func (handshakeTimeout) Temporary() bool { return true }

func (c *Client) dial(ctx context.Context) (*conn, error) {
	dialled, err := c.options.Dial(ctx, "tcp", c.options.Address)
	if err != nil {
		return nil, err
	}
	if c.options.TLS == nil {
		return newConn(dialled), nil
	}
	cn := newConn(dialled)
	secured := tls.Client(cn.wire, c.options.TLS)
	bounded, cancel := context.WithTimeout(ctx, c.options.HandshakeTimeout)
	defer cancel()
	if err := secured.HandshakeContext(bounded); err != nil {
		_ = dialled.Close()
		if ctx.Err() == nil && (errors.Is(err, context.DeadlineExceeded) || errors.Is(err, os.ErrDeadlineExceeded)) {
			err = handshakeTimeout{}
		}
		return nil, err
	}
	state := secured.ConnectionState()
	cn.Conn, cn.state = secured, &state
	return cn, nil
}
