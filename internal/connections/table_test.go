package connections

import (
	"net"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// wire is a connection without a peer.
type wire struct {
	net.Conn
	from   string
	closed bool
}

func (w *wire) RemoteAddr() net.Addr { return net.TCPAddrFromAddrPort(netip.MustParseAddrPort(w.from)) }
func (w *wire) Close() error         { w.closed = true; return nil }

func trusted(a netip.Addr) bool { return a == netip.MustParseAddr("192.0.2.9") }

// In any order of events the table keeps its bounds, counts the open connections, and
// evicts no connection for an address that has as many.
func TestTable(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const all, perAddress = 7, 4
		table := New(Options{MaxConnections: all, MaxPerAddress: perAddress, IdleUnauthenticated: time.Hour, Trusted: trusted, OnRefused: func(string) {}})
		var open []*conn
		held := func(prefix netip.Prefix) (n int) {
			for _, c := range open {
				if c.from.prefix == prefix {
					n++
				}
			}
			return n
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			if len(open) > 0 && rapid.IntRange(0, 3).Draw(t, "close") == 0 {
				i := rapid.IntRange(0, len(open)-1).Draw(t, "which")
				_ = open[i].Close()
				_ = open[i].Close() // net/http may close twice
				open = append(open[:i], open[i+1:]...)
				continue
			}
			from := rapid.SampledFrom([]string{"192.0.2.1:1", "192.0.2.2:1", "[::ffff:192.0.2.2]:2", "192.0.2.9:1", "[2001:db8::1]:1", "[2001:db8::2]:1", "[2001:db8:0:1::1]:1"}).Draw(t, "from")
			before := len(open)
			prefix, proxy := table.origin((&wire{from: from}).RemoteAddr())
			had := held(prefix)
			c := table.admit(&wire{from: from})
			kept := open[:0:0]
			for _, o := range open {
				if !o.Conn.(*wire).closed {
					kept = append(kept, o)
					continue
				}
				if n := held(o.from.prefix); o.from.trusted || !proxy && n <= had+1 {
					t.Fatalf("%s with %d gave way to %s with %d", o.from.prefix, n, prefix, had)
				}
			}
			open = kept
			if len(open) < before && (c == nil || before < all) {
				t.Fatal("a connection was closed for nothing")
			}
			if c == nil && before < all && (proxy || had < perAddress) {
				t.Fatalf("%s was refused, of %d open with %d", from, before, had)
			}
			if c != nil {
				table.ConnState(c, http.StateNew)
				open = append(open, c)
			}
			if len(open) > all || !proxy && held(prefix) > perAddress || table.Count() != len(open) {
				t.Fatalf("%d open, %d of %s, counted as %d", len(open), held(prefix), prefix, table.Count())
			}
		}
		for _, c := range open {
			_ = c.Close()
		}
		if table.Count() != 0 || len(table.addresses) > 0 || len(table.ranks) > 0 || table.maxRank != 0 {
			t.Fatalf("left: %+v", table)
		}
	})
}

// The idle bound closes a connection that waits for a request, but not one that has a
// request, nor one with an authenticated request.
func TestIdle(t *testing.T) {
	refused := make(chan string, 10)
	table := New(Options{MaxConnections: 10, MaxPerAddress: 10, IdleUnauthenticated: time.Millisecond, Trusted: trusted, OnRefused: func(reason string) { refused <- reason }})
	silent, busy, known := table.admit(&wire{from: "192.0.2.1:1"}), table.admit(&wire{from: "192.0.2.1:2"}), table.admit(&wire{from: "192.0.2.1:3"})
	Authenticated(table.ConnContext(t.Context(), known))
	Authenticated(t.Context()) // a connection of no table
	table.ConnState(busy, http.StateActive)
	table.ConnState(known, http.StateIdle)
	table.ConnState(silent, http.StateNew)
	if reason := <-refused; reason != ReasonUnauthenticated || table.Count() != 2 {
		t.Errorf("%s, %d open", reason, table.Count())
	}
	table.ConnState(silent, http.StateIdle) // late: the connection is already closed
	if silent.idle != nil || busy.idle != nil || known.idle != nil {
		t.Error("a connection waits to be closed that must not")
	}
}
