package e2e

import (
	"crypto/tls"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"portico/test/harness"
)

// A deletion outlives the gateways that work on it: each is killed in the middle
// of it, and the other goes on where it stopped.
func TestGroupDeleteOutlivesItsReplicas(t *testing.T) {
	t.Parallel()
	const n = 150
	postgres := harness.StartPostgres(t)
	w := harness.NewWorld(t, harness.WorldOptions{
		Replicas: 2, Config: harness.Config{Postgres: postgres.CreateDatabase(t, "deletion"), Extra: deletionSettings},
	})
	resources := map[string]string{}
	for i := range n {
		resources[fmt.Sprintf("Contoso.Compute/virtualMachines/vm-%03d", i)] = harness.RegionNames()[i%3]
	}
	fill(t, w, "rg", resources)
	misbehave(t, w, "DELETE", "/vm-", "delay=200ms", -1)
	d := beginDelete(t, w, w.Portico, "rg")
	left := func() int { return len(remainingResources(t, w, "rg")) }
	handovers := 0
	for round, below := range []int{n * 4 / 5, n / 2, n / 4} {
		victim, other := w.Replicas[round%2], w.Replicas[(round+1)%2]
		soon(t, "a part of the work", func() bool { return left() < below })
		handovers += 1 + lostLeases(t, victim, "group-delete")
		victim.Kill(t)
		other.Do(t, harness.Request{Path: d.result}).Want(t, 200, 202)
		victim.Restart(t)
	}
	d.gone(t, w.Portico)
	// What was in flight at a death, or when a gateway lost its hold on the job, may
	// have been sent twice, nothing else.
	deletes := 0
	for _, region := range harness.RegionNames() {
		for _, r := range w.Contoso(region).Requests(t) {
			if r.Method == http.MethodDelete {
				deletes++
			}
		}
	}
	for _, p := range w.Replicas {
		handovers += lostLeases(t, p, "group-delete")
	}
	if most := n + handovers*3*8; deletes > most {
		t.Errorf("%d calls for %d resources, want %d at most", deletes, n, most)
	}
	w.PutGroup(t, "rg")
}

// A gateway that is stopped when it has recorded a delete, before the first byte
// has left, hits nothing that was made since: not the new resource of the new
// group, though it has the same name and stands in the same place. Nothing is made
// there before the delete's fence has gone.
func TestGroupDeleteThatWakesTooLate(t *testing.T) {
	t.Parallel()
	postgres := harness.StartPostgres(t)
	provider := harness.StartContoso(t, "westus", harness.ContosoOptions{})
	front := newGate(t, provider.URL)
	w := harness.NewWorld(t, harness.WorldOptions{
		Replicas: 2,
		Config: harness.Config{
			Postgres: postgres.CreateDatabase(t, "late"), Endpoints: map[string]string{"westus": front.url},
			Extra: strings.Replace(deletionSettings, "upstream: {", fmt.Sprintf("upstream: {tls: {ca: %q}, ", front.ca), 1),
		},
	})
	late, other := w.Replicas[0], w.Replicas[1]
	// The notification job has a connection for writes.
	soon(t, "the providers know the subscription", func() bool { return openJobs(t, other, "notice") == 0 })
	late.Stop(t)
	late.Restart(t)
	w.PutGroup(t, "rg")
	id := w.ResourcePath("rg", "Contoso.Compute/virtualMachines/vm")
	create(t, other, id, "westus") // the late one has no connection for writes yet
	other.Stop(t)

	held := front.holdNext()
	d := beginDelete(t, w, late, "rg")
	<-held // the delete is recorded, and its connection being made
	late.Pause(t)
	other.Restart(t)
	if a := d.end(t, other); a.Status != http.StatusOK {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	if provider.Holds(t, id) {
		t.Fatal("the group has gone, and its resource has not")
	}
	other.Do(t, harness.Request{Method: http.MethodPut, Path: w.GroupPath("rg") + "?api-version=2021-04-01", Body: `{"location":"westus"}`}).Want(t, 201)
	soon(t, "the fence of the late one's delete is gone", func() bool {
		a := other.Do(t, harness.Request{Method: http.MethodPut, Path: id + "?api-version=" + harness.Version, Body: `{"location":"westus"}`})
		if a.Status != http.StatusCreated && (a.Status != http.StatusConflict || a.Header.Get("Retry-After") == "") {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		return a.Status == http.StatusCreated
	})
	provider.ForgetRequests(t)
	front.release()
	late.Resume(t)
	soon(t, "the late one is at work again", func() bool { return late.Admin(t, harness.Request{Path: "/readyz"}).Status == http.StatusOK })
	soon(t, "the late one knows", func() bool {
		return strings.Contains(metricsOf(t, late), `portico_job_attempts_total{kind="group-delete",outcome="deposed"} 1`)
	})
	if slices.ContainsFunc(provider.Requests(t), func(r harness.Received) bool { return r.Method == http.MethodDelete }) {
		t.Error("the late one sent a DELETE")
	}
	if !provider.Holds(t, id) {
		t.Error("the new resource has gone")
	}
	at := id + "?api-version=" + harness.Version
	late.Do(t, harness.Request{Path: at}).Want(t, 200)
	late.Do(t, harness.Request{Method: http.MethodHead, Path: at}).Want(t, 204)
}

func metricsOf(t *testing.T, p *harness.Portico) string {
	t.Helper()
	return p.Metrics(t)
}

// gate stands before a provider and speaks TLS. It can hold the handshake of a
// connection for writes, which speak HTTP/1.1 alone.
type gate struct {
	url, ca string

	mu     sync.Mutex
	hold   chan struct{} // closed when a handshake is held; nil: none is to be
	opened chan struct{}
}

func newGate(t *testing.T, provider string) *gate {
	t.Helper()
	g := &gate{opened: make(chan struct{})}
	target, err := url.Parse(provider)
	harness.OK(t, err)
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	server := httptest.NewUnstartedServer(proxy)
	server.EnableHTTP2 = true
	server.TLS = &tls.Config{MinVersion: tls.VersionTLS12, GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
		if !slices.Contains(hello.SupportedProtos, "h2") {
			g.pass()
		}
		return nil, nil
	}}
	server.StartTLS()
	t.Cleanup(func() { g.release(); server.Close() })
	g.url, g.ca = server.URL, filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	harness.OK(t, os.WriteFile(g.ca, text, 0o600))
	return g
}

// holdNext holds the next connection for writes until release; it returns what
// is closed when there is one.
func (g *gate) holdNext() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.hold = make(chan struct{})
	return g.hold
}

func (g *gate) pass() {
	g.mu.Lock()
	hold := g.hold
	g.hold = nil
	g.mu.Unlock()
	if hold != nil {
		close(hold)
		<-g.opened
	}
}

func (g *gate) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	select {
	case <-g.opened:
	default:
		close(g.opened)
	}
}
