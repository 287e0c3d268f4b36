package upstream

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
)

// doorman counts the connections to a server by what has become of them.
type connCounter struct {
	mu     sync.Mutex
	states map[net.Conn]http.ConnState
}

func (d *connCounter) state(c net.Conn, s http.ConnState) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.states[c] = s
}

func (d *connCounter) count() (created, open int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.states {
		if s != http.StateClosed {
			open++
		}
	}
	return len(d.states), open
}

func watchedServer(t *testing.T, start func(*httptest.Server)) (*httptest.Server, *connCounter) {
	t.Helper()
	d := &connCounter{states: map[net.Conn]http.ConnState{}}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }))
	server.Config.ConnState = d.state
	start(server)
	t.Cleanup(server.Close)
	return server, d
}

func at(t *testing.T, server *httptest.Server) *url.URL {
	t.Helper()
	u, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// Connections to an address that is in the next map too are kept; those to one
// that is gone are closed.
func TestConnectionsOfAnotherMap(t *testing.T) {
	c := newClient(t, Options{})
	stays, staying := watchedServer(t, (*httptest.Server).Start)
	goes, going := watchedServer(t, (*httptest.Server).Start)
	for range 2 {
		for _, server := range []*httptest.Server{stays, goes} {
			mustDo(t, c, Call{Endpoint: endpointOf(at(t, server)), Method: http.MethodGet, Path: "/"})
		}
		c.UseMap(mapOf(at(t, stays)), Health{})
	}
	if created, open := staying.count(); created != 1 || open != 1 {
		t.Errorf("of the address that stays %d connections were made, %d are open", created, open)
	}
	within(t, "the end of the others", func() bool {
		created, open := going.count()
		return created == 2 && open == 0
	})
}

// Of an address that is gone no series is left, but for those that another
// spelling of it has: its certificate is no one's concern any more.
func TestMetricsOfAnotherMap(t *testing.T) {
	stays, _ := watchedServer(t, (*httptest.Server).StartTLS)
	goes, _ := watchedServer(t, (*httptest.Server).StartTLS)
	c := newClient(t, Options{Identities: trusting(stays), Metrics: prometheus.NewRegistry()})
	spelled := at(t, stays)
	spelled.Path = "/"
	for _, u := range []*url.URL{at(t, stays), spelled, at(t, goes)} {
		for _, method := range []string{http.MethodGet, http.MethodPut} {
			mustDo(t, c, Call{Endpoint: endpointOf(u), Method: method, Path: "/"})
		}
	}
	m := c.metrics
	all := map[string]prometheus.Collector{
		"requests": m.requests, "connections": m.connections, "seconds": m.seconds, "in flight": m.inFlight, "open": m.open, "certificates": m.certificates,
	}
	before := map[string]int{}
	for name, vec := range all {
		before[name] = testutil.CollectAndCount(vec)
	}
	c.UseMap(mapOf(spelled), Health{})
	for name, vec := range all {
		if got := testutil.CollectAndCount(vec); got == 0 || got*2 != before[name] {
			t.Errorf("%s: %d series of %d", name, got, before[name])
		}
	}
}

// Other authorities hold for the next call, whatever connections there are.
func TestUseIdentities(t *testing.T) {
	server, _ := watchedServer(t, (*httptest.Server).StartTLS)
	c := newClient(t, Options{Identities: trusting()})
	for i, trusted := range []bool{false, true, false} {
		if _, _, err := do(c, Call{Endpoint: endpointOf(at(t, server)), Method: http.MethodGet, Path: "/"}); (err == nil) != trusted {
			t.Errorf("call %d: %v", i, err)
		}
		next := trusting(server)
		if trusted {
			next = trusting()
		}
		c.UseIdentities(next)
	}
}
