package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"portico/arm"
)

func TestRequestOnTheWire(t *testing.T) {
	p := newPeer(t, reply(empty200))
	client := newClient(t, Options{})
	const (
		path  = "/subscriptions/S/resourceGroups/(a)/providers/N.S/t/a%20b'c;d=e,f@!$&*+~%C3%A9"
		query = "a=1;b=%2f+x&c='(d)'&&%24skiptoken=A==&api-version="
	)
	for _, method := range []string{"GET", "HEAD", "PUT", "DELETE", "POST"} {
		mustDo(t, client, Call{Endpoint: p.endpoint(), Method: method, Path: path, Query: query, Content: contentFor(method)[:min(1, len(contentFor(method)))], Header: http.Header{"X-Own": {"1", "2"}}})
	}
	for _, head := range p.requests() {
		lines := strings.Split(head, "\r\n")
		method, rest, _ := strings.Cut(lines[0], " ")
		if rest != path+"?"+query+" HTTP/1.1" {
			t.Errorf("%s: %q", method, lines[0])
		}
		if lines[1] != "Host: "+p.url().Host {
			t.Errorf("%s: %q", method, lines[1])
		}
		for _, unwanted := range []string{"User-Agent", "Accept-Encoding", "Transfer-Encoding", "Connection"} {
			if strings.Contains(head, "\r\n"+unwanted+":") {
				t.Errorf("%s: a %s of its own: %q", method, unwanted, head)
			}
		}
		if !strings.Contains(head, "\r\nX-Own: 1\r\nX-Own: 2\r\n") {
			t.Errorf("%s: headers of the caller are missing: %q", method, head)
		}
	}
	if n := p.count(); n != 5 {
		t.Errorf("%d requests", n)
	}

	h := http.Header{"User-Agent": {"azsdk/1"}, "Accept-Encoding": {"br"}}
	mustDo(t, client, Call{Endpoint: p.endpoint(), Method: "GET", Path: "/", Header: h})
	if head := p.requests()[5]; !strings.HasPrefix(head, "GET / HTTP/1.1\r\n") || !strings.Contains(head, "\r\nUser-Agent: azsdk/1\r\n") || !strings.Contains(head, "\r\nAccept-Encoding: br\r\n") {
		t.Errorf("got %q", head)
	}
}

func TestRedirectsPass(t *testing.T) {
	other := newPeer(t, reply(empty200))
	for _, status := range []int{307, 302, 301} {
		p := newPeer(t, reply(fmt.Sprintf("HTTP/1.1 %d X\r\nLocation: %s/x\r\nContent-Length: 2\r\n\r\nhi", status, other.url())))
		client := newClient(t, Options{})
		for _, method := range []string{"GET", "PUT", "POST"} {
			got, body, err := do(client, Call{Endpoint: p.endpoint(), Method: method, Path: "/"})
			if err != nil || body != "hi" || got != status {
				t.Errorf("%s: %d %q, %v, want %d", method, got, body, err, status)
			}
		}
		answer, err := client.Read(context.Background(), Call{Endpoint: p.endpoint(), Path: "/"})
		if err != nil || answer.Status != status || string(answer.Body) != "hi" || answer.Header.Get("Location") == "" {
			t.Errorf("read: %+v, %v", answer, err)
		}
		if p.count() != 4 {
			t.Errorf("%d: %d requests", status, p.count())
		}
	}
	if other.dialled() != 0 {
		t.Error("a redirect was followed")
	}
}

func TestAnswersAreBounded(t *testing.T) {
	const limit = 100
	ten := strings.Repeat("x", 10)
	chunked := "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	for _, c := range []struct {
		name, answer string
		long         bool
	}{
		{"at the bound", "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n" + strings.Repeat(ten, 10), false},
		{"one more", "HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n" + strings.Repeat(ten, 10) + "x", true},
		{"chunks at the bound", chunked + strings.Repeat("a\r\n"+ten+"\r\n", 10) + "0\r\n\r\n", false},
		{"chunks past it", chunked + strings.Repeat("a\r\n"+ten+"\r\n", 11) + "0\r\n\r\n", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPeer(t, reply(c.answer))
			client := newClient(t, Options{MaxAnswer: limit})
			for _, method := range []string{"GET", "PUT"} {
				status, body, err := do(client, Call{Endpoint: p.endpoint(), Method: method, Path: "/"})
				if status != 200 || errors.Is(err, ErrTooLarge) != c.long || !c.long && err != nil || len(body) != limit {
					t.Errorf("%s: %d, %d bytes, %v", method, status, len(body), err)
				}
			}
			answer, err := client.Read(context.Background(), Call{Endpoint: p.endpoint(), Path: "/"})
			if errors.Is(err, ErrTooLarge) != c.long || !c.long && (err != nil || len(answer.Body) != limit) {
				t.Errorf("read: %d bytes, %v", len(answer.Body), err)
			}
			if err != nil && !faultOf(t, err).Sent {
				t.Errorf("got %+v", err)
			}
		})
	}
}

// An answer that breaks off is an error, never a short answer.
func TestBrokenAnswers(t *testing.T) {
	for _, text := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n",
	} {
		p := newPeer(t, func(_ int, conn net.Conn) bool { _, _ = io.WriteString(conn, text); return false })
		client := newClient(t, Options{})
		if _, body, err := do(client, Call{Endpoint: p.endpoint(), Method: "GET", Path: "/"}); err == nil {
			t.Errorf("got %q", body)
		}
		if answer, err := client.Read(context.Background(), Call{Endpoint: p.endpoint(), Path: "/"}); err == nil || !faultOf(t, err).Sent {
			t.Errorf("read: %+v, %v", answer, err)
		}
	}
}

// The connection is the other protocol's then: nothing that comes over it is an
// answer.
func TestSwitchOfProtocols(t *testing.T) {
	p := newPeer(t, reply("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\nevil"))
	client := newClient(t, Options{})
	for _, method := range []string{"GET", "PUT"} {
		_, _, err := do(client, Call{Endpoint: p.endpoint(), Method: method, Path: "/"})
		if fault := faultOf(t, err); !fault.Sent || fault.ARM("N").Code != arm.BadGatewayConnection {
			t.Errorf("%s: got %+v", method, fault)
		}
	}
	_, err := client.Read(context.Background(), Call{Endpoint: p.endpoint(), Path: "/"})
	if fault := faultOf(t, err); !fault.Sent || !errors.Is(fault, errProtocolSwitch) {
		t.Errorf("read: got %+v", fault)
	}
}

// Nor is what has no status that could be passed on.
func TestAnswerWithoutAStatus(t *testing.T) {
	for _, status := range []string{"000", "001", "099"} {
		p := newPeer(t, reply("HTTP/1.1 "+status+" X\r\nContent-Length: 0\r\n\r\n"))
		client := newClient(t, Options{})
		for _, method := range []string{"GET", "PUT"} {
			_, _, err := do(client, Call{Endpoint: p.endpoint(), Method: method, Path: "/"})
			if fault := faultOf(t, err); !fault.Sent || fault.ARM("N").Code != arm.BadGatewayConnection || !errors.Is(fault, errInvalidStatus) {
				t.Errorf("%s %s: got %+v", method, status, fault)
			}
		}
		if _, err := client.Read(context.Background(), Call{Endpoint: p.endpoint(), Path: "/"}); !errors.Is(err, errInvalidStatus) {
			t.Errorf("read %s: got %v", status, err)
		}
	}
}

func TestTimeouts(t *testing.T) {
	for name, answer := range map[string]script{
		"no answer": func(int, net.Conn) bool { return true },
		"half a body": func(_ int, conn net.Conn) bool {
			_, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345")
			return err == nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPeer(t, answer)
			// Each call has to have left by then, on a busy machine too.
			client := newClient(t, Options{CallTimeout: 500 * time.Millisecond})
			check := func(what string, err error) {
				t.Helper()
				var fault *Fault
				if !errors.As(err, &fault) { // the body's errors are bare
					fault = &Fault{Sent: true, Err: err}
				}
				if reported := fault.ARM("N.S"); err == nil || !fault.Timeout() || !fault.Sent || reported.Code != arm.GatewayTimeout || reported.Status != 504 ||
					reported.Message != "The gateway did not receive a response from 'N.S' within the specified time period." {
					t.Errorf("%s: got %v", what, err)
				}
			}
			for _, method := range []string{"GET", "PUT"} {
				_, _, err := do(client, Call{Endpoint: p.endpoint(), Method: method, Path: "/"})
				check(method, err)
			}
			before := p.count()
			_, err := client.Read(context.Background(), Call{Endpoint: p.endpoint(), Path: "/"})
			check("read", err)
			if n := p.count() - before; n != 1 {
				t.Errorf("a read that ran out of time was sent %d times", n)
			}
		})
	}
}

func TestCancelledCallEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	p := newPeer(t, func(int, net.Conn) bool { cancel(); return true })
	client := newClient(t, Options{})
	answer, err := client.Do(ctx, Call{Endpoint: p.endpoint(), Method: "PUT", Path: "/"})
	if err == nil {
		answer.Body.Close()
	}
	if fault := faultOf(t, err); !fault.Sent || fault.Timeout() || !errors.Is(err, context.Canceled) {
		t.Errorf("got %+v", fault)
	}
}

// noNames is a dialer for which no name resolves.
func noNames() *net.Dialer {
	return &net.Dialer{Resolver: &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("no server of names")
	}}}
}

func TestNameThatDoesNotResolve(t *testing.T) {
	client := newClient(t, Options{})
	endpoint := endpointOf(&url.URL{Scheme: "http", Host: "westus.provider.example"})
	client.dial = noNames().DialContext
	check := func(err error) {
		t.Helper()
		fault := faultOf(t, err)
		if reported := fault.ARM("N.S"); fault.Sent || reported.Code != arm.InvalidGatewayHost || reported.Status != 502 || reported.Message != "Host name resolution failed for 'N.S'; cannot fulfill the request." {
			t.Errorf("got %+v: %v", fault, reported)
		}
	}
	for _, method := range []string{"GET", "PUT"} {
		_, _, err := do(client, Call{Endpoint: endpoint, Method: method, Path: "/"})
		check(err)
	}
	_, err := client.Read(context.Background(), Call{Endpoint: endpoint, Path: "/"})
	check(err)
}

// Calls go to all of an endpoint's addresses.
func TestCallsGoToAllAddresses(t *testing.T) {
	a, b := newPeer(t, reply(empty200)), newPeer(t, reply(empty200))
	client := newClient(t, Options{})
	endpoint := endpointOf(a.url(), b.url())
	for what, call := range map[string]func(){
		"read":  func() { _, _ = client.Read(context.Background(), Call{Endpoint: endpoint, Path: "/"}) },
		"GET":   func() { mustDo(t, client, Call{Endpoint: endpoint, Method: "GET", Path: "/"}) },
		"write": func() { mustDo(t, client, Call{Endpoint: endpoint, Method: "PUT", Path: "/"}) },
	} {
		atA, atB := a.count(), b.count()
		for range 60 {
			call()
		}
		if a.count()-atA < 10 || b.count()-atB < 10 || a.count()-atA+b.count()-atB != 60 {
			t.Errorf("%s: %d and %d requests", what, a.count()-atA, b.count()-atB)
		}
	}
}

func TestConnectionsAreReused(t *testing.T) {
	p := newPeer(t, reply(empty200))
	client := newClient(t, Options{})
	for range 5 {
		mustDo(t, client, Call{Endpoint: p.endpoint(), Method: "PUT", Path: "/"})
		mustDo(t, client, Call{Endpoint: p.endpoint(), Method: "GET", Path: "/"})
	}
	if p.dialled() != 2 { // one for writes, one for reads
		t.Errorf("%d connections", p.dialled())
	}
}
