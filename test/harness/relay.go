package harness

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"
)

// Relay is another address of a server: it forwards connections, byte for byte. It can
// stop while the server runs.
type Relay struct {
	URL string

	address, target string
	wait            sync.WaitGroup

	mu       sync.Mutex
	listener net.Listener
	open     map[net.Conn]bool
	accepted int
	runs     bool
}

// StartRelay runs a relay to the server of a URL until the test ends.
func StartRelay(t testing.TB, url string) *Relay {
	t.Helper()
	r := &Relay{address: FreeAddress(t), target: strings.TrimPrefix(url, "http://"), open: map[net.Conn]bool{}}
	r.URL = "http://" + r.address
	r.Restart(t)
	t.Cleanup(r.Kill)
	return r
}

// Restart runs the relay again, after [Relay.Kill], on the same address.
func (r *Relay) Restart(t testing.TB) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", r.address)
	OK(t, err)
	r.mu.Lock()
	r.listener, r.runs = listener, true
	r.mu.Unlock()
	r.wait.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			r.wait.Go(func() { r.forward(conn) })
		}
	})
}

// Kill refuses connections from now on, and resets the existing ones.
func (r *Relay) Kill() {
	r.mu.Lock()
	r.runs = false
	_ = r.listener.Close()
	for conn := range r.open {
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		_ = conn.Close()
	}
	r.mu.Unlock()
	r.wait.Wait()
}

// Open is the number of connections that are open.
func (r *Relay) Open() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.open) / 2
}

// Accepted is the number of connections so far.
func (r *Relay) Accepted() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.accepted
}

func (r *Relay) forward(front net.Conn) {
	back, err := net.Dial("tcp", r.target)
	if err != nil {
		_ = front.Close()
		return
	}
	r.mu.Lock()
	if !r.runs {
		_, _ = front.Close(), back.Close()
		r.mu.Unlock()
		return
	}
	r.accepted++
	r.open[front], r.open[back] = true, true
	r.mu.Unlock()
	var both sync.WaitGroup
	for from, to := range map[net.Conn]net.Conn{front: back, back: front} {
		both.Go(func() {
			_, _ = io.Copy(to, from)
			_ = to.Close() // one half is useless without the other
		})
	}
	both.Wait()
	r.mu.Lock()
	delete(r.open, front)
	delete(r.open, back)
	r.mu.Unlock()
}
