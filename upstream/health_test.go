package upstream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"portico/arm"
	"portico/regions"
	"portico/regions/health"
)

// quick is a way to judge and to probe that takes no time.
func quick(probes time.Duration) Health {
	return Health{
		health.Settings{
			Failures: 3, Open: 50 * time.Millisecond, MaxOpen: 100 * time.Millisecond, Unhealthy: 2, Healthy: 2,
			ErrorRatio: 0.5, Calls: 10, Window: 10 * time.Second, Eject: time.Minute, MaxEject: time.Minute, MaxEjectedShare: 0.5,
		},
		Probing{Interval: probes, Suspect: probes, Timeout: 2 * time.Second},
	}
}

// mapOf is a map of one provider with these addresses in westus.
func mapOf(addresses ...*url.URL) *regions.Map {
	return regions.New(regions.Declaration{
		Regions: []regions.Region{{Name: "westus"}},
		Providers: []regions.ProviderDeclaration{
			{Namespace: "N.S", Addresses: regions.Addresses{Endpoints: map[string][]*url.URL{"westus": addresses}}},
		},
	})
}

func theEndpoint(m *regions.Map) *regions.Endpoint { return m.Provider("N.S").Endpoint("westus") }

// running runs the client's probes until the test ends.
func running(t *testing.T, c *Client) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var wait sync.WaitGroup
	wait.Go(func() { c.Run(ctx) })
	t.Cleanup(func() { cancel(); wait.Wait() })
}

// within waits for something that is bound to happen.
func within(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s did not happen", what)
		}
	}
}

func (c *Client) stateOf(u *url.URL) health.State {
	for _, a := range c.registry.Addresses() {
		if a.Name == u.String() {
			return a.State(c.now())
		}
	}
	return health.State{}
}

// As long as nothing was sent a call goes on to the next address, whatever its
// method; once a byte has left it never does.
func TestAWriteReachesOneAddressOnce(t *testing.T) {
	for _, method := range append(writes, http.MethodGet) {
		t.Run(method, func(t *testing.T) {
			dying, dying2 := newPeer(t, func(_ int, conn net.Conn) bool { return reset(conn) }), newPeer(t, func(_ int, conn net.Conn) bool { return reset(conn) })
			good := newPeer(t, reply(empty200))
			client := newClient(t, Options{Health: quick(0)})
			some := Call{Endpoint: endpointOf(refusing(t), good.url(), refusing(t)), Method: method, Path: "/", Content: contentFor(method)}
			for range 10 {
				mustDo(t, client, some)
			}
			if good.count() != 10 {
				t.Errorf("%d requests for 10 calls", good.count())
			}
			all := Call{Endpoint: endpointOf(dying.url(), refusing(t), dying2.url()), Method: method, Path: "/", Content: contentFor(method)}
			for i := range 10 {
				_, _, err := do(client, all)
				if fault := faultOf(t, err); !fault.Sent {
					t.Errorf("%+v", fault)
				}
				if n := dying.count() + dying2.count(); n != i+1 {
					t.Fatalf("%d requests for %d calls", n, i+1)
				}
			}
		})
	}
}

// A read whose connection broke off goes on to one other address, and to no third: what
// ends a provider's process is not to end all of them.
func TestAReadIsRepeatedOnce(t *testing.T) {
	for _, method := range []string{http.MethodGet, http.MethodHead} {
		for name, breaks := range map[string]script{
			"reset":  func(_ int, conn net.Conn) bool { return reset(conn) },
			"closed": func(int, net.Conn) bool { return false },
			"within the head": func(_ int, conn net.Conn) bool {
				_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nA: b\r\n")
				return false
			},
		} {
			t.Run(method+" "+name, func(t *testing.T) {
				dying, dying2, dying3, good := newPeer(t, breaks), newPeer(t, breaks), newPeer(t, breaks), newPeer(t, reply(empty200))
				client := newClient(t, Options{})
				call := Call{Endpoint: endpointOf(dying.url(), good.url()), Method: method, Path: "/"}
				for range 10 {
					mustDo(t, client, call)
				}
				if good.count() != 10 || dying.count() == 0 {
					t.Errorf("%d and %d requests for 10 calls", good.count(), dying.count())
				}
				before := dying.count()
				call.Endpoint = endpointOf(dying.url(), dying2.url(), dying3.url())
				if _, _, err := do(client, call); !faultOf(t, err).Sent {
					t.Errorf("%v", err)
				}
				if n := dying.count() + dying2.count() + dying3.count() - before; n != 2 {
					t.Errorf("%d requests for a call", n)
				}
			})
		}
	}
}

// Where no address can be reached calls are refused at once, until a trial
// connects.
func TestRegionThatIsDown(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	at := listener.Addr().String()
	listener.Close()
	registry := prometheus.NewRegistry()
	client := newClient(t, Options{Health: quick(0), Metrics: registry})
	call := Call{Endpoint: endpointOf(&url.URL{Scheme: "http", Host: at}), Method: http.MethodPut, Path: "/", Content: []byte("x")}
	var down *health.Down
	within(t, "the refusal", func() bool {
		_, _, err := do(client, call)
		return errors.As(err, &down)
	})
	// A refusal is what clients and lists know what to do with.
	fault := (&Fault{Region: "westus", Err: down}).ARM("N.S")
	if fault.Status != 503 || fault.Code != arm.BadGatewayConnection || fault.RetryAfter < time.Second || fault.RetryAfter > time.Minute || fault.Target != "westus" ||
		fault.Message != "The network connectivity issue encountered for 'N.S' in the location 'westus'; cannot fulfill the request." {
		t.Errorf("%+v", fault)
	}
	within(t, "a refused read", func() bool {
		_, err := client.Read(context.Background(), Call{Endpoint: call.Endpoint, Path: "/"})
		return errors.As(err, &down) && !faultOf(t, err).Sent
	})
	if n := testutil.ToFloat64(client.metrics.refused.WithLabelValues("westus")); n < 2 {
		t.Errorf("%v refusals are counted", n)
	}
	if listener, err = net.Listen("tcp", at); err != nil {
		t.Fatal(err)
	}
	p := &peer{listener: listener, open: map[net.Conn]bool{}}
	t.Cleanup(p.close)
	p.wait.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			p.mu.Lock()
			p.open[conn] = true
			p.mu.Unlock()
			p.wait.Go(func() { p.serve(conn, reply(empty200)) })
		}
	})
	within(t, "its return", func() bool {
		status, _, err := do(client, call)
		return err == nil && status == 200
	})
	for range 10 {
		mustDo(t, client, call)
	}
}

// That callers go, or come too late, or that answers are refusals, says nothing
// of an address.
func TestInconclusiveResultsDoNotAffectHealth(t *testing.T) {
	block := make(chan struct{})
	var wait sync.WaitGroup
	slow := newPeer(t, func(int, net.Conn) bool { <-block; return false })
	t.Cleanup(func() { close(block); wait.Wait() })
	refuses := newPeer(t, reply("HTTP/1.1 429 X\r\nContent-Length: 0\r\n\r\n"))
	client := newClient(t, Options{Health: quick(0)})
	for i := range 20 {
		ctx, cancel := context.WithCancel(context.Background())
		wait.Go(func() {
			answer, err := client.Do(ctx, Call{Endpoint: endpointOf(slow.url()), Method: http.MethodPut, Path: "/"})
			if err == nil {
				answer.Body.Close()
				t.Error("an answer")
			}
		})
		within(t, "the call", func() bool { return slow.count() > i })
		cancel()
		if status, _, err := do(client, Call{Endpoint: endpointOf(refuses.url()), Method: http.MethodPut, Path: "/"}); err != nil || status != 429 {
			t.Errorf("%d %v", status, err)
		}
	}
	within(t, "the end of the calls", func() bool { return client.stateOf(slow.url()).Outstanding == 0 })
	for _, p := range []*peer{slow, refuses} {
		if s := client.stateOf(p.url()); !s.Up || s.Circuit != health.Closed || s.Outstanding != 0 {
			t.Errorf("%+v", s)
		}
	}
}

// An address that answers with errors is left out, for writes and reads.
func TestErrorsEjectAnAddress(t *testing.T) {
	bad, good := newPeer(t, reply(empty500)), newPeer(t, reply(empty200))
	core, logs := observer.New(zap.InfoLevel)
	client := newClient(t, Options{Health: quick(0), Log: zap.New(core)})
	endpoint := endpointOf(bad.url(), good.url())
	for range 200 {
		_, _, _ = do(client, Call{Endpoint: endpoint, Method: http.MethodPut, Path: "/"})
	}
	before := bad.count()
	for range 20 {
		mustDo(t, client, Call{Endpoint: endpoint, Method: http.MethodPut, Path: "/"})
		if _, err := client.Read(context.Background(), Call{Endpoint: endpoint, Path: "/"}); err != nil {
			t.Error(err)
		}
	}
	if bad.count() != before || !client.stateOf(bad.url()).Ejected {
		t.Errorf("%d requests, %+v", bad.count()-before, client.stateOf(bad.url()))
	}
	lines := logs.All()
	if len(lines) != 1 || lines[0].Level != zap.WarnLevel {
		t.Fatalf("%+v", lines)
	}
	if reported := fmt.Sprint(lines[0].ContextMap()); !strings.Contains(reported, bad.url().String()) || !strings.Contains(reported, "5xx") || !strings.Contains(reported, "westus") {
		t.Errorf("%s", reported)
	}
}

// Probes take an address out and bring it back without any calls, over TLS too.
func TestProbes(t *testing.T) {
	for _, secured := range []bool{false, true} {
		t.Run(fmt.Sprintf("tls %v", secured), func(t *testing.T) {
			var status atomic.Int64
			var requests atomic.Pointer[http.Request]
			status.Store(200)
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				requests.Store(r)
				w.WriteHeader(int(status.Load()))
				_, _ = io.WriteString(w, strings.Repeat("x", 100))
			}))
			var settings Identities
			if secured {
				server.StartTLS()
				settings = trusting(server)
			} else {
				server.Start()
			}
			t.Cleanup(server.Close)
			at, err := url.Parse(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			registry := prometheus.NewRegistry()
			client := newClient(t, Options{Identities: settings, Metrics: registry})
			h := quick(10 * time.Millisecond)
			h.Path = "/healthz?deep=1"
			client.UseMap(mapOf(at), h)
			running(t, client)
			up := func() bool { return client.stateOf(at).Up }
			within(t, "a good probe", func() bool { return client.stateOf(at).Counts.Probes[health.ProbeSucceeded] > 1 })
			if r := requests.Load(); !up() || r.Method != "GET" || r.URL.String() != "/healthz?deep=1" || r.Host != at.Host || r.UserAgent() != "portico-probe" {
				t.Errorf("%+v", r)
			}
			status.Store(404)
			within(t, "its failing", func() bool { return client.stateOf(at).Failing })
			if err := client.target(endpointOf(at)).addresses.Check(client.now()); err != nil {
				t.Error("what connects is not down")
			}
			regionUp := func() float64 { return shown(t, registry, "region", "westus")["portico_region_up"] }
			if s := client.Status(endpointOf(at)); s.State != Degraded || s.Addresses[0].State != Down || regionUp() != 1 {
				t.Errorf("calls are made all the same: %+v, region up: %v", s, regionUp())
			}
			status.Store(204)
			within(t, "its return", up)

			server.Listener.Close()
			server.CloseClientConnections()
			within(t, "its end", func() bool { return client.stateOf(at).Circuit == health.Open })
			within(t, "the end of its region", func() bool { return regionUp() == 0 })
			n, err := testutil.GatherAndCount(registry, "portico_endpoint_up", "portico_endpoint_circuit_state", "portico_endpoint_probes_total", "portico_endpoint_ejections_total")
			if err != nil || n != 7 {
				t.Errorf("%d series, %v", n, err)
			}
			if problems, err := testutil.GatherAndLint(registry); err != nil || len(problems) != 0 {
				t.Errorf("%v %v", problems, err)
			}
		})
	}
}

// A provider that is not trusted, or does not speak TLS, is not reached.
func TestProbeWithoutTLS(t *testing.T) {
	p := newPeer(t, reply(empty200))
	client := newClient(t, Options{})
	at := &url.URL{Scheme: "https", Host: p.url().Host}
	client.UseMap(mapOf(at), quick(10*time.Millisecond))
	running(t, client)
	within(t, "its end", func() bool { return client.stateOf(at).Circuit == health.Open })
	_, _, err := do(client, Call{Endpoint: endpointOf(at), Method: http.MethodPut, Path: "/"})
	if fault := faultOf(t, err); fault.Sent {
		t.Errorf("%+v", fault)
	}
}

// A new map keeps what is known of the addresses that stay, and their
// connections; the others are forgotten.
func TestMapChangesReplaceProbers(t *testing.T) {
	stays, goes, comes := newPeer(t, reply(empty200)), newPeer(t, reply(empty200)), newPeer(t, reply(empty200))
	registry := prometheus.NewRegistry()
	client := newClient(t, Options{Metrics: registry})
	gone := refusing(t)
	first := mapOf(stays.url(), goes.url(), gone)
	h := quick(10 * time.Millisecond)
	client.UseMap(first, h)
	running(t, client)
	within(t, "the end of one", func() bool { return client.stateOf(gone).Circuit == health.Open })
	opened := client.stateOf(gone).Counts.CircuitOpenings
	pool := client.target(theEndpoint(first)).pools[0]

	second := mapOf(comes.url(), gone, stays.url())
	client.UseMap(second, h)
	if s := client.stateOf(gone); s.Circuit == health.Closed || s.Counts.CircuitOpenings < opened {
		t.Errorf("what was known is lost: %+v", s)
	}
	if client.target(theEndpoint(second)).pools[2] != pool {
		t.Error("the connections are others")
	}
	for range 20 {
		mustDo(t, client, Call{Endpoint: theEndpoint(second), Method: http.MethodPut, Path: "/"})
		mustDo(t, client, Call{Endpoint: theEndpoint(first), Method: http.MethodPut, Path: "/"}) // of a request under way
	}
	client.UseMap(second, h)
	if n, err := testutil.GatherAndCount(registry, "portico_endpoint_up"); err != nil || n != 3 {
		t.Errorf("%d addresses are shown, %v", n, err)
	}
	within(t, "the probes of the new one", func() bool { return client.stateOf(comes.url()).Counts.Probes[health.ProbeSucceeded] > 1 })

	// Without an interval no one probes any more.
	h.Interval = 0
	client.UseMap(second, h)
	within(t, "the end of the probes", func() bool {
		client.mu.Lock()
		defer client.mu.Unlock()
		return len(client.probers) == 0
	})
}

// Calls that share a connection do not share the fate of a caller who goes.
func TestCancelledCallLeavesOthersAlone(t *testing.T) {
	release := make(chan struct{})
	var entered, connections atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/warm" {
			return
		}
		entered.Add(1)
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	server.EnableHTTP2 = true
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		if s == http.StateNew {
			connections.Add(1)
		}
	}
	server.StartTLS()
	t.Cleanup(server.Close)
	at, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	client := newClient(t, Options{Identities: trusting(server), Health: quick(0)})
	call := Call{Endpoint: endpointOf(at), Method: http.MethodGet, Path: "/"}
	warm := call
	warm.Path = "/warm"
	mustDo(t, client, warm)
	ctx, cancel := context.WithCancel(context.Background())
	var goers, stayers sync.WaitGroup
	for range 10 {
		goers.Go(func() {
			if answer, err := client.Do(ctx, call); err == nil {
				answer.Body.Close()
				t.Error("an answer for a caller who went")
			}
		})
		stayers.Go(func() {
			if status, _, err := do(client, call); err != nil || status != http.StatusOK {
				t.Errorf("%d %v", status, err)
			}
		})
	}
	within(t, "all calls", func() bool { return entered.Load() == 20 })
	cancel()
	goers.Wait()
	close(release)
	stayers.Wait()
	if n := connections.Load(); n != 1 {
		t.Errorf("%d connections", n)
	}
	if s := client.stateOf(at); !s.Up || s.Outstanding != 0 {
		t.Errorf("%+v", s)
	}
}
