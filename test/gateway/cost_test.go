package gateway_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"portico/internal/http1/server"
	"portico/internal/logs"
)

// sentBody is the resource that the provider of these tests answers with.
var sentBody = `{"id":"` + machinePath("g", "m") + `","location":"westus","properties":{"fill":"` + strings.Repeat("x", 900) + `"}}`

// callOf is a GET of the machine m as the Azure SDKs send it.
var callOf = "GET " + machinePath("g", "m") + api + " HTTP/1.1\r\nHost: portico.example\r\nUser-Agent: azsdk-go-armcompute/v6.0.0 (go1.26; linux)\r\n" +
	"Accept: application/json\r\nAuthorization: " + bearer(secret) + "\r\nX-Ms-Client-Request-Id: 3f0a9c6e-3d9a-4a6e-8f43-6f0b8a6a5c11\r\nAccept-Encoding: gzip\r\n\r\n"

// warmSite is a site with tokens and a log, whose scopes are read from memory and
// whose machine m is in the location cache.
func warmSite(t testing.TB) *site { return warmSiteOf(t, setup{}, "") }

// warmSiteOf is a warm site with settings for roles or traces, whose caller is assigned a
// role in the subscription.
func warmSiteOf(t testing.TB, as setup, role string) *site {
	t.Helper()
	log, err := logs.New("info", io.Discard, false)
	must(t, err)
	access, lines := logs.Access(log)
	ctx, cancel := context.WithCancel(context.Background())
	var written sync.WaitGroup
	written.Go(func() { lines.Run(ctx) })
	t.Cleanup(func() { cancel(); written.Wait() })
	as.alone, as.tokens, as.log, as.access = true, true, log, access
	as.sections = "throttle: {reads: {bucket: 1000000000, perSecond: 1}}\n" // they count, and refuse nothing
	as.types = fmt.Sprintf(declarations, fmt.Sprintf("westus: [%[1]q], global: [%[1]q]", startPlainProvider(t)))
	s := newSite(t, as)
	if role != "" {
		s.assign(callers[secret].ObjectID, role, inSubscription)
	}
	s.ok(201, "PUT", groupPath("g")+own, westus, "Authorization", bearer(secret))
	s.ok(200, "PUT", machinePath("g", "m")+api, westus, "Authorization", bearer(secret))
	s.ok(200, "GET", machinePath("g", "m")+api, "", "Authorization", bearer(secret))
	return s
}

// discard is a client that takes any answer.
type discard struct {
	header http.Header
	status int
	bytes  int
}

func (w *discard) Header() http.Header         { return w.header }
func (w *discard) WriteHeader(status int)      { w.status = status }
func (w *discard) Write(p []byte) (int, error) { w.bytes += len(p); return len(p), nil }

func (w *discard) SetReadDeadline(time.Time) error  { return nil }
func (w *discard) SetWriteDeadline(time.Time) error { return nil }

// reads sends the same GET to a handler again and again, as net/http would.
type reads struct {
	handler      http.Handler
	first, again *http.Request
	w            discard
}

func newReads(t testing.TB, handler http.Handler) *reads {
	t.Helper()
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(callOf)))
	must(t, err)
	r.RemoteAddr = "192.0.2.1:1234"
	again := *r
	again.Header = http.Header{}
	return &reads{handler: handler, first: r, again: &again, w: discard{header: http.Header{}}}
}

func (s *reads) read(t testing.TB) {
	clear(s.w.header)
	clear(s.again.Header)
	maps.Copy(s.again.Header, s.first.Header)
	s.w.status, s.w.bytes = 0, 0
	s.handler.ServeHTTP(&s.w, s.again)
	if s.w.status != http.StatusOK || s.w.bytes != len(sentBody) {
		t.Fatalf("%d, %d bytes", s.w.status, s.w.bytes)
	}
}

// allocated is how much a function allocates, in the mean of many calls and to a fraction:
// the race detector has pools forget now and then, and a mean that is rounded down to a
// whole number can differ by one where nothing else does.
func allocated(f func()) float64 {
	const calls = 2000
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	f() // what is made once
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range calls {
		f()
	}
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / calls
}

// less is less than any allocation for each request would add.
const less = 0.5

// fewest is how much a function allocates, in the least of a few means: in each of them,
// what else the process does in the meantime counts as well.
func fewest(f func()) float64 {
	least := testing.AllocsPerRun(500, f)
	for range 3 {
		least = min(least, testing.AllocsPerRun(500, f))
	}
	return least
}

// The allocations of a warm read, with all checks, metrics and a line of the log, do
// not depend on the machine: they are held to bounds. Those of the gateway itself are
// a request, an exchange, what is observed of it, its ids, its caller, a map of headers
// with their values, and its call of the provider.
func TestWarmReadAllocatesLittle(t *testing.T) {
	reads := newReads(t, warmSite(t).gateway.Public())
	if n := fewest(func() { reads.read(t) }); n > mostInGateway {
		t.Errorf("%v allocations in the gateway, want %d at most", n, mostInGateway)
	}
	way := newWholeWay(t, warmSite(t))
	if n := fewest(func() { way.read(t) }); n > mostOnTheWay {
		t.Errorf("%v allocations from the client's request to its answer, want %d at most", n, mostOnTheWay)
	}
}

// The way of a warm read through the gateway to its provider, without a server.
func BenchmarkChain(b *testing.B) {
	reads := newReads(b, warmSite(b).gateway.Public())
	b.ReportAllocs()
	for b.Loop() {
		reads.read(b)
	}
}

// The whole way of a warm read: the server, the gateway, the call.
func BenchmarkWholeWay(b *testing.B) {
	way := newWholeWay(b, warmSite(b))
	b.ReportAllocs()
	for b.Loop() {
		way.read(b)
	}
}

// wholeWay is a warm site that a client of plain bytes calls, before a provider of
// plain bytes: neither allocates.
type wholeWay struct {
	conn   net.Conn
	buffer []byte
}

func newWholeWay(t testing.TB, s *site) *wholeWay {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	server, served := server.New(server.Options{Handler: s.gateway.Public(), ReadHeaderTimeout: time.Minute, IdleTimeout: time.Minute, MaxHead: 16 << 10}), make(chan struct{})
	go func() { defer close(served); _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close(); <-served })
	conn, err := net.Dial("tcp", listener.Addr().String())
	must(t, err)
	t.Cleanup(func() { conn.Close() })
	w := &wholeWay{conn: conn, buffer: make([]byte, 64<<10)}
	w.read(t)
	return w
}

func (w *wholeWay) read(t testing.TB) {
	if _, err := io.WriteString(w.conn, callOf); err != nil {
		t.Fatal(err)
	}
	n := 0
	for !bytes.HasSuffix(w.buffer[:n], []byte(sentBody)) {
		more, err := w.conn.Read(w.buffer[n:])
		if n += more; err != nil {
			t.Fatalf("%v after %s", err, w.buffer[:n])
		}
	}
	if !bytes.HasPrefix(w.buffer[:n], []byte("HTTP/1.1 200 OK\r\n")) {
		t.Fatalf("%s", w.buffer[:n])
	}
}

// startPlainProvider answers every request head with the resource.
func startPlainProvider(t testing.TB) (url string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	answer := []byte("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nEtag: \"1\"\r\nX-Ms-Request-Id: 5a2d9c6e-3d9a-4a6e-8f43-6f0b8a6a5c11\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nContent-Length: " +
		strconv.Itoa(len(sentBody)) + "\r\n\r\n" + sentBody)
	var wait sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	wait.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, conn)
			mu.Unlock()
			wait.Go(func() {
				buffer := make([]byte, 64<<10)
				for n := 0; ; {
					more, err := conn.Read(buffer[n:])
					if err != nil {
						return
					}
					if n += more; bytes.HasSuffix(buffer[:n], []byte("\r\n\r\n")) || bytes.HasSuffix(buffer[:n], []byte("}")) {
						n = 0
						if _, err := conn.Write(answer); err != nil {
							return
						}
					}
				}
			})
		}
	})
	t.Cleanup(func() {
		listener.Close()
		mu.Lock()
		for _, conn := range open {
			conn.Close()
		}
		mu.Unlock()
		wait.Wait()
	})
	return "http://" + listener.Addr().String()
}
