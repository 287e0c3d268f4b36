package server

import (
	"bytes"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"reflect"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"portico/internal/connections"
)

// script is a connection whose client sends a text, in pieces, and then is silent or
// gone.
type script struct {
	mu     sync.Mutex
	text   []byte
	step   int
	closed chan struct{}
	once   sync.Once
	answer bytes.Buffer
}

func newScript(text []byte, step int) *script {
	return &script{text: text, step: max(1, step), closed: make(chan struct{})}
}

func (s *script) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.text) == 0 {
		return 0, io.EOF
	}
	n := copy(p, s.text[:min(s.step, len(s.text))])
	s.text = s.text[n:]
	return n, nil
}

func (s *script) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.answer.Write(p)
}

func (s *script) Close() error {
	s.once.Do(func() { close(s.closed) })
	return nil
}

func (*script) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (*script) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (*script) SetDeadline(time.Time) error      { return nil }
func (*script) SetReadDeadline(time.Time) error  { return nil }
func (*script) SetWriteDeadline(time.Time) error { return nil }

// once is a listener with one connection.
type once struct {
	conn  chan net.Conn
	ended chan struct{}
	end   sync.Once
}

func onceFor(c net.Conn) *once {
	l := &once{conn: make(chan net.Conn, 1), ended: make(chan struct{})}
	l.conn <- c
	return l
}

func (l *once) Accept() (net.Conn, error) {
	select {
	case c := <-l.conn:
		return c, nil
	case <-l.ended:
		return nil, net.ErrClosed
	}
}

func (l *once) Close() error { l.end.Do(func() { close(l.ended) }); return nil }

func (*once) Addr() net.Addr { return &net.TCPAddr{} }

// reading is a request as a handler sees it.
type reading struct {
	Method, Target, Proto, Host string
	Path, RawPath, Query        string
	URLHost, Scheme             string
	Header                      http.Header
	Length                      int64
	Chunked, Close              bool
	Content                     string
	Broken                      bool // the content could not be read
}

// readings are all requests that a server read from a connection.
type readings struct {
	mu      sync.Mutex
	all     []reading
	refused *connections.Refusal // by this server
}

// handler notes each request, whose content it reads if the last byte of the target's
// query is not an n.
func (r *readings) ServeHTTP(w http.ResponseWriter, q *http.Request) {
	got := reading{
		Method: q.Method, Target: q.RequestURI, Proto: q.Proto, Host: q.Host, Path: q.URL.Path, RawPath: q.URL.RawPath, Query: q.URL.RawQuery, URLHost: q.URL.Host, Scheme: q.URL.Scheme,
		Header: q.Header.Clone(), Length: q.ContentLength, Chunked: len(q.TransferEncoding) > 0, Close: q.Close,
	}
	if !strings.HasSuffix(q.RequestURI, "n") {
		content, err := io.ReadAll(q.Body)
		got.Content, got.Broken = string(content), err != nil
		if err != nil {
			got.Content = ""
		}
	}
	r.mu.Lock()
	r.all = append(r.all, got)
	r.mu.Unlock()
	w.Header()["Content-Length"] = []string{"2"}
	w.Header()["Content-Type"] = nil
	_, _ = io.WriteString(w, "hi")
}

const fuzzHead = 16 << 10

func readByOwn(text []byte, step int) (*readings, string) {
	var got readings
	conn := newScript(text, step)
	listener := onceFor(conn)
	server := New(Options{
		Handler: &got, ReadHeaderTimeout: time.Minute, IdleTimeout: time.Minute, MaxHead: fuzzHead, ErrorLog: log.New(io.Discard, "", 0),
		Describe: func(why connections.Refusal) (string, []byte) { got.refused = &why; return "text/plain", nil },
	})
	served := make(chan struct{})
	go func() { defer close(served); _ = server.Serve(listener) }()
	<-conn.closed
	_ = server.Close()
	<-served
	return &got, conn.answer.String()
}

func readByStandard(text []byte, step int) *readings {
	var got readings
	conn := newScript(text, step)
	listener := onceFor(conn)
	server := http.Server{Handler: &got, ReadHeaderTimeout: time.Minute, MaxHeaderBytes: fuzzHead - 4<<10, MaxHeaderValueCount: MaxLines, DisableGeneralOptionsHandler: true, ErrorLog: log.New(io.Discard, "", 0)}
	served := make(chan struct{})
	go func() { defer close(served); _ = server.Serve(listener) }()
	<-conn.closed
	_ = server.Close()
	<-served
	return &got
}

// oddRequests are shapes that readers of HTTP/1.1 disagree about, or have.
func oddRequests() []string {
	const get, put = "GET /a?b HTTP/1.1\r\nHost: h\r\n", "PUT /a HTTP/1.1\r\nHost: h\r\n"
	const chunked = put + "Transfer-Encoding: chunked\r\n"
	const next = get + "\r\n"
	all := []string{
		next, next + next, "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhi\r\n\r\n" + next, put + "Content-Length: 2\r\n\r\nhi" + next, put + "Content-Length: 2\r\n\r\nhi\r\n" + next, "\r\n" + next,
		"POST /a HTTP/1.1\r\nHost: h\r\n\r\n\r\n\r\n\r\n" + next, "PUT /n HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhi" + next,
		// Lengths.
		put + "Content-Length: 2\r\nContent-Length: 2\r\n\r\nhi" + next, put + "Content-Length: 2\r\nContent-Length: 3\r\n\r\nhi!", put + "Content-Length: 2, 2\r\n\r\nhi", put + "Content-Length: +2\r\n\r\nhi", put + "Content-Length: -2\r\n\r\nhi",
		put + "Content-Length: 0x2\r\n\r\nhi", put + "Content-Length: 2 \r\n\r\nhi" + next, put + "Content-Length:\r\n\r\nhi", put + "Content-Length: 99999999999999999999\r\n\r\nhi", put + "Content-Length: 9223372036854775807\r\n\r\nhi",
		put + "Content-Length: 9223372036854775808\r\n\r\nhi", put + "Content-Length: 1_0\r\n\r\n0123456789", put + "Content-Length: 002\r\n\r\nhi" + next, put + "Content-Length: 5\r\n\r\nhi", put + "Content-Length: 0\r\n\r\n" + next, put + "Content-Length : 2\r\n\r\nhi",
		put + "Content-Length:\t2\r\n\r\nhi" + next, put + "Content_Length: 2\r\n\r\nhi", put + "Content-Length: 2\r\n 3\r\n\r\nhi",
		// Encodings.
		chunked + "\r\n2\r\nhi\r\n0\r\n\r\n" + next, chunked + "Content-Length: 3\r\n\r\n2\r\nhi\r\n0\r\n\r\n" + next, chunked + "Content-Length: x\r\n\r\n2\r\nhi\r\n0\r\n\r\n", "PUT /a HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
		put + "Transfer-Encoding: gzip, chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n", put + "Transfer-Encoding: identity\r\nContent-Length: 2\r\n\r\nhi", chunked + "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", put + "Transfer-Encoding: Chunked\r\n\r\n0\r\n\r\n",
		put + "Transfer-Encoding: chun\u212aed\r\n\r\n0\r\n\r\n", put + "Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n", put + "Transfer-Encoding:\r\n\r\nhi", put + "Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", put + "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
		// Chunks.
		chunked + "\r\n2;a=b\r\nhi\r\n0;c\r\n\r\n", chunked + "\r\n2;" + strings.Repeat("a", 5000) + "\r\nhi\r\n0\r\n\r\n", chunked + "\r\n2\nhi\r\n0\r\n\r\n", chunked + "\r\n2\r\nhi\n0\r\n\r\n", chunked + "\r\n2\r\nhi\r\n0\r\n\n", chunked + "\r\n2 \r\nhi\r\n0\r\n\r\n",
		chunked + "\r\n 2\r\nhi\r\n0\r\n\r\n", chunked + "\r\n0x2\r\nhi\r\n0\r\n\r\n", chunked + "\r\n+2\r\nhi\r\n0\r\n\r\n", chunked + "\r\n\r\nhi\r\n0\r\n\r\n", chunked + "\r\nffffffffffffffff\r\nhi\r\n0\r\n\r\n", chunked + "\r\n10000000000000002\r\nhi\r\n0\r\n\r\n",
		chunked + "\r\n2\r\nhi!\r\n0\r\n\r\n", chunked + "\r\n2\r\nhi\r\n", chunked + "\r\n2\r\nhi\r\n0\r\n", chunked + "\r\n" + strings.Repeat("1;"+strings.Repeat("x", 100)+"\r\na\r\n", 400) + "0\r\n\r\n", chunked + "\r\n" + strings.Repeat("1\r\na\r\n", 400) + "0\r\n\r\n",
		// Trailers.
		chunked + "\r\n2\r\nhi\r\n0\r\nA: b\r\n\r\n", chunked + "Trailer: A\r\n\r\n0\r\nA: b\r\n\r\n", chunked + "Trailer: Content-Length\r\n\r\n0\r\n\r\n", chunked + "Trailer: a, transfer-encoding\r\n\r\n0\r\n\r\n", chunked + "\r\n0\r\nA\r\n\r\n", chunked + "\r\n0\r\nA: b\r\n c\r\n\r\n",
		chunked + "\r\n0\r\nA: " + strings.Repeat("x", 5000) + "\r\n\r\n", chunked + "\r\n0\r\nA: b\n\r\n", chunked + "\r\n0\r\nA b: c\r\n\r\n", chunked + "\r\n0\r\nContent-Length: 3\r\n\r\n", chunked + "\r\n0\r\nA: b\r\n", put + "Trailer: Content-Length\r\nContent-Length: 0\r\n\r\n",
		// Lines and names.
		get + "A: b\r\n c\r\n\r\n", get + " A: b\r\n\r\n", get + "A: b\n\tc\n\n", get + "A : b\r\n\r\n", get + "A b: c\r\n\r\n", get + "A\x00: b\r\n\r\n", get + "A: b\x00c\r\n\r\n", get + "A: b\rc\r\n\r\n", get + "A: b\r\r\n\r\n", get + "A: b\x7f\r\n\r\n", get + "A: \xff\r\n\r\n",
		get + "\xff: a\r\n\r\n", get + ": b\r\n\r\n", get + "A\r\n\r\n", get + "A:\r\n\r\n", get + "A:  b \t\r\na: c\r\nx-ms-y: 1\r\nETAG: 2\r\n\r\n", "GET /a HTTP/1.1\nHost: h\n\n" + next, "GET /a HTTP/1.1\r\n Host: h\r\n\r\n", "GET /a HTTP/1.1\r\n\r\n", get + "\n" + next, get + "\r\r\n\r\n",
		get + strings.Repeat("A: b\r\n", 2000) + "\r\n", get + "A: " + strings.Repeat("x", 17<<10) + "\r\n\r\n", get + "A: " + strings.Repeat("x", 12<<10) + "\r\n\r\n" + next, get + "Pragma: no-cache\r\n\r\n", get + "Pragma: no-cache\r\nCache-Control: x\r\n\r\n",
		// Hosts.
		get + "Host: h\r\n\r\n", "GET /a HTTP/1.1\r\nHost:\r\n\r\n", "GET /a HTTP/1.1\r\nHost: a b\r\n\r\n", "GET /a HTTP/1.1\r\nHost: a@b\r\n\r\n", "GET /a HTTP/1.1\r\nHost: a/b\r\n\r\n", "GET http://x/a HTTP/1.1\r\nHost: h\r\n\r\n", "GET http://x/a HTTP/1.1\r\n\r\n", "GET /a HTTP/1.0\r\n\r\n", "GET http://a:b@x/ HTTP/1.1\r\nHost: h\r\n\r\n",
		// Request lines.
		"GET  /a HTTP/1.1\r\nHost: h\r\n\r\n", "GET /a  HTTP/1.1\r\nHost: h\r\n\r\n", "GET\t/a HTTP/1.1\r\nHost: h\r\n\r\n", "GET /a\r\n\r\n", "GET /a HTTP/1.1 x\r\nHost: h\r\n\r\n", "GET /a HTTP/1.1 \r\nHost: h\r\n\r\n", " GET /a HTTP/1.1\r\nHost: h\r\n\r\n", "GET /a HTTP/1.2\r\nHost: h\r\n\r\n", "GET /a HTTP/0.9\r\nHost: h\r\n\r\n",
		"GET /a HTTP/2.0\r\nHost: h\r\n\r\n", "GET /a http/1.1\r\nHost: h\r\n\r\n", "GET /a HTTP/1.10\r\nHost: h\r\n\r\n", "GET /a HTTP/01.1\r\nHost: h\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "G@T /a HTTP/1.1\r\nHost: h\r\n\r\n", "get /a HTTP/1.1\r\nHost: h\r\n\r\n", "GET /a\x01 HTTP/1.1\r\nHost: h\r\n\r\n",
		"GET /a\xff HTTP/1.1\r\nHost: h\r\n\r\n", "GET /%41%zz HTTP/1.1\r\nHost: h\r\n\r\n", "GET /%41%2f?%zz HTTP/1.1\r\nHost: h\r\n\r\n", "GET /a?b#c HTTP/1.1\r\nHost: h\r\n\r\n", "GET /a#c HTTP/1.1\r\nHost: h\r\n\r\n", "GET // HTTP/1.1\r\nHost: h\r\n\r\n", "GET //a/b HTTP/1.1\r\nHost: h\r\n\r\n", "GET ///a HTTP/1.1\r\nHost: h\r\n\r\n",
		"GET /? HTTP/1.1\r\nHost: h\r\n\r\n", "GET /?? HTTP/1.1\r\nHost: h\r\n\r\n", "GET /a!*'() HTTP/1.1\r\nHost: h\r\n\r\n", "GET /a[b] HTTP/1.1\r\nHost: h\r\n\r\n", "GET /a|b HTTP/1.1\r\nHost: h\r\n\r\n", "GET /a:b;c=d&e HTTP/1.1\r\nHost: h\r\n\r\n", "GET a HTTP/1.1\r\nHost: h\r\n\r\n", "GET ? HTTP/1.1\r\nHost: h\r\n\r\n",
		"GET * HTTP/1.1\r\nHost: h\r\n\r\n", "OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n", "CONNECT h:1 HTTP/1.1\r\nHost: h\r\n\r\n", "CONNECT h:1 HTTP/1.1\r\n\r\n", "CONNECT /a HTTP/1.1\r\nHost: h\r\n\r\n", "CONNECT  HTTP/1.1\r\nHost: h\r\n\r\n", "GET http: HTTP/1.1\r\nHost: h\r\n\r\n", "GET http://[::1]/ HTTP/1.1\r\nHost: h\r\n\r\n", "GET /a?\xe9 HTTP/1.1\r\nHost: h\r\n\r\n", "GET /é HTTP/1.1\r\nHost: h\r\n\r\n",
		"", "\x16\x03\x01\x02\x00", "SSH-2.0-x\r\n", "GET", "GET /a HTTP/1.1\r\nHost: h", "GET /a HTTP/1.1\r\nHost: h\r\n\r",
		// Connections.
		get + "Connection: close\r\n\r\n" + next, get + "Connection: Keep-Alive, CLOSE\r\n\r\n" + next, "GET /a HTTP/1.0\r\nHost: h\r\nConnection: keep-alive\r\n\r\n" + next, get + "Connection: upgrade\r\nUpgrade: h2c\r\n\r\n" + next, get + "Connection: x\r\nConnection: close\r\n\r\n" + next, get + "Connection: x close\r\n\r\n" + next,
		// Expectations.
		put + "Expect: 100-continue\r\nContent-Length: 2\r\n\r\nhi" + next, put + "Expect: 100-Continue\r\nContent-Length: 0\r\n\r\n" + next, put + "Expect: x\r\nContent-Length: 2\r\n\r\nhi", put + "Expect:\r\n\r\n" + next, put + "Expect: x\r\nExpect: 100-continue\r\n\r\n", put + "Expect: 100-continue x\r\n\r\n",
		"PUT /n HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nhi" + next, "PUT /a HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nhi", chunked + "Expect: 100-continue\r\n\r\n0\r\n\r\n",
	}
	return all
}

// FuzzRequests gives a connection's bytes to this server and to net/http's: both read
// the same requests. This one may refuse more, for a reason of which stricter knows
// when it may come, and may end the connection earlier behind what others could read
// in another way.
func FuzzRequests(f *testing.F) {
	for i, request := range oddRequests() {
		f.Add([]byte(request), uint16(0))
		f.Add([]byte(request), uint16(1+i%7))
	}
	f.Fuzz(func(t *testing.T, text []byte, step uint16) {
		size := int(step)
		if size == 0 {
			size = len(text) + 1
		}
		got, _ := readByOwn(text, size)
		want := readByStandard(text, size)
		if why := differ(got, want, text); why != "" {
			t.Errorf("%q, in pieces of %d: %s", text, size, why)
		}
	})
}

// oddTrailer is in content of which this server refuses the trailers.
var oddTrailer = regexp.MustCompile(`\n[ \t]|(^|[^\r])\n|\n[^:\r\n]* [^:\r\n]*:`)

func differ(got, want *readings, text []byte) string {
	for i, g := range got.all {
		if i >= len(want.all) {
			return fmt.Sprintf("got %+v, net/http reads only %d", g, len(want.all))
		}
		w := want.all[i]
		if w.Chunked && g.Broken && (oddTrailer.Match(text) || len(text) > maxTrailers) {
			w.Content, w.Broken = "", true
		}
		if !reflect.DeepEqual(g, w) {
			return fmt.Sprintf("request %d: got %+v, net/http reads %+v", i, g, w)
		}
	}
	if len(got.all) == len(want.all) {
		return ""
	}
	if n := len(got.all); n > 0 && got.refused == nil {
		if last := got.all[n-1]; last.Chunked || last.Proto == "HTTP/1.0" || last.Broken {
			return ""
		}
	}
	next := want.all[len(got.all)]
	if got.refused == nil || !stricter(got.refused, next, text) {
		return fmt.Sprintf("refused: %v, net/http reads %+v", got.refused, next)
	}
	return ""
}

// stricter reports whether this server may refuse for a reason what net/http reads.
func stricter(reason *connections.Refusal, next reading, text []byte) bool {
	is := func(of *connections.Refusal) bool { return *reason == *of }
	switch {
	case is(errTooLarge):
		return len(text) > 4000
	case is(errManyLines):
		return bytes.Count(text, []byte("\n")) > MaxLines
	case is(errFolded):
		return bytes.Contains(text, []byte("\n ")) || bytes.Contains(text, []byte("\n\t"))
	case is(errOldEncoding):
		return next.Proto == "HTTP/1.0"
	case is(errRequestLine):
		return next.Target == "" // of a CONNECT
	case is(errNoHost):
		return next.Method == http.MethodConnect
	case is(errVersion):
		return next.Proto != "HTTP/1.1" && next.Proto != "HTTP/1.0"
	case is(errExpectation):
		return strings.Contains(strings.ToLower(next.Header.Get("Expect")), "100-continue")
	}
	return false
}
