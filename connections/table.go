package connections

import (
	"net"
	"net/netip"
	"sync"
	"time"
)

// Reasons for which a connection was refused or closed.
const (
	ReasonFull            = "all"             // and nobody has more than the newcomer
	ReasonAddressFull     = "address"         // that it comes from
	ReasonDisplaced       = "displaced"       // by one from an address with fewer
	ReasonUnauthenticated = "unauthenticated" // idle, or silent from the start
	ReasonHandshake       = "handshake"       // of TLS, which failed
)

// Reasons are all of them.
func Reasons() []string {
	return []string{ReasonFull, ReasonAddressFull, ReasonDisplaced, ReasonUnauthenticated, ReasonHandshake}
}

// Options of a [Table].
type Options struct {
	MaxConnections int // connections at a time
	MaxPerAddress  int // of them, from one address; IPv6 addresses count by their /64
	// IdleUnauthenticated is how long a connection stays that waits for a request
	// while none over it was authenticated.
	IdleUnauthenticated time.Duration
	// Trusted reports whether an address is that of a trusted proxy.
	Trusted func(netip.Addr) bool
	// Refused is told why a connection was refused or closed.
	OnRefused func(reason string)
}

// Table holds the connections of a listener. It is safe for concurrent use.
type Table struct {
	options Options

	mu        sync.Mutex
	count     int
	addresses map[netip.Prefix]*address
	ranks     map[int]map[*address]struct{} // addresses that may have to give way, by their connections
	maxRank   int                           // the highest rank
}

// address is where connections come from.
type address struct {
	prefix  netip.Prefix
	trusted bool
	open    []*conn // the newest last
}

// New makes a table.
func New(o Options) *Table {
	return &Table{options: o, addresses: map[netip.Prefix]*address{}, ranks: map[int]map[*address]struct{}{}}
}

// Listen returns a listener of HTTP/1.x whose connections the table bounds.
func (t *Table) Listen(l net.Listener) net.Listener { return &listener{l, t} }

type listener struct {
	net.Listener
	table *Table
}

// Accept implements [net.Listener].
func (l *listener) Accept() (net.Conn, error) {
	c, err := l.acceptAdmitted()
	if err != nil {
		return nil, err
	}
	return &scannedConn{Conn: c}, nil
}

// admitted accepts a connection. Those that are refused are closed at once.
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

// Count is how many connections are open.
func (t *Table) Count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.count
}

// admit takes a connection in, or returns nil.
func (t *Table) admit(c net.Conn) *conn {
	admitted, displaced, reason := t.insert(c)
	if displaced != nil {
		_ = displaced.Conn.Close() // it has left the table
	}
	if reason != "" {
		t.options.OnRefused(reason)
	}
	return admitted
}

func (t *Table) insert(c net.Conn) (admitted, displaced *conn, reason string) {
	prefix, trusted := t.origin(c.RemoteAddr())
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.addresses[prefix]
	if a == nil {
		a = &address{prefix: prefix, trusted: trusted}
	}
	if !a.trusted && len(a.open) >= t.options.MaxPerAddress {
		return nil, nil, ReasonAddressFull
	}
	if t.count >= t.options.MaxConnections {
		if displaced = t.evictionCandidate(a); displaced == nil {
			return nil, nil, ReasonFull
		}
		t.remove(displaced)
		reason = ReasonDisplaced
	}
	admitted = &conn{Conn: c, table: t, from: a, open: true}
	t.add(admitted)
	return admitted, displaced, reason
}

// origin is what the connections of a remote address count for.
func (t *Table) origin(remote net.Addr) (prefix netip.Prefix, trusted bool) {
	tcp, ok := remote.(*net.TCPAddr)
	if !ok {
		return netip.Prefix{}, false
	}
	ip := tcp.AddrPort().Addr().Unmap().WithZone("")
	bits := ip.BitLen()
	if trusted = t.options.Trusted(ip); !trusted && ip.Is6() {
		bits = 64 // what a single client is given
	}
	prefix, _ = ip.Prefix(bits)
	return prefix, trusted
}

// givesWay finds the connection that makes room for one from an address; nil
// where none has more connections than that would have then.
func (t *Table) evictionCandidate(to *address) *conn {
	has := len(to.open) + 1
	if to.trusted {
		has = 1 // they are those of many
	}
	if t.maxRank <= has {
		return nil
	}
	for from := range t.ranks[t.maxRank] {
		return from.firstToEvict()
	}
	return nil
}

// newest is the connection that an address loses first.
func (a *address) firstToEvict() *conn {
	for i := len(a.open) - 1; i >= 0; i-- {
		if !a.open[i].authenticated.Load() {
			return a.open[i]
		}
	}
	return a.open[len(a.open)-1]
}

func (t *Table) add(c *conn) {
	t.count++
	a := c.from
	t.addresses[a.prefix] = a
	t.updateRank(a, func() { a.open = append(a.open, c) })
}

// remove takes a connection out of the table, if it is still in it.
func (t *Table) remove(c *conn) bool {
	if !c.open {
		return false
	}
	c.open = false
	c.clearIdleTimer()
	t.count--
	a := c.from
	t.updateRank(a, func() {
		for i, other := range a.open {
			if other == c {
				a.open = append(a.open[:i], a.open[i+1:]...)
				break
			}
		}
	})
	if len(a.open) == 0 {
		delete(t.addresses, a.prefix)
	}
	return true
}

// rank keeps the ranks true while an address gets or loses a connection.
func (t *Table) updateRank(a *address, change func()) {
	if a.trusted {
		change()
		return
	}
	if before := t.ranks[len(a.open)]; before != nil {
		delete(before, a)
		if len(before) == 0 {
			delete(t.ranks, len(a.open))
		}
	}
	change()
	if n := len(a.open); n > 0 {
		if t.ranks[n] == nil {
			t.ranks[n] = map[*address]struct{}{}
		}
		t.ranks[n][a] = struct{}{}
		t.maxRank = max(t.maxRank, n)
	}
	for t.maxRank > 0 && t.ranks[t.maxRank] == nil {
		t.maxRank--
	}
}
