package connections

import (
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Reasons for refusing or closing a connection.
const (
	ReasonFull            = "all"             // the table is full, and no address has more connections
	ReasonAddressFull     = "address"         // its address has too many
	ReasonDisplaced       = "displaced"       // evicted for an address with fewer
	ReasonUnauthenticated = "unauthenticated" // idle, or without a first request
	ReasonHandshake       = "handshake"       // the TLS handshake failed
)

// Reasons returns all reasons.
func Reasons() []string {
	return []string{ReasonFull, ReasonAddressFull, ReasonDisplaced, ReasonUnauthenticated, ReasonHandshake}
}

// Options configure a [Table].
type Options struct {
	MaxConnections int // connections at a time
	MaxPerAddress  int // from one address; IPv6 addresses count by their /64
	// IdleUnauthenticated bounds how long a connection without an authenticated
	// request waits for the next one.
	IdleUnauthenticated time.Duration
	// Trusted reports whether an address belongs to a trusted proxy.
	Trusted func(netip.Addr) bool
	// Describe, unless nil, returns the answer to a request without TLS on a
	// TLS listener.
	Describe Describer
	// OnRefused is called when a connection is refused or closed.
	OnRefused func(reason string)
}

// Table holds the connections of a listener. It is safe for concurrent use.
type Table struct {
	options Options

	mu        sync.Mutex
	count     int
	addresses map[netip.Prefix]*address
	ranks     map[int]map[*address]struct{} // untrusted addresses, by number of connections
	maxRank   int                           // the highest rank in use
}

// address holds the connections of one client address or prefix.
type address struct {
	prefix  netip.Prefix
	trusted bool
	open    []*conn // oldest first
}

// New returns an empty table.
func New(o Options) *Table {
	return &Table{options: o, addresses: map[netip.Prefix]*address{}, ranks: map[int]map[*address]struct{}{}}
}

// Count returns the number of open connections.
func (t *Table) Count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.count
}

// admit adds a connection to the table, or returns nil if it is refused.
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

// origin returns the prefix under which a remote address is counted.
func (t *Table) origin(remote net.Addr) (prefix netip.Prefix, trusted bool) {
	tcp, ok := remote.(*net.TCPAddr)
	if !ok {
		return netip.Prefix{}, false
	}
	ip := tcp.AddrPort().Addr().Unmap().WithZone("")
	if t.options.Trusted(ip) {
		return netip.PrefixFrom(ip, ip.BitLen()), true
	}
	return Network(ip), false
}

// Network returns the network of a single client: an IPv4 address, or the /64
// of an IPv6 one.
func Network(ip netip.Addr) netip.Prefix {
	ip = ip.Unmap().WithZone("")
	bits := ip.BitLen()
	if ip.Is6() {
		bits = 64
	}
	prefix, _ := ip.Prefix(bits) // the size fits an address
	return prefix
}

// evictionCandidate returns the connection to evict for a new one from an address; nil
// if no other address has more connections than that one would have.
func (t *Table) evictionCandidate(to *address) *conn {
	has := len(to.open) + 1
	if to.trusted {
		has = 1 // a proxy carries many clients
	}
	if t.maxRank <= has {
		return nil
	}
	for from := range t.ranks[t.maxRank] {
		return from.firstToEvict()
	}
	return nil
}

// firstToEvict returns the newest unauthenticated connection, else the newest.
func (a *address) firstToEvict() *conn {
	for _, c := range slices.Backward(a.open) {
		if !c.authenticated.Load() {
			return c
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

// remove removes a connection from the table and reports whether it was in it.
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

// updateRank keeps the ranks consistent while change adds or removes a connection of
// an address.
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
