package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
)

// The status of an answer counts also where its body does not: a write may have taken
// effect.
func TestSendTellsAnAnswerFromItsBody(t *testing.T) {
	for name, c := range map[string]struct {
		answer string
		status int
		body   string
		fault  func(error) bool
	}{
		"whole":      {"HTTP/1.1 409 Conflict\r\nContent-Length: 2\r\n\r\n{}", 409, "{}", func(err error) bool { return err == nil }},
		"broken off": {"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{", 200, "", func(err error) bool { return err != nil && !errors.Is(err, ErrTooLarge) }},
		"too large":  {fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", maxSendAnswer+1, strings.Repeat("x", maxSendAnswer+1)), 200, "", func(err error) bool { return errors.Is(err, ErrTooLarge) }},
		"no answer":  {"", 0, "", func(err error) bool { return err != nil }},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPeer(t, func(_ int, conn net.Conn) bool {
				_, _ = io.WriteString(conn, c.answer)
				return false // and nothing more
			})
			got, err := newClient(t, Options{MaxAnswer: 4 * maxSendAnswer}).Send(context.Background(), Call{Endpoint: p.endpoint(), Method: http.MethodDelete, Path: "/"})
			if got.Status != c.status || string(got.Body) != c.body || !c.fault(err) || Unsent(err) {
				t.Errorf("%d, %d bytes, %v, unsent %v", got.Status, len(got.Body), err, Unsent(err))
			}
		})
	}
}

func TestSendThatFoundNoOne(t *testing.T) {
	got, err := newClient(t, Options{}).Send(context.Background(), Call{Endpoint: endpointOf(refusing(t)), Method: http.MethodDelete, Path: "/"})
	if got.Status != 0 || !Unsent(err) {
		t.Errorf("%d, %v", got.Status, err)
	}
}
