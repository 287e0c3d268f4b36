package harness

import (
	"context"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"
)

// Balancer distributes TCP connections over those of several Porticos that are ready,
// in turn; it does not interpret them.
type Balancer struct {
	Address string

	listener net.Listener
	client   *http.Client
	stop     context.CancelFunc
	parts    sync.WaitGroup

	mu       sync.Mutex
	backends []*backend
	next     int
	open     map[net.Conn]bool
}

type backend struct {
	address, readyURL string
	ready             bool
}

// balancerPolls is the pause between two polls of /readyz.
const balancerPolls = 50 * time.Millisecond

// StartBalancer listens on an address, without Porticos, until the test ends.
func StartBalancer(t testing.TB) *Balancer {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", FreeAddress(t))
	OK(t, err)
	ctx, stop := context.WithCancel(context.Background())
	b := &Balancer{
		Address: listener.Addr().String(), listener: listener, stop: stop, open: map[net.Conn]bool{},
		client: newClient(&http.Transport{}),
	}
	b.parts.Go(func() { b.accept(ctx) })
	t.Cleanup(b.close)
	return b
}

// Add puts a Portico behind the balancer, and returns once the balancer has seen it
// ready.
func (b *Balancer) Add(t testing.TB, p *Portico) {
	t.Helper()
	s := &backend{address: p.file.Listen, readyURL: p.AdminURL + "/readyz"}
	b.mu.Lock()
	b.backends = append(b.backends, s)
	b.mu.Unlock()
	ctx, cancel := context.WithCancel(context.Background())
	b.parts.Go(func() { b.watch(ctx, s) })
	t.Cleanup(cancel)
	b.Await(t, p)
}

// Await returns once the balancer has seen a Portico ready.
func (b *Balancer) Await(t testing.TB, p *Portico) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), startBound)
	defer cancel()
	for !b.isReady(p) {
		select {
		case <-ctx.Done():
			t.Fatal("the balancer has not found Portico ready")
		case <-time.After(balancerPolls):
		}
	}
}

func (b *Balancer) isReady(p *Portico) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.backends {
		if s.address == p.file.Listen {
			return s.ready
		}
	}
	return false
}

func (b *Balancer) watch(ctx context.Context, s *backend) {
	for {
		ready := b.ask(ctx, s.readyURL)
		b.mu.Lock()
		s.ready = ready
		b.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-time.After(balancerPolls):
		}
	}
}

func (b *Balancer) ask(ctx context.Context, url string) bool {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return false
	}
	answer, err := b.client.Do(r)
	if err != nil {
		return false
	}
	_ = answer.Body.Close()
	return answer.StatusCode == http.StatusOK
}

func (b *Balancer) accept(ctx context.Context) {
	for {
		from, err := b.listener.Accept()
		if err != nil {
			return // closed
		}
		b.parts.Go(func() { b.forward(ctx, from) })
	}
}

// forward connects a connection with one to a Portico, until either ends.
func (b *Balancer) forward(ctx context.Context, from net.Conn) {
	defer b.forget(from)
	if !b.remember(from) {
		return
	}
	address := b.choose()
	if address == "" {
		return
	}
	to, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return
	}
	defer b.forget(to)
	if !b.remember(to) {
		return
	}
	var ways sync.WaitGroup
	for _, way := range [][2]net.Conn{{from, to}, {to, from}} {
		ways.Go(func() {
			_, _ = io.Copy(way[1], way[0]) // either end may close at any time
			if c, ok := way[1].(*net.TCPConn); ok {
				_ = c.CloseWrite()
			}
		})
	}
	ways.Wait()
}

func (b *Balancer) choose() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	for range b.backends {
		b.next++
		if s := b.backends[b.next%len(b.backends)]; s.ready {
			return s.address
		}
	}
	return ""
}

// remember records a connection for the end; it returns false after the end.
func (b *Balancer) remember(c net.Conn) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open == nil {
		return false
	}
	b.open[c] = true
	return true
}

func (b *Balancer) forget(c net.Conn) {
	_ = c.Close()
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.open, c)
}

func (b *Balancer) close() {
	b.stop()
	_ = b.listener.Close()
	b.mu.Lock()
	for c := range b.open {
		_ = c.Close()
	}
	b.open = nil
	b.mu.Unlock()
	b.parts.Wait()
	b.client.CloseIdleConnections()
}
