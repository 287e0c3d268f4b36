package upstream

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"
)

// As many connections are kept as there may be calls at a time: none is closed and
// dialled anew between two rounds of calls.
func TestConnectionsOfAllCallsAreKept(t *testing.T) {
	const calls, rounds = 160, 3
	var arrived atomic.Pointer[sync.WaitGroup]
	var closed atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		together := arrived.Load()
		together.Done()
		together.Wait()
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			closed.Add(1)
		}
	}
	server.Start()
	t.Cleanup(server.Close)
	address, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	client := newClient(t, Options{Calls: 200, CallsPerCaller: 200})
	endpoint := endpointOf(address)
	for range rounds {
		var together, ended sync.WaitGroup
		together.Add(calls)
		arrived.Store(&together)
		for range calls {
			ended.Go(func() {
				response, err := client.Do(context.Background(), Call{Endpoint: endpoint, Method: http.MethodGet, Path: "/", Caller: "alice"})
				if err != nil {
					t.Error(err)
					together.Done()
					return
				}
				_, _ = io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
			})
		}
		ended.Wait()
	}
	if n := closed.Load(); n > 0 {
		t.Errorf("%d connections were closed", n)
	}
}
