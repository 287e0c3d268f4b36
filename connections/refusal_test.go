package connections

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"strconv"
	"testing"
	"time"
)

// Only what net/http itself answers is put into other words, not what a handler sends,
// however alike that is.
func TestRefusalsAreDescribed(t *testing.T) {
	const alike = "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n400 Bad Request"
	s := newSecure(time.Hour, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		Ambiguous(r.Context())
		w.Header().Set("Content-Length", strconv.Itoa(2*len(alike)))
		for range 2 { // each in a write of its own
			_, _ = io.WriteString(w, alike)
			_ = http.NewResponseController(w).Flush()
		}
	}))
	s.table.options.Describe = func(why Refusal) (string, []byte) {
		return "text/x", []byte(strconv.Itoa(why.Status) + " " + why.Header + ": " + why.Why)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.address = l.Addr().String()
	go func() { s.served <- s.Serve(s.table.Listen(l)) }()
	t.Cleanup(func() {
		_ = s.Server.Close()
		<-s.served
	})
	const good = "GET / HTTP/1.1\r\nHost: a\r\n\r\n"
	for text, want := range map[string]struct {
		status  int
		content string
	}{
		"GET / HTTP/1.1\r\n\r\n":                       {400, "400 Host: missing required Host header"},
		"GET / HTTP/1.1\r\nHost: a\r\nX: \x01\r\n\r\n": {400, "400 *: a header, or the request line, is malformed"},
		"GET / HTTP/1.1\r\nHost: a\r\nA b: c\r\n\r\n":  {400, "400 *: invalid header name"},
		"nothing\r\n":                       {400, "400 *: a header, or the request line, is malformed"},
		"GET / HTTP/4.0\r\nHost: a\r\n\r\n": {505, "505 : the version is neither HTTP/1.0 nor HTTP/1.1"},
		"PUT / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: x\r\n\r\n": {501, "501 Transfer-Encoding: the only Transfer-Encoding that is understood is chunked, once"},
		"PUT / HTTP/1.1\r\nHost: a\r\nExpect: all\r\n\r\n":          {417, "417 Expect: the only expectation that can be met is 100-continue"},
		"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n":    {200, alike + alike},
	} {
		c := s.dial(t)
		if _, err := io.WriteString(c, good+text); err != nil {
			t.Fatal(err)
		}
		answers := bufio.NewReader(c)
		for _, want := range []struct {
			status  int
			content string
		}{{200, alike + alike}, want} {
			res, err := http.ReadResponse(answers, nil)
			if err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			content, err := io.ReadAll(res.Body)
			_ = res.Body.Close()
			if err != nil || res.StatusCode != want.status || string(content) != want.content {
				t.Errorf("%q: %d %q (%v), want %+v", text, res.StatusCode, content, err, want)
			}
		}
		if rest, err := io.ReadAll(answers); err != nil || len(rest) > 0 {
			t.Errorf("%q: %q (%v) follows", text, rest, err)
		}
	}
}
