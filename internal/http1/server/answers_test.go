package server

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"portico/tracing/headers"
)

// handlers answer in all ways that handlers do.
var handlers = map[string]http.HandlerFunc{
	"nothing":             func(http.ResponseWriter, *http.Request) {},
	"a status":            func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusConflict) },
	"a status of no name": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(599) },
	"no content":          func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
	"not modified": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Etag", "x")
		w.Header().Set("Content-Length", "10")
		w.WriteHeader(http.StatusNotModified)
	},
	"content where none may be": func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNoContent)
		if _, err := w.Write([]byte("x")); !errors.Is(err, http.ErrBodyNotAllowed) {
			panic(err)
		}
	},
	"short":          func(w http.ResponseWriter, _ *http.Request) { write(w, 100, 1) },
	"in parts":       func(w http.ResponseWriter, _ *http.Request) { write(w, 10, 100) },
	"long":           func(w http.ResponseWriter, _ *http.Request) { write(w, 100000, 1) },
	"long, in parts": func(w http.ResponseWriter, _ *http.Request) { write(w, 999, 300) },
	"flushed": func(w http.ResponseWriter, _ *http.Request) {
		write(w, 3, 1)
		w.(http.Flusher).Flush()
		write(w, 3, 1)
		_ = http.NewResponseController(w).Flush()
		write(w, 10000, 3)
	},
	"a length":       func(w http.ResponseWriter, _ *http.Request) { declare(w, 100); write(w, 100, 1) },
	"a length of 0":  func(w http.ResponseWriter, _ *http.Request) { declare(w, 0) },
	"a large length": func(w http.ResponseWriter, _ *http.Request) { declare(w, 300000); write(w, 1000, 300) },
	"a length at the buffer's end": func(w http.ResponseWriter, _ *http.Request) {
		declare(w, 8*1021)
		write(w, 1021, 8)
	},
	"less than its length": func(w http.ResponseWriter, _ *http.Request) { declare(w, 100); write(w, 50, 1) },
	"more than its length": func(w http.ResponseWriter, _ *http.Request) {
		declare(w, 4)
		w.Header()["Content-Type"] = nil
		_, _ = w.Write([]byte("abcd"))
		if _, err := w.Write([]byte("e")); !errors.Is(err, http.ErrContentLength) {
			panic(err)
		}
	},
	"headers": func(w http.ResponseWriter, _ *http.Request) {
		w.Header()["X-Several"] = []string{"a", "b"}
		w.Header()["x-as-it-is"] = []string{" c "}
		w.Header()["Content-Type"] = nil
		w.Header().Set("Date", "today")
		w.Header().Set("X-Split", "a\r\nX-Evil: b")
		w.Header()["X Evil"] = []string{"c"}
		w.Header()["X-Evil\r\n"] = []string{"d"}
		write(w, 10, 1)
		w.Header().Set("X-Late", "e")
	},
	"own headers": func(w http.ResponseWriter, _ *http.Request) {
		headers.SetOwn(w, headers.Fields{{Name: "X-Own", Value: "a"}})
		headers.SetOwn(w, headers.Fields{{Name: "X-Own", Value: " b "}, {Name: "X-Split", Value: "a\r\nX-Evil: b"}})
		w.Header().Set("X-Other", "c")
		write(w, 10, 1)
		headers.SetOwn(w, headers.Fields{{Name: "X-Late", Value: "e"}})
	},
	"the end of the connection": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Connection", "close"); write(w, 10, 1) },
	"a second status": func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusAccepted)
		w.WriteHeader(http.StatusConflict)
	},
	"many headers": func(w http.ResponseWriter, _ *http.Request) {
		for i := range 100 {
			w.Header().Set(fmt.Sprintf("X-%d", i), strings.Repeat("x", 100))
		}
		write(w, 3000, 1)
	},
	"many headers and a length": func(w http.ResponseWriter, _ *http.Request) {
		for i := range 100 {
			w.Header().Set(fmt.Sprintf("X-%d", i), strings.Repeat("x", 100))
		}
		declare(w, 3000)
		write(w, 3000, 1)
	},
}

func declare(w http.ResponseWriter, n int) { w.Header().Set("Content-Length", itoa(n)) }

func write(w http.ResponseWriter, n, times int) {
	if _, ok := w.Header()["Content-Type"]; !ok {
		w.Header()["Content-Type"] = []string{"text/x"} // net/http would guess one
	}
	for i := range times {
		_, _ = w.Write([]byte(strings.Repeat(string(rune('a'+i%26)), n)))
	}
}

// What a handler writes becomes the answer that net/http's server makes of it.
func TestAnswers(t *testing.T) {
	t.Parallel()
	route := func(w http.ResponseWriter, r *http.Request) { handlers[r.Header.Get("X-How")](w, r) }
	own := start(t, route)
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	standard := http.Server{Handler: http.HandlerFunc(route), ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0)}
	served := make(chan struct{})
	go func() { defer close(served); _ = standard.Serve(l) }()
	t.Cleanup(func() { _ = standard.Close(); <-served })
	other := &site{Server: own.Server, address: l.Addr().String()}

	for how := range handlers {
		for _, line := range []string{"GET /a HTTP/1.1", "HEAD /a HTTP/1.1", "GET /a HTTP/1.0", "GET /a HTTP/1.1\r\nConnection: close"} {
			method, _, _ := strings.Cut(line, " ")
			text := line + "\r\nHost: h\r\nX-How: " + how + "\r\n\r\n"
			ask := func(s *site) (answer, bool) {
				c := s.dial(t)
				c.send(text)
				got := c.answer(method)
				if date := got.header["Date"]; len(date) == 1 && strings.HasSuffix(date[0], " GMT") {
					got.header["Date"] = []string{"now"}
				}
				if strings.Contains(line, "HTTP/1.0") {
					delete(got.header, "Connection") // it is closed in any case
				}
				got.broken, got.err = got.err != nil, nil
				if got.close || got.broken {
					return got, false
				}
				_, _ = io.WriteString(c, "GET /a HTTP/1.1\r\nHost: h\r\nX-How: nothing\r\n\r\n")
				return got, c.answer(http.MethodGet).err == nil
			}
			got, gotNext := ask(own)
			want, wantNext := ask(other)
			if want.header["Content-Length"] == nil && method == http.MethodHead {
				delete(got.header, "Content-Length") // which a GET would have shown
			}
			if len(got.content) > 100 && got.content == want.content {
				got.content, want.content = "", ""
			}
			if fmt.Sprint(got) != fmt.Sprint(want) || gotNext != wantNext {
				t.Errorf("%s, %q:\n%+v, another follows: %v; net/http:\n%+v, %v", how, line, got, gotNext, want, wantNext)
			}
		}
	}
}

// A flushed part is on its way before the handler returns.
func TestFlush(t *testing.T) {
	t.Parallel()
	goOn := make(chan struct{})
	c := start(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "first")
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
		<-goOn
		_, _ = io.WriteString(w, "second")
	}).dial(t)
	c.send(get)
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	first := make([]byte, 5)
	if _, err := io.ReadFull(res.Body, first); err != nil || string(first) != "first" {
		t.Fatalf("%q, %v", first, err)
	}
	close(goOn)
	if rest, err := io.ReadAll(res.Body); err != nil || string(rest) != "second" {
		t.Fatalf("%q, %v", rest, err)
	}
}

// A client that does not take its answer has the time that the handler gives it.
func TestClientsThatDoNotRead(t *testing.T) {
	t.Parallel()
	const soon = 10 * time.Millisecond
	for how, bound := range map[string]func(http.ResponseWriter) error{
		"a deadline": func(w http.ResponseWriter) error {
			return http.NewResponseController(w).SetWriteDeadline(time.Now().Add(soon))
		},
		"a time from its head": func(w http.ResponseWriter) error {
			w.WriteHeader(http.StatusOK)
			return within(w, soon)
		},
		"a time before its head": func(w http.ResponseWriter) error { return within(w, soon) },
	} {
		failed := make(chan error, 1)
		c := start(t, func(w http.ResponseWriter, _ *http.Request) {
			if err := bound(w); err != nil {
				t.Errorf("%s: %v", how, err)
			}
			_, err := w.Write(make([]byte, 64<<20))
			failed <- err
		}).dial(t)
		c.send(get)
		if err := <-failed; !timedOut(err) {
			t.Errorf("%s: %v", how, err)
		}
	}
}

// within bounds an answer as an observer of requests does.
func within(w http.ResponseWriter, d time.Duration) error {
	own, ok := w.(interface{ WriteWithin(time.Duration) })
	if !ok {
		return errors.ErrUnsupported
	}
	own.WriteWithin(d)
	return nil
}

// A time that is long enough does not end an answer whose head has not been written.
func TestTimeForAnAnswer(t *testing.T) {
	t.Parallel()
	c := start(t, func(w http.ResponseWriter, _ *http.Request) {
		if err := within(w, time.Minute); err != nil {
			t.Error(err)
		}
		write(w, 100, 1)
	}).dial(t)
	c.send(get)
	c.want(http.StatusOK, strings.Repeat("a", 100))
}

// A connection is the server's: no one takes it over.
func TestConnectionsCannotBeTakenOver(t *testing.T) {
	t.Parallel()
	c := start(t, func(w http.ResponseWriter, _ *http.Request) {
		_, _, err := http.NewResponseController(w).Hijack()
		fmt.Fprint(w, errors.Is(err, http.ErrNotSupported))
	}).dial(t)
	c.send(get)
	c.want(200, "true")
}

// What a handler left behind cannot reach another answer.
func TestLateWrites(t *testing.T) {
	t.Parallel()
	var late http.ResponseWriter
	c := start(t, func(w http.ResponseWriter, r *http.Request) {
		if late == nil {
			late = w
			w.Header().Set("X-First", "1")
			return
		}
		late.Header().Set("X-Late", "1")
		late.WriteHeader(http.StatusTeapot)
		if _, err := io.WriteString(late, "late"); err == nil {
			t.Error("a late write")
		}
		if err := http.NewResponseController(late).Flush(); err == nil {
			t.Error("a late flush")
		}
		if _, err := r.Body.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("%v", err)
		}
	}).dial(t)
	c.send(get + get)
	c.want(200, "")
	if got := c.want(200, ""); got.header["X-Late"] != nil || got.header["X-First"] != nil {
		t.Errorf("%v", got.header)
	}
}

// One answer is one write, unless it is long.
func TestAnswersGoOutAtOnce(t *testing.T) {
	t.Parallel()
	counted := func(handler http.HandlerFunc) int {
		conn := &countedScript{script: newScript([]byte(get), 1000)}
		listener := onceFor(conn)
		server := New(Options{Handler: handler, ReadHeaderTimeout: time.Minute, IdleTimeout: time.Minute, MaxHead: 16 << 10})
		served := make(chan struct{})
		go func() { defer close(served); _ = server.Serve(listener) }()
		<-conn.closed
		_ = server.Close()
		<-served
		server.running.Wait()
		return conn.writes
	}
	for how, want := range map[string]int{"nothing": 1, "short": 1, "in parts": 1, "a length": 1, "long": 3, "no content": 1} {
		if got := counted(handlers[how]); got > want {
			t.Errorf("%s: %d writes, want %d", how, got, want)
		}
	}
}

// countedScript counts writes.
type countedScript struct {
	*script
	writes int
}

func (s *countedScript) Write(p []byte) (int, error) {
	s.writes++
	return s.script.Write(p)
}
