package server

import (
	"context"
	"io"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"portico/internal/connections"
)

// refusing answers by the status in the path, without a look at the content.
func refusing(w http.ResponseWriter, r *http.Request) {
	status := map[string]int{"/400": 400, "/401": 401, "/404": 404, "/413": 413, "/429": 429}[r.URL.Path]
	w.WriteHeader(status)
	_, _ = io.WriteString(w, "no")
}

// measuring is refusing for one that reads to find out how much there is.
func measuring(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, http.MaxBytesReader(w, r.Body, 4<<20))
	w.WriteHeader(http.StatusRequestEntityTooLarge)
	_, _ = io.WriteString(w, "no")
}

// A client that writes all of its content before it reads gets the refusal.
func TestClientsThatWriteFirst(t *testing.T) {
	t.Parallel()
	const limit = 4 << 20
	large := strings.Repeat("x", 64<<20)
	chunked := func(n int) string {
		return "PUT /413 HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" + strings.Repeat("10000\r\n"+large[:64<<10]+"\r\n", n/(64<<10)) + "0\r\n\r\n"
	}
	sized := func(path string, n int) string { return strings.Replace(put(large[:n]), "/a", path, 1) }
	for name, change := range map[string]func(*site){"plain": func(*site) {}, "TLS": withTLS(t)} {
		for _, c := range []struct {
			name    string
			handler http.HandlerFunc
			sent    string
			status  int
		}{
			{"just too large", refusing, sized("/413", limit+1), 413},
			{"far too large", refusing, sized("/413", len(large)), 413},
			{"chunked", refusing, chunked(len(large)), 413},
			{"chunked, and read up to the limit", measuring, chunked(len(large)), 413},
			{"not signed in", refusing, sized("/401", 8<<20), 401},
			{"throttled", refusing, sized("/429", 8<<20), 429},
			{"unknown", refusing, sized("/404", 8<<20), 404},
			{"malformed", refusing, sized("/400", 8<<20), 400},
			{"no request", refusing, strings.Replace(sized("/400", 8<<20), "Host: h", "Host h", 1), 400},
		} {
			t.Run(name+", "+c.name, func(t *testing.T) {
				t.Parallel()
				s := start(t, c.handler, change)
				client := s.dial(t)
				client.send(c.sent) // which fails the test if it fails
				want := "no"
				if c.name == "no request" {
					want = "*"
				}
				if got := client.want(c.status, want); !got.close {
					t.Error("the answer does not say that the connection ends")
				}
				client.wantEnd()
			})
		}
	}
}

// dribble sends a refused request, and then its content byte by byte until the
// connection ends. The returned channel is closed then.
func (s *site) dribble(t *testing.T) <-chan struct{} {
	t.Helper()
	c := s.dial(t)
	c.send("PUT /413 HTTP/1.1\r\nHost: h\r\nContent-Length: 100000000\r\n\r\n")
	c.want(413, "no")
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			if _, err := c.Write([]byte("x")); err != nil {
				return
			}
			time.Sleep(20 * time.Millisecond)
		}
	}()
	return ended
}

// A server that shuts down does not wait for what clients still send.
func TestShutdownEndsLingering(t *testing.T) {
	t.Parallel()
	s := start(t, refusing)
	ended := s.dribble(t)
	ctx, cancel := context.WithTimeout(t.Context(), lingerTime/2)
	defer cancel()
	if err := s.Shutdown(ctx); err != nil {
		t.Error(err)
	}
	<-ended
}

// Only so many connections linger for long. The listener counts those that do.
func TestLingeringIsBounded(t *testing.T) {
	t.Parallel()
	const most = 2
	refused := make(chan string, 100)
	table := connections.New(connections.Options{
		MaxConnections: most + 1, MaxPerAddress: most + 1, IdleUnauthenticated: time.Minute,
		Trusted: func(netip.Addr) bool { return false }, OnRefused: func(reason string) { refused <- reason },
	})
	s := start(t, refusing, func(s *site) { s.mostLingering, s.table = most, table })
	var ends []<-chan struct{}
	for range most {
		ends = append(ends, s.dribble(t))
	}
	await(t, "connections that linger", func() bool { return s.lingering.Load() == most })
	<-s.dribble(t) // which ends soon, and the others do not
	for _, end := range ends {
		select {
		case <-end:
			t.Error("a connection that may linger has ended")
		default:
		}
	}
	idle := s.dial(t)
	idle.send(strings.Replace(get, "/a", "/404", 1))
	await(t, "all places taken", func() bool { return table.Count() == most+1 })
	_, _ = s.dial(t).Read(make([]byte, 1)) // it has no place
	if reason := <-refused; reason != connections.ReasonAddressFull {
		t.Errorf("refused for %s", reason)
	}
}
