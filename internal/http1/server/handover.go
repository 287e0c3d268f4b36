package server

import (
	"net"
	"net/http"
	"sync"
)

// handover is a listener for an HTTP/2 server. It returns connections that
// another server has accepted.
type handover struct {
	address  net.Addr
	accepted chan net.Conn
	ended    chan struct{}
	end      sync.Once
}

func newHandover(address net.Addr) *handover {
	return &handover{address: address, accepted: make(chan net.Conn), ended: make(chan struct{})}
}

// serve runs an HTTP/2 server on the passed connections until the returned
// function is called.
func (h *handover) serve(by *http.Server) (stop func()) {
	if by == nil {
		_ = h.Close()
		return func() {}
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = by.Serve(h) })
	return func() {
		_ = h.Close()
		serving.Wait()
	}
}

func (h *handover) handOver(c net.Conn) {
	select {
	case h.accepted <- c:
	case <-h.ended:
		_ = c.Close()
	}
}

// Accept implements [net.Listener].
func (h *handover) Accept() (net.Conn, error) {
	select {
	case c := <-h.accepted:
		return c, nil
	case <-h.ended:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener].
func (h *handover) Close() error {
	h.end.Do(func() { close(h.ended) })
	return nil
}

// Addr implements [net.Listener].
func (h *handover) Addr() net.Addr { return h.address }
