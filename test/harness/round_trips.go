package harness

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// RoundTrip is one wait of a client for PostgreSQL: it has sent messages that end in
// Sync or Query, and goes on when the server is ready. Messages that are sent before
// the server is ready belong to the same one.
type RoundTrip struct {
	Started, Ended time.Time
	Statements     []string // as they were executed
}

// RoundTrips is one more address of a PostgreSQL server, which notes the round trips
// of all connections. The beginning of a connection is not noted, nor is what a driver
// does once on each: asking the server to prepare a statement that it does not run yet.
type RoundTrips struct {
	Address string // host:port

	wait  sync.WaitGroup
	mu    sync.Mutex
	trips []RoundTrip
}

// StartRoundTrips runs an address for a server until the test ends. Connections to it
// must not be encrypted.
func StartRoundTrips(t testing.TB, server string) *RoundTrips {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	OK(t, err)
	r := &RoundTrips{Address: listener.Addr().String()}
	var mu sync.Mutex
	var open []net.Conn
	r.wait.Go(func() {
		for {
			front, err := listener.Accept()
			if err != nil {
				return
			}
			back, err := net.Dial("tcp", server)
			if err != nil {
				_ = front.Close()
				continue
			}
			mu.Lock()
			open = append(open, front, back)
			mu.Unlock()
			r.wait.Go(func() { r.carry(front, back) })
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		mu.Lock()
		for _, conn := range open {
			_ = conn.Close()
		}
		mu.Unlock()
		r.wait.Wait()
	})
	return r
}

// Take returns the round trips that have ended since the last call, in the order of
// their beginnings.
func (r *RoundTrips) Take() []RoundTrip {
	r.mu.Lock()
	defer r.mu.Unlock()
	taken := r.trips
	r.trips = nil
	slices.SortFunc(taken, func(a, b RoundTrip) int { return a.Started.Compare(b.Started) })
	return taken
}

// InSequence returns how many of the round trips one can have waited for the other:
// those that overlap count once.
func InSequence(trips []RoundTrip) int {
	byEnd := slices.SortedFunc(slices.Values(trips), func(a, b RoundTrip) int { return a.Ended.Compare(b.Ended) })
	n, last := 0, time.Time{}
	for _, trip := range byEnd {
		if trip.Started.After(last) {
			n, last = n+1, trip.Ended
		}
	}
	return n
}

// pgConn is one connection, read along in both directions.
type pgConn struct {
	all *RoundTrips

	mu       sync.Mutex
	prepared map[string]string // the texts of statements by their names
	trip     RoundTrip
	waiting  int // how many Syncs and Queries the server has not answered
}

func (r *RoundTrips) carry(front, back net.Conn) {
	c := &pgConn{all: r, prepared: map[string]string{}}
	var both sync.WaitGroup
	both.Go(func() {
		_ = copyMessages(front, back, false, c.answered)
		_ = front.Close() // no half is of use without the other
	})
	_ = copyMessages(back, front, true, c.sent)
	_ = back.Close()
	both.Wait()
}

// copyMessages copies a stream, and notes each message before it goes on. The client's
// first message, the startup, has no kind.
func copyMessages(to io.Writer, from io.Reader, startup bool, note func(kind byte, body []byte)) error {
	var pending []byte
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return err
		}
		pending = append(pending, buffer[:n]...)
		for {
			head := 5
			if startup {
				head = 4
			}
			if len(pending) < head {
				break
			}
			end := head - 4 + int(binary.BigEndian.Uint32(pending[head-4:]))
			if len(pending) < end {
				break
			}
			if !startup {
				note(pending[0], pending[head:end])
			}
			startup = false
			pending = pending[end:]
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return err
		}
	}
}

// sent notes a message of the client.
func (c *pgConn) sent(kind byte, body []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.trip.Started.IsZero() {
		c.trip.Started = time.Now()
	}
	switch kind {
	case 'P': // Parse
		c.prepared[text(&body)] = text(&body)
	case 'B': // Bind
		text(&body) // the portal
		c.run(c.prepared[text(&body)])
	case 'Q': // Query
		c.run(text(&body))
		c.waiting++
	case 'S': // Sync
		c.waiting++
	}
}

func (c *pgConn) run(statement string) {
	c.trip.Statements = append(c.trip.Statements, strings.Join(strings.Fields(statement), " "))
}

// answered notes a message of the server.
func (c *pgConn) answered(kind byte, _ []byte) {
	const readyForQuery = 'Z'
	if kind != readyForQuery {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.waiting--; c.waiting > 0 {
		return
	}
	trip := c.trip
	c.trip, c.waiting = RoundTrip{}, 0
	if len(trip.Statements) == 0 || slices.ContainsFunc(trip.Statements, beginsConnection) {
		return
	}
	trip.Ended = time.Now()
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	c.all.trips = append(c.all.trips, trip)
}

// beginsConnection reports whether a statement is one of those that follow the startup
// of a connection.
func beginsConnection(statement string) bool {
	return strings.HasPrefix(statement, "show transaction_read_only") || strings.HasPrefix(statement, "SELECT set_config('synchronous_commit'")
}

// text takes a text that ends in NUL from the front of a message.
func text(body *[]byte) string {
	before, after, _ := bytes.Cut(*body, []byte{0})
	*body = after
	return string(before)
}
