// Package connections bounds the connections of a listener: their number, their number
// per address, and how long one stays idle without an authenticated request.
//
// If all connections are in use, a new one evicts another: the newest of the address
// with the most connections, unauthenticated ones first. So an address that opens many
// evicts its own. Trusted proxies carry the requests of many clients; they have no bound
// per address and are never evicted.
//
// A [Table] bounds one listener. [Table.Listen] or, for TLS, [Table.ListenTLS] wraps the
// listener of a server, [Table.ConnState] and [Table.ConnContext] are the server's
// hooks, and its handler calls [Authenticated].
package connections

import (
	"context"
	"net"
	"sync"
)

// Listen returns an HTTP/1.x listener with connections bounded by the table.
// Close closes connections that were not accepted yet.
func (t *Table) Listen(l net.Listener) net.Listener { return t.listen(l, nil) }

func (t *Table) listen(l net.Listener, h *TLSOptions) *listener {
	ctx, cancel := context.WithCancel(context.Background())
	created := &listener{
		Listener: l, table: t, handshakes: h, ended: ctx.Done(), end: cancel,
		accepted: make(chan net.Conn), failed: make(chan error),
	}
	created.running.Go(func() { created.run(ctx) })
	return created
}

// listener returns the connections that its table admits.
type listener struct {
	net.Listener
	table      *Table
	handshakes *TLSOptions // nil: without TLS
	accepted   chan net.Conn
	failed     chan error
	ended      <-chan struct{}
	end        context.CancelFunc
	running    sync.WaitGroup
}

// Accept implements [net.Listener].
func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.accepted:
		return c, nil
	case err := <-l.failed:
		return nil, err
	case <-l.ended:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener]. It waits for the end of all handshakes.
func (l *listener) Close() error {
	l.end()
	err := l.Listener.Close()
	l.running.Wait()
	return err
}

// run accepts connections until the listener is closed. After an error it waits
// until Accept has returned it.
func (l *listener) run(ctx context.Context) {
	for {
		c, err := l.acceptAdmitted()
		switch {
		case err == nil && l.handshakes != nil:
			l.running.Go(func() { l.handshake(ctx, c) })
			continue
		case err == nil:
			l.offer(c, c)
			continue
		}
		select {
		case l.failed <- err:
		case <-ctx.Done():
			return
		}
	}
}

// offer passes a connection to Accept.
func (l *listener) offer(c *conn, spoken net.Conn) {
	select {
	case l.accepted <- spoken:
	case <-l.ended:
		_ = c.Close() // without a TLS alert, which could block
	}
}

// acceptAdmitted accepts a connection. It closes refused ones immediately.
func (l *listener) acceptAdmitted() (*conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if admitted := l.table.admit(c); admitted != nil {
			return admitted, nil
		}
		_ = c.Close() // nothing was sent over it
	}
}
