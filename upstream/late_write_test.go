package upstream

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"portico/arm"
	"portico/internal/sendguard"
)

// slowReader is a server that reads on only when it is told to.
type slowReader struct {
	*httptest.Server
	started chan struct{}
	goOn    chan struct{}
	whole   atomic.Int64
}

func newSlowReader(t *testing.T, start func(*httptest.Server)) *slowReader {
	t.Helper()
	r := &slowReader{started: make(chan struct{}, 1), goOn: make(chan struct{})}
	r.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		if q.URL.Path == "/slow" {
			r.started <- struct{}{}
			<-r.goOn
		}
		if n, err := io.Copy(io.Discard, q.Body); err == nil && n == q.ContentLength {
			r.whole.Add(1)
		}
	}))
	start(r.Server)
	t.Cleanup(r.Close)
	return r
}

// What was broken off may have taken effect, and its connection carries nothing
// more.
func TestContentIsBrokenOffAtTheEnd(t *testing.T) {
	for name, start := range map[string]func(*httptest.Server){"plain": (*httptest.Server).Start, "TLS": (*httptest.Server).StartTLS} {
		t.Run(name, func(t *testing.T) {
			server := newSlowReader(t, start)
			client := newClient(t, Options{Identities: trusting(server.Server)})
			endpoint := endpointOf(at(t, server.Server))
			guards := make(chan *sendguard.Guard, 8)
			client.onWrite = func(g *sendguard.Guard) { guards <- g }
			var dials atomic.Int64
			dial := client.dial
			client.dial = func(ctx context.Context, network, address string) (net.Conn, error) {
				dials.Add(1)
				return dial(ctx, network, address)
			}
			var err error
			var calling sync.WaitGroup
			calling.Go(func() {
				_, _, err = do(client, Call{
					Endpoint: endpoint, Method: http.MethodPut, Path: "/slow", Content: make([]byte, 64<<20),
					Since: time.Now(), SendWithin: time.Minute, EndWithin: 30 * time.Minute,
				})
			})
			<-server.started
			(<-guards).Set(time.Now().Add(-time.Hour), time.Minute, 30*time.Minute)
			close(server.goOn)
			calling.Wait()
			if fault := faultOf(t, err); !fault.Sent || fault.TooLate() || fault.ARM("N").Code != arm.GatewayTimeout || ErrorKind(fault) != "timeout" {
				t.Errorf("got %+v", fault)
			}
			mustDo(t, client, Call{Endpoint: endpoint, Method: http.MethodPut, Path: "/next", Content: []byte("x"), Since: time.Now(), SendWithin: time.Minute, EndWithin: time.Minute})
			if whole := server.whole.Load(); whole != 1 || dials.Load() != 2 {
				t.Errorf("%d contents arrived whole, the next call made %d connections", whole, dials.Load()-1)
			}
		})
	}
}

// Without a time for its first byte a request has until its end.
func TestEndWithinAlone(t *testing.T) {
	p := newPeer(t, reply(empty200))
	_, _, err := do(newClient(t, Options{}), Call{Endpoint: p.endpoint(), Method: http.MethodDelete, Path: "/x", Since: time.Now().Add(-time.Hour), EndWithin: time.Minute})
	if fault := faultOf(t, err); fault.Sent || !fault.TooLate() || p.count() != 0 {
		t.Errorf("got %+v", fault)
	}
}
