package gateway

import (
	"net/http"
	"sync/atomic"
)

// Live is a gateway whose configuration changes while it answers. A request is
// answered from beginning to end by the gateway that there was when it came in.
// So is an attempt at durable work, but for its calls on behalf of its caller: each
// is a request that comes in then.
type Live struct {
	now atomic.Pointer[faces]
}

// faces are a gateway and its two handlers.
type faces struct {
	gateway       *Gateway
	public, admin http.Handler
}

// NewLive begins with a gateway.
func NewLive(g *Gateway) *Live {
	l := &Live{}
	l.now.Store(&faces{g, g.Public(), g.Admin()})
	return l
}

// Replace makes the next gateway, created by [Gateway.Succeed], answer what comes in
// from now on.
func (l *Live) Replace(next *Gateway) {
	l.now.Store(&faces{next, next.Public(), next.Admin()})
	next.runner.Replace(next.kinds())
}

// Gateway returns the one that answers now.
func (l *Live) Gateway() *Gateway { return l.now.Load().gateway }

// Public returns the handler of the public listener.
func (l *Live) Public() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { l.now.Load().public.ServeHTTP(w, r) })
}

// Admin returns the handler of the admin listener.
func (l *Live) Admin() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { l.now.Load().admin.ServeHTTP(w, r) })
}
