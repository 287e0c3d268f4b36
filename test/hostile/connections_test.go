package hostile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"portico/test/harness"
)

// socket is a connection of the public listener, or of the admin listener.
type socket struct {
	net.Conn
	read *bufio.Reader
}

// socket opens a connection from a loopback address.
func (w world) socket(t *testing.T, base, from string) socket {
	t.Helper()
	dialer := net.Dialer{Timeout: patience, LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	c, err := dialer.DialContext(t.Context(), "tcp", base[strings.Index(base, "//")+2:])
	harness.OK(t, err)
	t.Cleanup(func() { _ = c.Close() })
	harness.OK(t, c.SetDeadline(time.Now().Add(patience)))
	return socket{c, bufio.NewReader(c)}
}

// ask makes a request over the connection and returns the status; 0 if there is none.
func (s socket) ask(head ...string) (status int, err error) {
	if _, err := io.WriteString(s, strings.Join(head, "\r\n")+"\r\n\r\n"); err != nil {
		return 0, err
	}
	res, err := http.ReadResponse(s.read, nil)
	if err != nil {
		return 0, err
	}
	_, err = io.Copy(io.Discard, res.Body)
	return res.StatusCode, errors.Join(err, res.Body.Close())
}

// closed waits until the other side has closed the connection.
func (s socket) closed() error {
	_, err := io.Copy(io.Discard, s.read)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	return nil
}

func (s socket) wantAnswer(t *testing.T, what string, want int, head ...string) {
	t.Helper()
	if status, err := s.ask(head...); err != nil || status != want {
		t.Errorf("%s: %d, %v", what, status, err)
	}
}

func subscriptionGET(w world, token string) []string {
	head := []string{"GET /subscriptions/" + ours + api + " HTTP/1.1", "Host: portico"}
	if token != "" {
		head = append(head, "Authorization: Bearer "+token)
	}
	return head
}

// An address cannot take the connections of others: beyond its limit it gets none, and
// if all are in use, the newest of the address with the most is closed.
func TestConnectionsAreShared(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{Server: "  connections: {all: 12, perAddress: 7, idleUnauthenticated: 10m}\n  trustedProxies: [127.0.0.9/32]\n"})
	request := subscriptionGET(w, alice.Raw)
	var greedy []socket
	for range 7 {
		greedy = append(greedy, w.socket(t, w.Portico.URL, "127.0.0.2"))
	}
	if err := w.socket(t, w.Portico.URL, "127.0.0.2").closed(); err != nil {
		t.Errorf("one connection beyond the bound of an address: %v", err)
	}
	greedy[6].wantAnswer(t, "within the bound of the address", 200, request...)
	var others []socket
	for i := range 5 {
		others = append(others, w.socket(t, w.Portico.URL, fmt.Sprintf("127.0.0.%d", 10+i)))
		others[i].wantAnswer(t, "another address", 200, request...)
	}
	for i := range 3 {
		w.socket(t, w.Portico.URL, fmt.Sprintf("127.0.0.%d", 20+i)).wantAnswer(t, "another address, where all are in use", 200, request...)
	}
	gone := 0
	for _, s := range greedy {
		if status, _ := s.ask(request...); status == 0 {
			gone++
		}
	}
	if gone != 3 {
		t.Errorf("%d connections of the greedy address gave way to 3 others", gone)
	}
	greedy[6].wantAnswer(t, "the one that was authenticated", 200, request...)
	for _, s := range others {
		s.wantAnswer(t, "an address with one connection", 200, request...)
	}
	refused := w.metric(t, `portico_connections_refused_total{listener="public",reason="address"}`)
	displaced := w.metric(t, `portico_connections_refused_total{listener="public",reason="displaced"}`)
	if refused != "1" || displaced != "3" {
		t.Errorf("metrics say: %s refused, %s displaced", refused, displaced)
	}
}

// A proxy that carries many clients has no limit of its own.
func TestConnectionsOfATrustedProxy(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{Server: "  connections: {all: 100, perAddress: 2}\n  trustedProxies: [127.0.0.9/32]\n"})
	for range 10 {
		w.socket(t, w.Portico.URL, "127.0.0.9").wantAnswer(t, "a trusted proxy", 200, subscriptionGET(w, alice.Raw)...)
	}
}

// Unauthenticated connections do not stay.
func TestConnectionsWithoutAToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{Server: "  connections: {idleUnauthenticated: 1s}\n"})
	known := w.socket(t, w.Portico.URL, "127.0.0.1")
	known.wantAnswer(t, "with a token", 200, subscriptionGET(w, alice.Raw)...)
	for name, begin := range map[string][]string{
		"silent": nil, "without a token": subscriptionGET(w, ""), "with a bad token": subscriptionGET(w, "guess"),
		"metadata": {"GET /metadata/endpoints" + api + " HTTP/1.1", "Host: portico"},
	} {
		s := w.socket(t, w.Portico.URL, "127.0.0.1")
		if begin != nil {
			if status, err := s.ask(begin...); err != nil {
				t.Errorf("%s: %d %v", name, status, err)
			}
		}
		if err := s.closed(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	part := w.socket(t, w.Portico.URL, "127.0.0.1")
	if _, err := io.WriteString(part, "GET /subscriptions HTTP/1.1\r\nHost: por"); err != nil {
		t.Fatal(err)
	}
	if err := part.closed(); err != nil {
		t.Errorf("a part of a head: %v", err)
	}
	admin := w.socket(t, w.Portico.AdminURL, "127.0.0.1")
	admin.wantAnswer(t, "the admin listener", 200, "GET /healthz HTTP/1.1", "Host: localhost")
	if err := admin.closed(); err != nil {
		t.Errorf("the admin listener: %v", err)
	}
	known.wantAnswer(t, "with a token, after all those", 200, subscriptionGET(w, alice.Raw)...)
}

// One address cannot exhaust the admin listener either.
func TestConnectionsOfTheAdminListener(t *testing.T) {
	t.Parallel()
	w := newWorld(t, options{Server: "  connections: {idleUnauthenticated: 10m}\n"})
	for range 600 {
		w.socket(t, w.Portico.AdminURL, "127.0.0.2")
	}
	w.socket(t, w.Portico.AdminURL, "127.0.0.3").wantAnswer(t, "another address", 200, "GET /readyz HTTP/1.1", "Host: localhost")
	if refused := w.metric(t, `portico_connections_refused_total{listener="admin",reason="address"}`); refused != "344" {
		t.Errorf("%s of 600 connections were refused", refused)
	}
	w.socket(t, w.Portico.URL, "127.0.0.2").wantAnswer(t, "the public listener", 401, subscriptionGET(w, "")...)
}

// metric is the value of a series on the admin listener.
func (w world) metric(t *testing.T, series string) string {
	t.Helper()
	res, err := http.Get(w.Portico.AdminURL + "/metrics")
	harness.OK(t, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	harness.OK(t, err)
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, series+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
