package e2e

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"portico/test/harness"
)

// healthSettings find out and forgive within parts of a second.
const healthSettings = `
health:
  probe: {path: /contoso/resources, interval: 100ms}
  circuit: {failures: 3, open: 200ms, longestOpen: 1s}
  slowStart: 1s
`

// twoAddresses is a world whose regions westus and eastus are reached by two
// addresses each.
type twoAddresses struct {
	*harness.World
	contosos map[string]*harness.Contoso
	relays   map[string][2]*harness.Relay
}

func newTwoAddresses(t *testing.T) twoAddresses {
	t.Helper()
	w := twoAddresses{contosos: map[string]*harness.Contoso{}, relays: map[string][2]*harness.Relay{}}
	endpoints := map[string]string{}
	for _, region := range []string{"westus", "eastus"} {
		c := harness.StartContoso(t, region, harness.ContosoOptions{})
		pair := [2]*harness.Relay{harness.StartRelay(t, c.URL), harness.StartRelay(t, c.URL)}
		w.contosos[region], w.relays[region] = c, pair
		endpoints[region] = pair[0].URL + "," + pair[1].URL
	}
	w.World = harness.NewWorld(t, harness.WorldOptions{Config: harness.Config{Endpoints: endpoints, Extra: healthSettings}})
	return w
}

// metric reads one sample of a gateway's metrics, -1 where there is none.
func metric(t *testing.T, p *harness.Portico, name, labels string) float64 {
	t.Helper()
	found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name+"{"+labels+"}") + ` (\S+)$`).FindStringSubmatch(p.Metrics(t))
	if found == nil {
		return -1
	}
	v, err := strconv.ParseFloat(found[1], 64)
	harness.OK(t, err)
	return v
}

func (w twoAddresses) up(t *testing.T, r *harness.Relay, region string) bool {
	t.Helper()
	return metric(t, w.Portico, "portico_endpoint_up", fmt.Sprintf("endpoint=%q,region=%q", hostOf(r.URL), region)) == 1
}

// load reads, writes and lists until it is stopped, and counts what failed.
type traffic struct {
	stop          func()
	calls, failed atomic.Int64
	mu            sync.Mutex
	answers       []string // of those that failed
}

// workers of a load: as many calls are under way at most.
const workers = 8

func (w twoAddresses) load(t *testing.T, id string) *traffic {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	l := &traffic{}
	var wait sync.WaitGroup
	const version = "?api-version=" + harness.Version
	for i := range workers {
		request := [...]harness.Request{
			{Path: id + version},
			{Path: w.GroupPath("rg") + "/providers/Contoso.Compute/virtualMachines" + version},
			{Method: http.MethodPatch, Path: id + version, Body: `{"tags":{"a":"b"}}`},
			{Path: id + version},
		}[i%4]
		wait.Go(func() {
			for ctx.Err() == nil {
				a, err := w.Portico.Try(ctx, request)
				if ctx.Err() != nil {
					return
				}
				l.calls.Add(1)
				if err == nil && a.Status == http.StatusOK {
					continue
				}
				l.failed.Add(1)
				l.mu.Lock()
				l.answers = append(l.answers, fmt.Sprintf("%s: %d %s %v", request.Path, a.Status, a.Body, err))
				l.mu.Unlock()
			}
		})
	}
	l.stop = func() { cancel(); wait.Wait() }
	t.Cleanup(l.stop)
	return l
}

// more waits for so many further calls, and returns how many of them failed.
func (l *traffic) more(t *testing.T, calls int64) int64 {
	t.Helper()
	started, failed := l.calls.Load(), l.failed.Load()
	soon(t, "further calls", func() bool { return l.calls.Load() >= started+calls })
	return l.failed.Load() - failed
}

// One of the two addresses of each region dies under load: what was under way
// there fails, and nothing else; nor does anything when it comes back.
func TestOneOfTwoAddressesDies(t *testing.T) {
	t.Parallel()
	w := newTwoAddresses(t)
	w.PutGroup(t, "rg")
	w.PutResource(t, "rg", machines+"vm", body("westus"))
	w.PutResource(t, "rg", machines+"other", body("eastus"))
	id := w.ResourcePath("rg", machines+"vm")
	for _, region := range []string{"westus", "eastus"} {
		for _, r := range w.relays[region] {
			soon(t, "both are in use", func() bool { return w.up(t, r, region) })
		}
	}
	l := w.load(t, id)
	if n := l.more(t, 200); n != 0 {
		t.Fatalf("%d of all calls failed while all was well: %s", n, l.answers)
	}
	victim, other := w.relays["westus"][0], w.relays["westus"][1]
	failed := l.failed.Load()
	victim.Kill()
	soon(t, "it is found out", func() bool { return !w.up(t, victim, "westus") })
	if n := l.failed.Load() - failed; n > workers {
		t.Errorf("%d calls failed, of %d that were under way at most: %s", n, workers, l.answers)
	}
	// A write that lost its connection was not sent by way of the other address.
	seen, writes := map[string]bool{}, 0
	for _, r := range w.contosos["westus"].Requests(t) {
		if r.Method != http.MethodPatch {
			continue
		}
		writes++
		id := r.Headers.Get("X-Ms-Correlation-Request-Id")
		if id == "" || seen[id] {
			t.Errorf("the write %q arrived twice", id)
		}
		seen[id] = true
	}
	if writes == 0 {
		t.Error("no writes are on record")
	}
	// A call that failed before may be counted a moment later.
	l.more(t, 2*workers)
	if n := l.more(t, 300); n != 0 {
		t.Errorf("%d calls failed once it was known: %s", n, l.answers)
	}
	if !w.up(t, other, "westus") || !w.up(t, w.relays["eastus"][0], "eastus") {
		t.Error("the others are well")
	}

	known := l.failed.Load()
	accepted := victim.Accepted()
	victim.Restart(t)
	soon(t, "its return", func() bool { return w.up(t, victim, "westus") })
	probed := metric(t, w.Portico, "portico_endpoint_probes_total", fmt.Sprintf(`endpoint=%q,outcome="good",region="westus"`, hostOf(victim.URL)))
	l.more(t, 300)
	soon(t, "calls by way of it", func() bool {
		now := metric(t, w.Portico, "portico_endpoint_probes_total", fmt.Sprintf(`endpoint=%q,outcome="good",region="westus"`, hostOf(victim.URL)))
		return float64(victim.Accepted()-accepted) > now-probed+3
	})
	l.stop()
	if n := l.failed.Load() - known; n != 0 {
		t.Errorf("%d calls failed at its return: %s", n, l.answers[len(l.answers)-int(n):])
	}
	for _, want := range []string{victim.URL, "connections in a row could not be made", "a probe connected"} {
		if !strings.Contains(w.Portico.Log(), want) {
			t.Errorf("the log does not tell %q", want)
		}
	}
}

// A region without an address is refused, by name and with a time to come again,
// and costs the others nothing. When one is back it goes on.
func TestRegionWithoutAnAddress(t *testing.T) {
	t.Parallel()
	w := newTwoAddresses(t)
	w.PutGroup(t, "rg")
	w.PutResource(t, "rg", machines+"vm", body("westus"))
	w.PutResource(t, "rg", machines+"other", body("eastus"))
	const version = "?api-version=" + harness.Version
	lost, kept := w.ResourcePath("rg", machines+"other")+version, w.ResourcePath("rg", machines+"vm")+version
	all := w.SubscriptionPath() + "/providers/Contoso.Compute/virtualMachines" + version
	for _, r := range w.relays["eastus"] {
		r.Kill()
	}
	soon(t, "both are found out", func() bool {
		return !w.up(t, w.relays["eastus"][0], "eastus") && !w.up(t, w.relays["eastus"][1], "eastus")
	})
	// Between two trials; one that is under way tells by itself what it found.
	for _, c := range []harness.Request{{Path: lost}, {Method: http.MethodPut, Path: lost, Body: body("eastus")}, {Method: http.MethodDelete, Path: lost}} {
		var a harness.Answer
		soon(t, "the refusal", func() bool { a = w.Portico.Do(t, c); return a.Status == http.StatusServiceUnavailable })
		a.WantError(t, 503, "BadGatewayConnection")
		wait, err := strconv.Atoi(a.Header.Get("Retry-After"))
		if err != nil || wait < 1 || wait > 60 || a.Header.Get("X-Ms-Failure-Cause") != "gateway" {
			t.Errorf("%s: %v", c.Method, a.Header)
		}
	}
	a := w.Portico.Do(t, harness.Request{Path: all}).Want(t, 503)
	wait, err := strconv.Atoi(a.Header.Get("Retry-After"))
	if err != nil || wait < 1 || wait > 60 || !strings.Contains(string(a.Body), `"target":"eastus"`) || strings.Contains(string(a.Body), `"target":"westus"`) {
		t.Errorf("%v %s", a.Header, a.Body)
	}
	a = w.Portico.Do(t, harness.Request{Path: all, Header: harness.Header("x-ms-portico-on-region-failure", "partial")}).Want(t, 200)
	if len(a.Values(t)) != 1 || !strings.Contains(string(a.Body), `"unreachable":["eastus"]`) {
		t.Errorf("%s", a.Body)
	}
	w.Portico.Do(t, harness.Request{Path: kept}).Want(t, 200)
	w.Portico.Admin(t, harness.Request{Path: "/readyz"}).Want(t, 200)
	if n := metric(t, w.Portico, "portico_region_refusals_total", `region="eastus"`); n < 3 {
		t.Errorf("%v refusals are counted", n)
	}

	w.relays["eastus"][1].Restart(t)
	soon(t, "its return", func() bool { return w.Portico.Do(t, harness.Request{Path: lost}).Status == http.StatusOK })
	w.Portico.Do(t, harness.Request{Method: http.MethodPut, Path: lost, Body: body("eastus")}).Want(t, 200)
	w.Portico.Do(t, harness.Request{Path: all}).Want(t, 200)
}

// hostOf is what metrics call an address.
func hostOf(address string) string {
	_, host, _ := strings.Cut(address, "://")
	return host
}
