package hostile

import (
	"fmt"
	"io"
	"strings"
	"testing"
)

// Handshakes that fail are closed, counted and hardly logged; one that stalls ends like
// any unauthenticated connection.
func TestHandshakesThatFail(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{TLS: true, Server: "  connections: {idleUnauthenticated: 2s}\n"})
	const number = 50
	for i := range number {
		s := w.socket(t, w.Portico.URL, "127.0.0.1")
		if _, err := fmt.Fprintf(s, "no handshake at all, which is number %d", i); err != nil {
			t.Fatal(err)
		}
		if err := s.closed(); err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
	silent, part := w.socket(t, w.Portico.URL, "127.0.0.1"), w.socket(t, w.Portico.URL, "127.0.0.1")
	if _, err := io.WriteString(part, "\x16\x03\x01\x02\x00\x01"); err != nil { // a hello begins
		t.Fatal(err)
	}
	afterwards := w.secured(t)
	for name, s := range map[string]socket{"silent": silent, "a part of a handshake": part, "a handshake alone": afterwards} {
		if err := s.closed(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	w.secured(t).wantAnswer(t, "after all those", 200, subscriptionGET(w, alice.Raw)...)
	failed := w.metric(t, `portico_connections_refused_total{listener="public",reason="handshake"}`)
	ended := w.metric(t, `portico_connections_refused_total{listener="public",reason="unauthenticated"}`)
	if failed != fmt.Sprint(number) || ended != "3" {
		t.Errorf("metrics say: %s failed, %s ended", failed, ended)
	}
	if lines := strings.Count(w.Portico.Log(), "handshake"); lines > 3 { // a minute has one
		t.Errorf("%d lines of the log", lines)
	}
}
