//go:build unix

package upstream

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"testing"
	"time"
)

// thrifty is a provider that answers heads without content, without an allocation.
func thrifty(t testing.TB) *url.URL {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	answer := []byte("HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\nDate: Sun, 01 Mar 2026 10:00:00 GMT\r\nETag: \"0x8D1\"\r\n" +
		"x-ms-request-id: 00000000-0000-0000-0000-000000000001\r\nCache-Control: no-cache\r\nContent-Length: 2\r\n\r\n{}")
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				in := make([]byte, 8<<10)
				for {
					n, err := conn.Read(in)
					if err != nil {
						return
					}
					if !bytes.HasSuffix(in[:n], []byte("\r\n\r\n")) {
						continue
					}
					if _, err := conn.Write(answer); err != nil {
						return
					}
				}
			}()
		}
	}()
	return &url.URL{Scheme: "http", Host: listener.Addr().String()}
}

// What a call allocates, its answer read: most by package internal/http1/client, which holds itself to
// its share.
func TestAllocationsOfACall(t *testing.T) {
	most := map[string]float64{http.MethodGet: 9, http.MethodDelete: 12}
	client := newClient(t, Options{})
	endpoint := endpointOf(thrifty(t))
	var timing Timing
	parent, cancel := context.WithCancel(t.Context())
	defer cancel()
	ctx := withTiming(parent, &timing)
	header := http.Header{"Accept": {"application/json"}, "X-Ms-Correlation-Request-Id": {"00000000-0000-0000-0000-000000000002"}, "Referer": {"https://management.example/a"}}
	into := make([]byte, 4<<10)
	for method, most := range most {
		got := testing.AllocsPerRun(200, func() {
			answer, err := client.Do(ctx, Call{
				Endpoint: endpoint, Method: method, Path: "/subscriptions/0", Query: "api-version=1", Header: header, Caller: "alice",
				Since: time.Now(), SendWithin: time.Minute, EndWithin: time.Minute,
			})
			for err == nil {
				_, err = answer.Body.Read(into)
			}
			if !errors.Is(err, io.EOF) {
				t.Fatal(err)
			}
			_ = answer.Body.Close()
		})
		t.Logf("%s: %v", method, got)
		if got > most {
			t.Errorf("a %s allocates %v times, want %v at most", method, got, most)
		}
	}
}
