package server

import (
	"context"
	"errors"
	"net"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"
)

type connOf = net.Conn

// Shutdown closes connections without a request, waits for the others, whose answers
// say that they are the last, and accepts no more.
func TestShutdown(t *testing.T) {
	t.Parallel()
	began, goOn := make(chan struct{}), make(chan struct{})
	s := start(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/wait" {
			began <- struct{}{}
			<-goOn
		}
		echo(w, r)
	})
	fresh, idle, active := s.dial(t), s.dial(t), s.dial(t)
	idle.send(get)
	idle.want(200, "GET ")
	active.send("GET /wait HTTP/1.1\r\nHost: h\r\n\r\n")
	<-began
	short, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Shutdown(short); !errors.Is(err, context.Canceled) {
		t.Errorf("with a request under way: %v", err)
	}
	fresh.wantEnd()
	idle.wantEnd()
	ended := make(chan error, 1)
	go func() { ended <- s.Shutdown(context.WithoutCancel(t.Context())) }()
	goOn <- struct{}{}
	if got := active.want(200, "GET "); !got.close {
		t.Error("the last answer does not say so")
	}
	active.wantEnd()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", s.address); err == nil {
		_ = c.Close()
		t.Error("it accepts connections")
	}
	if err := s.Serve(onceFor(newScript(nil, 1))); !errors.Is(err, http.ErrServerClosed) {
		t.Errorf("%v", err)
	}
}

// Close ends connections with requests under way as well.
func TestClose(t *testing.T) {
	t.Parallel()
	began := make(chan struct{})
	s := start(t, func(_ http.ResponseWriter, r *http.Request) {
		close(began)
		<-r.Context().Done()
	})
	c := s.dial(t)
	c.send(get)
	<-began
	_ = s.Close()
	c.wantEnd()
}

// A server leaves no goroutine behind, whatever its connections were doing.
func TestNoGoroutineIsLeft(t *testing.T) {
	before := runtime.NumGoroutine()
	began := make(chan struct{}, 10)
	s := start(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/wait" {
			began <- struct{}{}
			<-r.Context().Done()
		}
		echo(w, r)
	}, func(s *site) { s.parkAfter = -2 * slack })
	for _, text := range []string{"", "GET /a HT", get, "GET /wait HTTP/1.1\r\nHost: h\r\n\r\n", "PUT /a HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\nhalf", get + strings.Repeat("x", 100)} {
		s.dial(t).send(text)
	}
	<-began
	_ = s.Close()
	s.running.Wait()
	await(t, "as few goroutines as before", func() bool { return runtime.NumGoroutine() <= before+1 }) // Serve returns in the fixture
}

// A connection that waits holds neither buffers nor a large stack.
func TestIdleConnectionsAreSmall(t *testing.T) {
	const number, most = 1000, 16 << 10 // bytes, with what the test itself holds of each
	s := start(t, echo, func(s *site) { s.parkAfter = -2 * slack })
	var clients []*client
	for range 10 { // so that what grows once has grown
		clients = append(clients, s.dial(t))
	}
	memory := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapInuse + m.StackInuse
	}
	before := memory()
	for range number {
		c := s.dial(t)
		c.read.Reset(c)
		clients = append(clients, c)
	}
	for _, c := range clients {
		c.send(get)
		c.want(200, "GET ")
	}
	s.awaitParked(t)
	time.Sleep(10 * time.Millisecond) // for goroutines that end
	each := int64(memory()-before) / number
	t.Logf("%d bytes", each)
	if each > most {
		t.Errorf("an idle connection takes %d bytes", each)
	}
}
