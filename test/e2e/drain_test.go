package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"testing"

	"portico/test/harness"
)

// Two gateways behind a balancer that knows nothing but TCP and /readyz are
// restarted in turn, and no call fails.
func TestRestartsUnderLoad(t *testing.T) {
	t.Parallel()
	rounds := 3
	if *long {
		rounds = 10
	}
	balancer := harness.StartBalancer(t)
	w := harness.NewWorld(t, harness.WorldOptions{
		Replicas: 2,
		Config: harness.Config{
			Postgres: harness.StartPostgres(t).CreateDatabase(t, "restarts"), PublicURL: "http://" + balancer.Address,
			Drain: "{delay: 2s, limit: 20s}",
		},
	})
	w.PutGroup(t, "rg")
	for _, p := range w.Replicas {
		balancer.Add(t, p)
	}
	l := startLoad(t, w, "http://"+balancer.Address, "rg")
	for range rounds {
		for _, p := range w.Replicas {
			l.more(t)
			p.Stop(t)
			l.more(t)
			p.Restart(t)
			balancer.Await(t, p)
		}
	}
	l.end(t)
}

// A gateway that drains is not ready, goes on answering, and has each client
// that it answers come back by another connection. A second signal ends it.
func TestDrain(t *testing.T) {
	t.Parallel()
	for protocol, config := range map[string]harness.Config{
		"HTTP/1.1": {Drain: "{delay: 10m, limit: 10m}"},
		"HTTP/2.0": {Drain: "{delay: 10m, limit: 10m}", TLS: true},
	} {
		t.Run(protocol, func(t *testing.T) {
			w := harness.NewWorld(t, harness.WorldOptions{Config: config})
			w.PutGroup(t, "rg")
			p := w.Portico
			group := w.GroupPath("rg") + "?api-version=2021-04-01"
			connection := func() (reused bool) {
				t.Helper()
				ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) { reused = c.Reused }})
				r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL+group, http.NoBody)
				harness.OK(t, err)
				answer, err := p.Client.Do(r)
				harness.OK(t, err)
				defer answer.Body.Close()
				if _, err := io.Copy(io.Discard, answer.Body); err != nil || answer.StatusCode != 200 || answer.Proto != protocol {
					t.Fatalf("%s, status %d, %v", answer.Proto, answer.StatusCode, err)
				}
				return reused
			}
			if connection(); !connection() {
				t.Fatal("connections are not kept")
			}
			p.SendTerminate(t)
			soon(t, "it is not ready", func() bool { return p.Admin(t, harness.Request{Path: "/readyz"}).Status == 503 })
			connection()
			for range 3 {
				if connection() {
					t.Error("a connection goes on after an answer")
				}
			}
			p.SendTerminate(t)
			if code := p.ExitCode(t); code != -1 {
				t.Errorf("the second signal: exit code %d", code)
			}
		})
	}
}

// slowWrite makes a resource and returns while the write is at its provider,
// whose answer will take some seconds; then comes what was wrong with it, or nil.
func slowWrite(t *testing.T, w *harness.World, at, region string) chan error {
	t.Helper()
	answered := make(chan error, 1)
	go func() {
		a, err := w.Portico.Try(t.Context(), harness.Request{
			Method: http.MethodPut, Path: at, Body: body(region), Header: harness.Header("X-Contoso-Fault", "delay=3s"),
		})
		if err == nil && a.Status != 201 {
			err = fmt.Errorf("status %d: %s", a.Status, a.Body)
		}
		answered <- err
	}()
	soon(t, "the write is at the provider", func() bool { return len(w.Contoso(region).Requests(t)) > 0 })
	return answered
}

// What a client has begun is finished, and what is held for longer than the
// limit is cut off.
func TestDrainFinishesWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{})
	w.PutGroup(t, "rg")
	p := w.Portico
	at := w.ResourcePath("rg", machines+"vm") + "?api-version=" + harness.Version
	answered := slowWrite(t, w, at, "westus")
	p.SendTerminate(t)
	if code := p.ExitCode(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if err := <-answered; err != nil {
		t.Error(err)
	}

	p.Write(t, strings.Replace(p.Text(t, w.Config), "limit: 20s", "limit: 100ms", 1))
	p.Restart(t)
	w.Contoso("westus").ForgetRequests(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		_, err := p.Try(ctx, harness.Request{Path: at, Header: harness.Header("X-Contoso-Fault", "stall")})
		answered <- err
	}()
	soon(t, "the read is at the provider", func() bool { return len(w.Contoso("westus").Requests(t)) > 0 })
	p.SendTerminate(t)
	if code := p.ExitCode(t); code < 0 {
		t.Errorf("exit code %d", code)
	}
	if err := <-answered; err == nil {
		t.Error("a provider that never answers was waited for")
	}
}

// A gateway gives its jobs back when it is asked to stop, not when its
// lease is over or its provider has answered: here that would be in an hour, and
// never.
func TestDrainHandsWorkOver(t *testing.T) {
	t.Parallel()
	w := harness.NewWorld(t, harness.WorldOptions{
		Replicas: 2,
		Config: harness.Config{
			Postgres: harness.StartPostgres(t).CreateDatabase(t, "handed"),
			Extra:    strings.NewReplacer("lease: 2s", "lease: 1h", "callTimeout: 2s", "callTimeout: 5m", "askTimeout: 10s", "askTimeout: 5m").Replace(replicaSettings),
		},
	})
	w.PutGroup(t, "rg")
	first, second := w.Replicas[0], w.Replicas[1]
	second.Stop(t) // so that it is the first that holds the work
	id := w.ResourcePath("rg", machines+"vm")
	hangOnce(t, w, "/operationstatuses/")
	first.Do(t, harness.Request{
		Method: http.MethodPut, Path: id + "?api-version=" + harness.Version, Body: body("westus"),
		Header: harness.Header("X-Contoso-Async", "accepted-async", "X-Contoso-Duration", "3s"),
	}).Want(t, 202)
	soon(t, "the work is held", func() bool { return held(t, first) })
	second.Restart(t)
	first.Stop(t)
	soon(t, "the other one follows it to its end", func() bool {
		return len(second.Do(t, harness.Request{Path: w.GroupPath("rg") + "/resources?api-version=2021-04-01"}).Want(t, 200).Values(t)) == 1
	})
}
