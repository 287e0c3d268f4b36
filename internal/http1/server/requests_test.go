package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"portico/internal/connections"
)

func itoa(n int) string { return strconv.Itoa(n) }

func TestRequestsFollowEachOther(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*site){"plain": func(*site) {}, "TLS": withTLS(t)} {
		c := start(t, echo, change).dial(t)
		c.send(get + put("one") + "POST /a HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\ntwo\r\n" + get)
		for _, want := range []string{"GET ", "PUT one", "POST two", "GET "} {
			if got := c.want(200, want); got.close {
				t.Errorf("%s: %q ends the connection", name, want)
			}
		}
		large := strings.Repeat("x", 100<<10)
		for range 3 {
			c.send(put(large) + get)
			c.want(200, "PUT "+large)
			c.want(200, "GET ")
		}
		for _, b := range []byte(put("slow")) {
			c.send(string(b))
		}
		c.want(200, "PUT slow")
	}
}

func TestConnectionsEnd(t *testing.T) {
	t.Parallel()
	s := start(t, echo)
	chunks := "PUT /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"
	for name, text := range map[string]string{
		"asked for": "GET /a HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n", "HTTP/1.0": "GET /a HTTP/1.0\r\n\r\n", "HTTP/1.0 that stays": "GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", "chunks": chunks,
	} {
		c := s.dial(t)
		c.send(text + get)
		if got := c.answer(http.MethodGet); got.status != 200 || !got.close {
			t.Errorf("%s: %+v", name, got)
		}
		c.wantEnd()
	}
}

// What is no request gets an answer that says why, and nothing follows it.
func TestRefusals(t *testing.T) {
	t.Parallel()
	s := start(t, echo, func(s *site) {
		s.options.Describe = func(why connections.Refusal) (string, []byte) { return "text/x", []byte(why.Header + ": " + why.Why) }
	})
	for text, want := range map[string]*connections.Refusal{
		"hello\r\n":                                                                            errRequestLine,
		"GET /%zz HTTP/1.1\r\nHost: h\r\n\r\n":                                                 errTarget,
		"GET /a HTTP/1.1\r\nA b\r\n":                                                           errFieldLine,
		"GET /a HTTP/1.1\r\nHost: h\r\nA: b\r\n c\r\n":                                         errFolded,
		"GET /a HTTP/1.1\r\n\r\n":                                                              errNoHost,
		"GET /a HTTP/1.1\r\nHost: h\r\nHost: i\r\n\r\n":                                        errHost,
		"GET /a HTTP/3.0\r\n":                                                                  errVersion,
		"PUT /a HTTP/1.1\r\nHost: h\r\nContent-Length: 1, 1\r\n\r\n":                           errLength,
		"PUT /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip\r\n\r\n":                        errEncoding,
		"PUT /a HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n":                                errOldEncoding,
		"PUT /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nTrailer: Trailer\r\n\r\n": errTrailer,
		"PUT /a HTTP/1.1\r\nHost: h\r\nExpect: more\r\n\r\n":                                   errExpectation,
		"GET /a HTTP/1.1\r\nHost: h\r\nA: " + strings.Repeat("x", 1<<20):                       errTooLarge,
		"GET /" + strings.Repeat("x", 1<<20):                                                   errTooLarge,
	} {
		c := s.dial(t)
		go func() { _, _ = io.WriteString(c, text+get) }() // it may not get that far
		got := c.answer(http.MethodGet)
		if got.status != want.Status || got.content != want.Header+": "+want.Why || got.header.Get("Content-Type") != "text/x" || !got.close {
			t.Errorf("%.60q: %+v, want %v", text, got, want)
		}
		c.wantEnd()
		_, err := ReadRequest(t.Context(), []byte(text+get), s.options.MaxHead)
		if why, ok := errors.AsType[*connections.Refusal](err); !ok || why != want {
			t.Errorf("%.60q: read as %v, want %v", text, err, want)
		}
	}
}

// A request is read from bytes as from a connection.
func TestReadRequest(t *testing.T) {
	t.Parallel()
	for text, content := range map[string]string{
		get: "", put("hi") + get: "hi", put(strings.Repeat("x", 100<<10)): strings.Repeat("x", 100<<10),
		"PUT /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n": "hi",
		"PUT /a HTTP/1.1\nHost: h\nExpect: 100-continue\nContent-Length: 2\n\nhi":              "hi",
	} {
		r, err := ReadRequest(t.Context(), []byte(text), 16<<10)
		if err != nil {
			t.Fatalf("%.60q: %v", text, err)
		}
		got, err := io.ReadAll(r.Body)
		if err != nil || string(got) != content || r.URL.Path != "/a" || r.Host != "h" || connections.Ambiguous(r.Context()) {
			t.Errorf("%.60q: %.60q, %v of %s at %s", text, got, err, r.URL, r.Host)
		}
	}
	r, err := ReadRequest(t.Context(), []byte("PUT /a HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nhi"), 16<<10)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(r.Body); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("content that is cut: %v", err)
	}
	r, err = ReadRequest(t.Context(), []byte("PUT /a HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"), 16<<10)
	if err != nil || !connections.Ambiguous(r.Context()) {
		t.Errorf("a length beside chunks: %v", err)
	}
	for _, cut := range []string{"", "GET", "GET /a HTTP/1.1\r\n", "GET /a HTTP/1.1\r\nHost: h\r\n"} {
		if _, err := ReadRequest(t.Context(), []byte(cut), 16<<10); !errors.Is(err, io.EOF) {
			t.Errorf("%q: %v", cut, err)
		}
	}
}

// A head has a bounded time from its first byte on, a connection from its beginning.
func TestSlowHeads(t *testing.T) {
	t.Parallel()
	s := start(t, echo, func(s *site) { s.options.ReadHeaderTimeout = 50 * time.Millisecond })
	silent, part, second := s.dial(t), s.dial(t), s.dial(t)
	part.send("GET /a HT")
	second.send(get)
	second.want(200, "GET ")
	second.send("GET /a HTTP/1.1\r\nHo")
	for _, c := range []*client{silent, part, second} {
		c.wantEnd()
	}
}

// Content has the time that the handler gives it.
func TestSlowContent(t *testing.T) {
	t.Parallel()
	failed := make(chan error, 1)
	c := start(t, func(w http.ResponseWriter, r *http.Request) {
		if err := http.NewResponseController(w).SetReadDeadline(time.Now().Add(20 * time.Millisecond)); err != nil {
			t.Error(err)
		}
		_, err := io.ReadAll(r.Body)
		failed <- err
		w.WriteHeader(http.StatusRequestTimeout)
	}).dial(t)
	c.send("PUT /a HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nhalf")
	if err := <-failed; !timedOut(err) {
		t.Errorf("%v", err)
	}
	if got := c.want(408, ""); !got.close {
		t.Error("the connection stays")
	}
	c.wantEnd()
}

// A client that waits to be asked for its content is asked once the handler reads it,
// and not at all if it does not.
func TestExpectedContinue(t *testing.T) {
	t.Parallel()
	s := start(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/a" {
			echo(w, r)
			return
		}
		w.WriteHeader(http.StatusForbidden)
	})
	const expects = " HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n"
	c := s.dial(t)
	c.send("PUT /a" + expects)
	if line, err := c.read.ReadString('\n'); err != nil || line != "HTTP/1.1 100 Continue\r\n" {
		t.Fatalf("%q, %v", line, err)
	}
	if line, err := c.read.ReadString('\n'); err != nil || line != "\r\n" {
		t.Fatalf("%q, %v", line, err)
	}
	c.send("hi" + get)
	c.want(200, "PUT hi")
	c.want(200, "GET ")
	c.send("PUT /refused" + expects)
	if got := c.want(403, ""); !got.close {
		t.Error("the connection stays")
	}
	c.wantEnd()
}

// Content that the handler leaves is read if it is little; else the connection ends,
// after the answer was taken.
func TestUnreadContent(t *testing.T) {
	t.Parallel()
	s := start(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "no") })
	c := s.dial(t)
	c.send(put(strings.Repeat("x", 100<<10)) + get)
	c.want(200, "no")
	c.want(200, "no")
	large := s.dial(t)
	go func() { _, _ = io.WriteString(large, put(strings.Repeat("x", 4<<20))+get) }() // it fails
	if got := large.want(200, "no"); !got.close {
		t.Error("the connection stays")
	}
}

// The context of a request ends when its client goes away, and with the handler.
func TestClientsThatGo(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*site){"plain": func(*site) {}, "TLS": withTLS(t)} {
		contexts, ended := make(chan context.Context, 1), make(chan error, 1)
		s := start(t, func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/content":
				_, err := io.ReadAll(r.Body)
				ended <- err
			case "/answer":
				_, err := w.Write(make([]byte, 64<<20))
				if err != nil {
					<-r.Context().Done()
				}
				ended <- err
			case "/wait":
				_, _ = io.Copy(io.Discard, r.Body)
				contexts <- r.Context()
				<-r.Context().Done()
				ended <- r.Context().Err()
			default:
				contexts <- r.Context()
			}
		}, change)
		c := s.dial(t)
		c.send("PUT /wait HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\nhi")
		<-contexts
		_ = c.Close()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("%s: in the handler: %v", name, err)
		}
		c = s.dial(t)
		c.send("PUT /content HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nhi")
		_ = c.Close()
		if err := <-ended; err == nil {
			t.Errorf("%s: in the content: no error", name)
		}
		c = s.dial(t)
		c.send("GET /answer HTTP/1.1\r\nHost: h\r\n\r\n")
		_, _ = c.read.ReadByte()
		_ = c.Close()
		if err := <-ended; err == nil {
			t.Errorf("%s: in the answer: no error", name)
		}
		c = s.dial(t)
		c.send(get)
		c.want(200, "")
		if ctx := <-contexts; ctx.Err() == nil {
			t.Errorf("%s: the context outlasts its request", name)
		}
	}
}

// What a client sends while its request takes long is its next request.
func TestRequestsThatComeEarly(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*site){"plain": func(*site) {}, "TLS": withTLS(t)} {
		goOn := make(chan struct{})
		s := start(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet {
				<-goOn
			}
			if r.Context().Err() != nil {
				w.WriteHeader(http.StatusTeapot)
			}
			echo(w, r)
		}, change)
		c := s.dial(t)
		await := func() {
			await(t, "a second reader", func() (read bool) {
				s.watch.Each(func(c *conn) { read = c.state.Load() == watched })
				return read
			})
		}
		for range 2 {
			c.send(get)
			await()
			c.send(put("early"))
			goOn <- struct{}{}
			c.want(200, "GET ")
			c.want(200, "PUT early")
		}
		c.send(get)
		await()
		goOn <- struct{}{} // nothing came
		c.want(200, "GET ")
		c.send(put(name))
		c.want(200, "PUT "+name)
	}
}

// A connection that waits long gives up its buffers, and is served as before.
func TestParkedConnections(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*site){"plain": func(*site) {}, "TLS": withTLS(t)} {
		states := make(chan http.ConnState, 100)
		s := start(t, echo, change, func(s *site) {
			s.parkAfter = -2 * slack // at once
			s.options.ConnState = func(_ connOf, state http.ConnState) { states <- state }
		})
		c := s.dial(t)
		for i := range 3 {
			c.send(put(itoa(i)))
			c.want(200, "PUT "+itoa(i))
			s.awaitParked(t)
		}
		_ = c.Close()
		for _, want := range []http.ConnState{http.StateNew, http.StateActive, http.StateIdle, http.StateActive, http.StateIdle, http.StateActive, http.StateIdle, http.StateClosed} {
			if got := <-states; got != want {
				t.Errorf("%s: %v, want %v", name, got, want)
			}
		}
	}
}

// A handler that panics ends the connection; only what is no [http.ErrAbortHandler] is
// logged. Headers that it had set are not in another answer.
func TestPanics(t *testing.T) {
	t.Parallel()
	s := start(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Of", r.URL.Path)
		switch r.URL.Path {
		case "/abort":
			panic(http.ErrAbortHandler)
		case "/fault":
			panic(errors.New("a fault"))
		case "/half":
			w.Header().Set("Content-Length", "100000")
			_, _ = w.Write(make([]byte, 50000))
			panic(http.ErrAbortHandler)
		}
		w.Header().Del("X-Of")
	})
	for _, path := range []string{"/abort", "/half", "/fault"} {
		c := s.dial(t)
		c.send("GET " + path + " HTTP/1.1\r\nHost: h\r\n\r\n" + get)
		if got := c.answer(http.MethodGet); got.err == nil {
			t.Errorf("%s: a whole answer: %+v", path, got)
		}
		if log := s.log.String(); strings.Contains(log, "panic serving") != (path == "/fault") {
			t.Errorf("%s: %s", path, log)
		}
		c = s.dial(t)
		c.send(get)
		if got := c.want(200, ""); got.header["X-Of"] != nil {
			t.Errorf("after %s: %v", path, got.header)
		}
	}
}

// Content is not read behind a handler that panicked: the buffer is another connection's.
func TestContentEndsWithAPanic(t *testing.T) {
	t.Parallel()
	started, read := make(chan struct{}), make(chan error, 1)
	s := start(t, func(_ http.ResponseWriter, r *http.Request) {
		go func() {
			close(started)
			_, err := io.Copy(io.Discard, r.Body)
			read <- err
		}()
		<-started
		panic(http.ErrAbortHandler)
	})
	c := s.dial(t)
	c.send("PUT /a HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhi")
	if got := c.answer(http.MethodPut); got.err == nil {
		t.Errorf("an answer: %+v", got)
	}
	select {
	case err := <-read:
		if err == nil {
			t.Error("content that did not come was read")
		}
	case <-time.After(patience):
		t.Error("the content is still awaited")
	}
}

func TestAmbiguousRequestsAreMarked(t *testing.T) {
	t.Parallel()
	s := start(t, func(w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		fmt.Fprint(w, connections.Ambiguous(ctx))
	})
	for text, want := range map[string]string{
		get: "false", put("hi"): "false",
		"PUT /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n":                      "false",
		"PUT /a HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n": "true",
		"PUT /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n0\r\n\r\n": "true",
	} {
		c := s.dial(t)
		c.send(text)
		c.want(200, want)
	}
}

// Connections on which a client has agreed to HTTP/2 go to another server.
func TestHTTP2GoesToAnother(t *testing.T) {
	t.Parallel()
	s := start(t, echo, withTLS(t, "h2", "http/1.1"), func(s *site) {
		s.options.HTTP2 = &http.Server{
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.Proto) }), TLSConfig: s.secured, ReadHeaderTimeout: time.Minute,
		}
	})
	for protocol, want := range map[string]string{"h2": "HTTP/2.0", "http/1.1": "GET "} {
		transport := &http.Transport{ForceAttemptHTTP2: protocol == "h2", TLSClientConfig: &tls.Config{InsecureSkipVerify: true, NextProtos: []string{protocol}}} //nolint:gosec // the server's identity does not matter here
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+s.address+"/a", nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := transport.RoundTrip(r)
		if err != nil {
			t.Fatal(err)
		}
		content, _ := io.ReadAll(res.Body)
		_ = res.Body.Close()
		transport.CloseIdleConnections()
		if string(content) != want {
			t.Errorf("%s: %q", protocol, content)
		}
	}
}
