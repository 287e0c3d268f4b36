package upstream

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// statuses answers with one after the other, 0 being a reset, and with the last
// for ever.
func statuses(headers string, all ...int) script {
	return func(n int, conn net.Conn) bool {
		status := all[min(n, len(all))-1]
		if status == 0 {
			return reset(conn)
		}
		body := fmt.Sprintf("answer %d", n)
		_, err := fmt.Fprintf(conn, "HTTP/1.1 %d X\r\n%sX-N: %d\r\nContent-Length: %d\r\n\r\n%s", status, headers, n, len(body), body)
		return err == nil
	}
}

func TestReadRetries(t *testing.T) {
	for _, c := range []struct {
		name    string
		headers string
		all     []int
		status  int // 0: a fault
		tries   int
	}{
		{"success", "", []int{200}, 200, 1},
		{"transient", "", []int{502, 503, 504, 200}, 200, 4},
		{"reset", "", []int{0, 200}, 200, 2},
		{"reset and transient", "", []int{0, 503, 0, 200}, 200, 4},
		{"exhausted", "", []int{502, 502, 502, 503}, 503, 4},
		{"resets", "", []int{0}, 0, 4},
		{"500", "", []int{500, 200}, 500, 1},
		{"501", "", []int{501, 200}, 501, 1},
		{"429", "", []int{429, 200}, 429, 1},
		{"408", "", []int{408, 200}, 408, 1},
		{"404", "", []int{404, 200}, 404, 1},
		{"412", "", []int{412, 200}, 412, 1},
		{"at once", "Retry-After: 0\r\n", []int{503, 503, 503, 200}, 200, 4},
		{"negative", "Retry-After: -1\r\n", []int{503, 200}, 200, 2},
		{"a date", "Retry-After: Wed, 21 Oct 2015 07:28:00 GMT\r\n", []int{503, 200}, 200, 2},
		{"a date to come", "Retry-After: Wed, 21 Oct 2215 07:28:00 GMT\r\n", []int{503, 200}, 503, 1},
		{"too long", "Retry-After: 3600\r\n", []int{503, 200}, 503, 1},
		{"absurd", "Retry-After: 99999999999999999999\r\n", []int{503, 200}, 200, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p := newPeer(t, statuses(c.headers, c.all...))
			client := newClient(t, Options{})
			answer, err := client.Read(context.Background(), Call{Endpoint: p.endpoint(), Path: "/x", Query: "q=1", Method: http.MethodPut, Content: []byte("ignored")})
			if p.count() != c.tries {
				t.Errorf("%d tries, want %d", p.count(), c.tries)
			}
			for _, head := range p.requests() {
				if !strings.HasPrefix(head, "GET /x?q=1 HTTP/1.1\r\n") || strings.Contains(head, "Content-Length") {
					t.Errorf("got %q", head)
				}
			}
			if c.status == 0 {
				if fault := faultOf(t, err); !fault.Sent {
					t.Errorf("got %+v", fault)
				}
				return
			}
			// The last answer it is, with all that came in it.
			if err != nil || answer.Status != c.status || string(answer.Body) != fmt.Sprintf("answer %d", c.tries) || answer.Header.Get("X-N") != fmt.Sprint(c.tries) {
				t.Errorf("got %d %q %v, %v", answer.Status, answer.Body, answer.Header, err)
			}
		})
	}
}

func TestPauses(t *testing.T) {
	asking := func(value string) http.Header { return http.Header{"Retry-After": {value}} }
	pause := func(attempt int, h http.Header) time.Duration {
		return retryBackoff(0, 0, attempt, &http.Response{StatusCode: 503, Header: h})
	}
	again := func(value string) bool {
		again, err := retryRead(context.Background(), &http.Response{StatusCode: 503, Header: asking(value)}, nil)
		return again && err == nil
	}
	for value, want := range map[string]time.Duration{"1": time.Second, "5": 5 * time.Second} {
		if got := pause(0, asking(value)); got != want || !again(value) {
			t.Errorf("Retry-After %q: %v, %v", value, got, again(value))
		}
	}
	if again("6") {
		t.Error("6 s are for the caller to wait")
	}
	for attempt := range 10 {
		for _, h := range []http.Header{{}, asking(""), asking("0"), asking("-5"), asking("soon")} {
			if got := pause(attempt, h); got < 0 || got > maxRetryWait || got > minRetryWait<<attempt {
				t.Errorf("attempt %d: %v", attempt, got)
			}
		}
	}
	if got := retryBackoff(0, 0, 0, nil); got < 0 || got > minRetryWait { // after a fault
		t.Errorf("got %v", got)
	}
}

// A pause that outlasts the call is not begun: the caller gets the answer.
func TestReadWithoutTimeForThePause(t *testing.T) {
	p := newPeer(t, statuses("Retry-After: 5\r\n", 503))
	client := newClient(t, Options{CallTimeout: 4 * time.Second})
	answer, err := client.Read(context.Background(), Call{Endpoint: p.endpoint(), Path: "/"})
	if err != nil || answer.Status != 503 || string(answer.Body) != "answer 1" || p.count() != 1 {
		t.Errorf("got %+v, %v after %d tries", answer, err, p.count())
	}
}

func TestReadTriesTheNextAddress(t *testing.T) {
	bad, good := newPeer(t, reply(empty503)), newPeer(t, reply(empty200))
	client := newClient(t, Options{})
	for range 4 {
		answer, err := client.Read(context.Background(), Call{Endpoint: endpointOf(bad.url(), refusing(t), good.url()), Path: "/"})
		if err != nil || answer.Status != http.StatusOK {
			t.Errorf("got %d, %v", answer.Status, err)
		}
	}
}

func TestReadFaults(t *testing.T) {
	client := newClient(t, Options{})
	const secret = "sig=verysecret"
	_, err := client.Read(context.Background(), Call{Endpoint: endpointOf(refusing(t)), Path: "/private", Query: secret})
	if fault := faultOf(t, err); fault.Sent || strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "/private") {
		t.Errorf("got %+v", fault)
	}
	// What one attempt sent stays sent, though the last one sent nothing.
	p := newPeer(t, func(_ int, conn net.Conn) bool { return reset(conn) })
	_, err = client.Read(context.Background(), Call{Endpoint: endpointOf(p.url(), refusing(t)), Path: "/", Query: secret})
	if fault := faultOf(t, err); !fault.Sent || strings.Contains(err.Error(), secret) {
		t.Errorf("got %+v", fault)
	}
}

// A caller who goes during a pause ends the read, and costs no one else a
// connection.
func TestReadEndsWithItsCaller(t *testing.T) {
	healthy := newPeer(t, reply(empty200))
	client := newClient(t, Options{})
	read := func() {
		t.Helper()
		if _, err := client.Read(context.Background(), Call{Endpoint: healthy.endpoint(), Path: "/"}); err != nil {
			t.Fatal(err)
		}
	}
	read()
	for range 3 {
		ctx, cancel := context.WithCancel(context.Background())
		sick := newPeer(t, func(_ int, conn net.Conn) bool {
			time.AfterFunc(20*time.Millisecond, cancel)
			_, err := io.WriteString(conn, "HTTP/1.1 503 X\r\nRetry-After: 5\r\nContent-Length: 0\r\n\r\n")
			return err == nil
		})
		answer, err := client.Read(ctx, Call{Endpoint: sick.endpoint(), Path: "/"})
		// On a slow machine the call may be over just when the answer is there.
		if ended := errors.Is(err, context.Canceled) || err == nil && answer.Status == 503; !ended || sick.count() != 1 {
			t.Errorf("%d tries, %d, %v", sick.count(), answer.Status, err)
		}
		read()
	}
	if healthy.dialled() != 1 {
		t.Errorf("the healthy endpoint was dialled %d times", healthy.dialled())
	}
}

func TestReadLeavesTheHeaderAlone(t *testing.T) {
	p := newPeer(t, reply(empty200))
	client := newClient(t, Options{})
	h := http.Header{"Accept-Encoding": {"gzip, br"}, "Idempotency-Key": {"k"}, "X-Own": {"1"}}
	if _, err := client.Read(context.Background(), Call{Endpoint: p.endpoint(), Path: "/", Header: h}); err != nil {
		t.Fatal(err)
	}
	if len(h) != 3 || h.Get("Accept-Encoding") != "gzip, br" || h.Get("Idempotency-Key") != "k" {
		t.Errorf("the caller's header is now %v", h)
	}
	if head := p.requests()[0]; strings.Contains(head, "Accept-Encoding") || !strings.Contains(head, "\r\nX-Own: 1\r\n") || strings.Contains(head, "User-Agent") {
		t.Errorf("got %q", head)
	}
}

func zipped(t *testing.T, text []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func gzipAnswer(encoding string, body []byte) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Encoding: %s\r\nContent-Length: %d\r\n\r\n%s", encoding, len(body), body)
}

func TestReadUnzipsWithinTheBound(t *testing.T) {
	const limit = 20 << 10
	bomb := zipped(t, make([]byte, 16<<20))
	if len(bomb) >= limit {
		t.Fatalf("the bomb is %d bytes long", len(bomb))
	}
	for _, c := range []struct {
		name, answer string
		want         string
		long, broken bool
	}{
		{"plain", gzipAnswer("identity", []byte("hello")), "hello", false, false},
		{"gzip", gzipAnswer("gzip", zipped(t, []byte("hello"))), "hello", false, false},
		{"casing", gzipAnswer("GZip", zipped(t, []byte("hello"))), "hello", false, false},
		{"bomb", gzipAnswer("gzip", bomb), "", true, false},
		{"no gzip", gzipAnswer("gzip", []byte("hello")), "", false, true},
		{"cut off", gzipAnswer("gzip", zipped(t, []byte("hello"))[:12]), "", false, true},
		{"another encoding", gzipAnswer("br", []byte("hello")), "", false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPeer(t, reply(c.answer))
			client := newClient(t, Options{MaxAnswer: limit})
			answer, err := client.Read(context.Background(), Call{Endpoint: p.endpoint(), Path: "/"})
			if string(answer.Body) != c.want || errors.Is(err, ErrTooLarge) != c.long || (err != nil) != (c.long || c.broken) {
				t.Errorf("got %d bytes, %v", len(answer.Body), err)
			}
			if err != nil && !faultOf(t, err).Sent {
				t.Errorf("got %+v", err)
			}
		})
	}
}

// A stream of gzip that never yields a byte is bounded by what it takes.
func TestReadBoundsWhatYieldsNothing(t *testing.T) {
	nothing := zipped(t, nil)
	p := newPeer(t, func(_ int, conn net.Conn) bool {
		_, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n")
		for err == nil { // until the client hangs up
			_, err = conn.Write(nothing)
		}
		return false
	})
	client := newClient(t, Options{MaxAnswer: 100 << 10})
	if _, err := client.Read(context.Background(), Call{Endpoint: p.endpoint(), Path: "/"}); !errors.Is(err, ErrTooLarge) {
		t.Errorf("got %v", err)
	}
}
