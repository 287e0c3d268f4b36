//go:build unix

package client

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"syscall"
	"testing"
	"time"

	"portico/internal/sendguard"
)

// typicalAnswer is that of a resource provider to a GET.
const typicalAnswer = "HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\nDate: Sun, 01 Mar 2026 10:00:00 GMT\r\nETag: \"0x8D1\"\r\nx-ms-request-id: 00000000-0000-0000-0000-000000000001\r\n" +
	"x-ms-correlation-request-id: 00000000-0000-0000-0000-000000000002\r\nCache-Control: no-cache\r\nContent-Length: 64\r\n\r\n{\"id\":\"/subscriptions/0/resourceGroups/rg/providers/N.S/t/a\"...}"

func typicalRequest() http.Header {
	return http.Header{
		"Accept": {"application/json"}, "Content-Type": {"application/json"}, "X-Ms-Correlation-Request-Id": {"00000000-0000-0000-0000-000000000002"}, "X-Ms-Client-Request-Id": {"00000000-0000-0000-0000-000000000003"},
		"Referer": {"https://management.example/subscriptions/0/resourceGroups/rg/providers/N.S/t/a?api-version=1"}, "X-Ms-Arm-Request-Tracking-Id": {"00000000-0000-0000-0000-000000000004"}, "X-Ms-Home-Tenant-Id": {"00000000-0000-0000-0000-0000000000aa"},
	}
}

// thrifty answers whatever ends as a head does, without an allocation.
func thrifty(_ int64, conn net.Conn, _ *requests) {
	answer, in := []byte(typicalAnswer), make([]byte, 64<<10)
	for {
		n, err := conn.Read(in)
		if err != nil {
			return
		}
		if !bytes.HasSuffix(in[:n], []byte("\r\n\r\n")) && !bytes.HasSuffix(in[:n], []byte("{}")) {
			continue
		}
		if _, err := conn.Write(answer); err != nil {
			return
		}
	}
}

func drain(tb testing.TB, response *http.Response, err error, into []byte) {
	if err != nil {
		tb.Fatal(err)
	}
	for err == nil {
		_, err = response.Body.Read(into)
	}
	if !errors.Is(err, io.EOF) {
		tb.Fatal(err)
	}
	_ = response.Body.Close()
}

// What a call allocates: the exchange, the text of its answer's head with the map and
// the values, and of a write the watch over its caller.
func TestAllocationsOfACall(t *testing.T) {
	p := newPeer(t, thrifty)
	c := p.client(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	header, into, deadline := typicalRequest(), make([]byte, 4<<10), time.Now().Add(time.Hour)
	get := Request{Method: http.MethodGet, Path: "/subscriptions/0", Query: "api-version=1", Header: header, Deadline: deadline}
	put := get
	put.Method, put.Content = http.MethodPut, []byte("{}")
	for name, of := range map[string]struct {
		request *Request
		most    float64
	}{"read": {&get, 8}, "write": {&put, 12}} {
		got := testing.AllocsPerRun(200, func() {
			r := *of.request
			if r.Method == http.MethodPut {
				r.Guard = &sendguard.Guard{}
			}
			response, err := c.Do(ctx, &r)
			drain(t, response, err, into)
		})
		t.Logf("%s: %v", name, got)
		if got > of.most {
			t.Errorf("a %s allocates %v times, want %v at most", name, got, of.most)
		}
	}
}

// cpu is the processor time that this process has used.
func cpu(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// BenchmarkCall compares this client with net/http's, by processor time, that of the
// provider included.
func BenchmarkCall(b *testing.B) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer listener.Close()
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go thrifty(0, conn, nil)
		}
	}()
	address := listener.Addr().String()
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	header, into := typicalRequest(), make([]byte, 4<<10)
	b.Run("http1", func(b *testing.B) {
		c := New(Options{Host: address, Address: address, Dial: (&net.Dialer{}).DialContext, HandshakeTimeout: time.Minute, IdleTimeout: time.Minute, MaxIdle: 4, MaxOpen: 4, IdleInAll: &Idle{Max: 4}, MaxHead: 64 << 10})
		defer c.CloseIdle()
		b.ReportAllocs()
		before := cpu(b)
		defer func() { b.ReportMetric(float64(cpu(b)-before)/float64(b.N), "cpu-ns/op") }()
		for b.Loop() {
			response, err := c.Do(ctx, &Request{Method: http.MethodGet, Path: "/subscriptions/0", Query: "api-version=1", Header: header, Deadline: time.Now().Add(time.Minute)})
			drain(b, response, err, into)
		}
	})
	b.Run("net-http", func(b *testing.B) {
		transport := &http.Transport{DisableCompression: true, MaxResponseHeaderBytes: 64 << 10, MaxIdleConnsPerHost: 4}
		defer transport.CloseIdleConnections()
		b.ReportAllocs()
		before := cpu(b)
		defer func() { b.ReportMetric(float64(cpu(b)-before)/float64(b.N), "cpu-ns/op") }()
		for b.Loop() {
			bounded, cancel := context.WithTimeout(ctx, time.Minute)
			r := &http.Request{Method: http.MethodGet, URL: &url.URL{Scheme: "http", Host: address, Path: "/subscriptions/0", RawQuery: "api-version=1"}, Host: address, Header: header}
			response, err := transport.RoundTrip(r.WithContext(bounded))
			drain(b, response, err, into)
			cancel()
		}
	})
}
