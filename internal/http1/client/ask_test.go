package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"
)

// warm is the path of a call after which its connection is used again.
const warm = "/warm"

// warmed answers the calls of warm, and leaves others to a script.
func warmed(other func(conn net.Conn, q *http.Request)) script {
	return func(_ int64, conn net.Conn, requests *requests) {
		for {
			q, ok := requests.next()
			if !ok {
				return
			}
			if q.URL.Path != warm {
				other(conn, q)
				return
			}
			if _, err := io.WriteString(conn, empty); err != nil {
				return
			}
		}
	}
}

func warmUp(t *testing.T, c *Client) {
	t.Helper()
	if r := readAll(c.Do(t.Context(), &Request{Method: http.MethodGet, Path: warm})); r.err != nil {
		t.Fatal(r.err)
	}
}

// An answer is read alike whether its connection is new or was used before.
func TestUsedConnectionsReadAsNewOnes(t *testing.T) {
	for i, answer := range oddAnswers() {
		if answer == "" {
			continue // the read would be repeated
		}
		p := newPeer(t, warmed(func(conn net.Conn, _ *http.Request) { _, _ = io.WriteString(conn, answer) }))
		c := p.client(t)
		first := c.get(http.MethodGet)
		warmUp(t, c)
		used := c.get(http.MethodGet)
		if fmt.Sprint(first.err) != fmt.Sprint(used.err) {
			t.Errorf("%d: %.60q: %v on a new connection, %v on a used one", i, answer, first.err, used.err)
		}
		first.err, used.err = nil, nil
		if !reflect.DeepEqual(first, used) { //nolint:govet // neither has an error any more
			t.Errorf("%d: %.60q: %+v on a new connection, %+v on a used one", i, answer, first, used)
		}
	}
}

// What a socket does not take at once leaves nevertheless, and so does what comes in
// pieces.
func TestLargeHeadOnAUsedConnection(t *testing.T) {
	const size = 16 << 20
	p := newPeer(t, func(_ int64, conn net.Conn, requests *requests) {
		_, _ = requests.next()
		_, _ = io.WriteString(conn, empty)
		// net/http would refuse a head of this size.
		for seen := 0; seen < size; {
			n, err := requests.Discard(1 << 10)
			if seen += n; err != nil {
				return
			}
		}
		for _, piece := range []string{"HTTP/1.1 2", "00 OK\r\nContent-", "Length: 2\r\n\r\nh", "i"} {
			_, _ = io.WriteString(conn, piece)
			time.Sleep(5 * time.Millisecond)
		}
	})
	c := p.client(t)
	warmUp(t, c)
	r := readAll(c.Do(t.Context(), &Request{Method: http.MethodGet, Path: "/", Header: http.Header{"X": {strings.Repeat("x", size)}}}))
	if r.err != nil || string(r.body) != "hi" {
		t.Errorf("got %d %q, %v", r.status, r.body, r.err)
	}
}

// A call on a used connection ends with its deadline, and with its context.
func TestCallsOnUsedConnectionsEnd(t *testing.T) {
	t.Parallel()
	for name, within := range map[string]time.Duration{"short": 100 * time.Millisecond, "long": watchFrom + 100*time.Millisecond, "cancelled": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			received := make(chan struct{}, 1)
			p := newPeer(t, warmed(func(conn net.Conn, _ *http.Request) {
				received <- struct{}{}
				_, _ = conn.Read(make([]byte, 1)) // until the call ends
			}))
			c := p.client(t)
			warmUp(t, c)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			request, want := &Request{Method: http.MethodGet, Path: "/"}, context.Canceled
			if within > 0 {
				request.Deadline, want = time.Now().Add(within), context.DeadlineExceeded
			} else {
				go func() { <-received; cancel() }()
			}
			r := readAll(c.Do(ctx, request))
			if !errors.Is(r.err, want) || time.Now().Before(request.Deadline) || c.pool.open != 0 {
				t.Errorf("got %+v, %d connections are open", r, c.pool.open)
			}
		})
	}
}
