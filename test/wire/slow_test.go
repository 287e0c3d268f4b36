package wire

import (
	"context"
	"fmt"
	"io"
	"net"
	"testing"
	"time"

	"portico/test/harness"
)

// slowClients are connections that send a byte now and then, or nothing, and one that
// does not read.
type slowClients struct {
	closed map[string]chan error // why each ended, nil if the gateway closed it
}

// startSlowClients opens them all. The bound only ends the test; it does not measure
// the gateway.
func startSlowClients(t *testing.T, w *world) slowClients {
	const bound = 8 * time.Minute
	ctx, cancel := context.WithTimeout(context.Background(), bound)
	g := w.group(t, "slow")
	target := g + "/providers/Contoso.Raw/things/slow?" + V
	head := "PUT " + target + " HTTP/1.1\r\nHost: " + w.address + "\r\nContent-Type: application/json\r\n"
	admin := "PUT /admin/subscriptions/00000000-0000-0000-0000-0000000000f5 HTTP/1.1\r\nHost: " + w.admin + "\r\n"
	s := slowClients{closed: map[string]chan error{}}
	for name, c := range map[string]struct {
		begin string // sent at once
		then  string // sent a byte at a time
		admin bool   // to the admin listener
	}{
		"nothing at all":       {},
		"a request line":       {begin: "GET ", then: target},
		"headers":              {begin: head + "X-Slow: ", then: "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"},
		"a body":               {begin: head + "Content-Length: 1000\r\n\r\n", then: located("westus")},
		"a body, chunked":      {begin: head + "Transfer-Encoding: chunked\r\n\r\n", then: "40\r\n" + located("westus")},
		"a body, 100-continue": {begin: head + "Expect: 100-continue\r\nContent-Length: 1000\r\n\r\n"},
		"after an answer":      {begin: "GET " + g + "?" + V + " HTTP/1.1\r\nHost: " + w.address + "\r\n\r\n"},
		"an operator's body":   {begin: admin + "Content-Length: 1000\r\n\r\n", then: `{"tenantId": "x", "displayName": "y"}`, admin: true},
	} {
		address := w.address
		if c.admin {
			address = w.admin
		}
		conn, err := net.DialTimeout("tcp", address, patience)
		harness.OK(t, err)
		closed := make(chan error, 1)
		s.closed[name] = closed
		go func() { closed <- dribble(ctx, conn, c.begin, c.then) }()
	}
	machine := w.machine(t, g, "heard", "westus")
	deaf, err := net.DialTimeout("tcp", w.address, patience)
	harness.OK(t, err)
	ignored := make(chan error, 1)
	s.closed["an answer"] = ignored
	go func() {
		ignored <- ignore(ctx, deaf, "GET "+machine+"?"+V+" HTTP/1.1\r\nHost: "+w.address+"\r\nx-contoso-fault: big=7000000\r\n\r\n")
	}()
	w.awaits(t, "GET", machine) // so that it does not mix with others' requests
	t.Cleanup(func() {
		cancel()
		for _, closed := range s.closed {
			<-closed
		}
	})
	return s
}

// dribble sends begin, then a byte of rest every ten seconds. It returns nil if the
// other side closes, else when ctx ends.
func dribble(ctx context.Context, conn net.Conn, begin, rest string) error {
	if _, err := io.WriteString(conn, begin); err != nil {
		return fmt.Errorf("sending the beginning: %w", err)
	}
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_, _ = io.Copy(io.Discard, conn) // until the end, of whatever kind
	}()
	defer func() { _ = conn.Close(); <-closed }()
	tick := time.NewTicker(10 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-closed:
			return nil
		case <-ctx.Done():
			return fmt.Errorf("still open: %w", ctx.Err())
		case <-tick.C:
			if rest != "" {
				_, _ = io.WriteString(conn, rest[:1]) // the reader reports the failure too
				rest = rest[1:]
			}
		}
	}
}

// ignore sends a request and reads nothing of its answer. It returns nil if the other
// side closes, which a write's failure shows, else when ctx ends.
func ignore(ctx context.Context, conn net.Conn, request string) error {
	defer func() { _ = conn.Close() }()
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetReadBuffer(4 << 10)
	}
	if _, err := io.WriteString(conn, request); err != nil {
		return fmt.Errorf("sending the request: %w", err)
	}
	tick := time.NewTicker(5 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return fmt.Errorf("still open: %w", ctx.Err())
		case <-tick.C:
			if _, err := io.WriteString(conn, "G"); err != nil {
				return nil // this is the expected end
			}
		}
	}
}

// S3: none of them holds its connection for ever, and no partial request reaches a
// provider.
func (s slowClients) test(t *testing.T, w *world) {
	for name, closed := range s.closed {
		t.Run("S3 "+name, func(t *testing.T) {
			err := <-closed
			closed <- nil // for the end of the test
			if err != nil {
				t.Error(err)
			}
		})
	}
	for _, p := range w.scripted {
		if p.everSaw("/things/slow") {
			t.Errorf("%s got a request of which only a part was ever sent", p.region)
		}
	}
}
