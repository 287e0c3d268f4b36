package compare

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"portico/test/bench/load"
	"portico/test/bench/peers"
)

// run is one comparison.
type run struct {
	site      *site
	scenarios []scenario
	samples   samples
	only      string // the name of the one load to measure; "": all
	folder    string // for the load generators' files
	rounds    int    // completed
}

func newRun(t testing.TB, only string) *run {
	t.Helper()
	loads := chosen(append(scenarios(), steady()), only)
	r := &run{site: startSite(t, loads), scenarios: chosen(scenarios(), only), only: only, samples: samples{}, folder: t.TempDir()}
	for _, p := range r.site.proxies {
		now, _, err := peers.Memory(p.PID)
		if err != nil {
			t.Fatal(err)
		}
		if p.URL != "" {
			r.samples.add(key{proxy: p.Name, workers: p.workers, what: idle}, mebibytes(now))
		}
	}
	return r
}

// chosen are the loads that a run is of.
func chosen(all []scenario, only string) []scenario {
	return slices.DeleteFunc(all, func(c scenario) bool { return only != "" && c.name != only })
}

// warmUp sends every proxy the first load for a second.
func (r *run) warmUp(t testing.TB) {
	t.Helper()
	for _, p := range r.site.proxies {
		if p.Name == merger {
			continue
		}
		c := scenarios()[0]
		c.secure = p.URL == ""
		if _, err := r.send(t, c, p); err != nil {
			t.Fatalf("%s, warming up: %v", p.Name, err)
		}
		p.emptyLog(t)
	}
}

// round sends every load to every proxy in turn, those with an aim several times: what
// else the machine does lasts for some seconds, and would otherwise be one proxy's share.
func (r *run) round(t testing.TB) {
	t.Helper()
	for _, c := range r.scenarios {
		for pass := range max(1, c.passes) {
			for _, p := range rotated(r.site.of(c), r.rounds+pass) {
				r.take(t, c, p)
			}
		}
		r.samples.summarize(c.name, c.passes)
	}
	for _, c := range chosen([]scenario{steady()}, r.only) {
		for _, p := range rotated(r.site.of(c), r.rounds) {
			r.takeSteady(t, p)
		}
	}
	r.rounds++
}

// rotated starts with another proxy each round.
func rotated(all []proxy, by int) []proxy {
	if len(all) == 0 {
		return nil
	}
	by %= len(all)
	return slices.Concat(all[by:], all[:by])
}

// take measures one proxy at one load.
func (r *run) take(t testing.TB, c scenario, p proxy) {
	t.Helper()
	if c.memory {
		if err := peers.ForgetPeak(p.PID); err != nil {
			t.Fatal(err)
		}
	}
	result := r.account(t, c.name, p, func() (load.Result, error) { return r.send(t, c, p) })
	k := key{load: c.name, proxy: p.Name, workers: p.workers}
	r.add(k, rate, result.Rate())
	if result.P99 > 0 {
		r.add(k, p99, milliseconds(result.P99))
	}
	if c.memory {
		_, peak, err := peers.Memory(p.PID)
		if err != nil {
			t.Fatal(err)
		}
		r.add(k, busy, mebibytes(peak))
	}
	p.emptyLog(t)
}

func (r *run) add(k key, what quantity, figure float64) {
	k.what = what
	r.samples.add(k, figure)
}

// account runs a load and records the processor time per request of the proxy, and of
// its database server.
func (r *run) account(t testing.TB, name string, p proxy, send func() (load.Result, error)) load.Result {
	t.Helper()
	used := func(pid int) time.Duration {
		t.Helper()
		used, err := peers.CPU(pid)
		if err != nil {
			t.Fatal(err)
		}
		return used
	}
	var store time.Duration
	if p.store != nil {
		store = -used(p.store.Pid())
	}
	own := -used(p.PID)
	result, err := send()
	if err != nil {
		t.Fatalf("%s with %d workers, %s: %v", p.Name, p.workers, name, err)
	}
	own += used(p.PID)
	k := key{load: name, proxy: p.Name, workers: p.workers}
	r.add(k, cpuTime, microseconds(own)/float64(result.Requests))
	if p.store != nil {
		store += used(p.store.Pid())
		r.add(k, storeCPU, microseconds(store)/float64(result.Requests))
	}
	return result
}

// send runs a load whose connections wait for each answer.
func (r *run) send(t testing.TB, c scenario, p proxy) (load.Result, error) {
	t.Helper()
	c.request = p.request(c)
	if c.request.Fresh {
		c.request.Paths = []string{fmt.Sprintf("%s%s-%d-%%d%s", machines, peers.NewName, r.rounds, apiVersion)}
	}
	if c.secure {
		return load.Secure{URL: p.SecureURL, Connections: 8, Streams: 8, For: c.lasts, Request: c.request}.Run(t.Context(), r.folder)
	}
	return load.Closed{URL: p.URL, Connections: c.connections, Threads: threads(), For: c.lasts, Request: c.request}.Run(t.Context(), r.folder)
}

// request is what a load sends to a proxy.
func (p proxy) request(c scenario) load.Request {
	if p.tokens != nil {
		c.request.Tokens = p.tokens
	}
	return c.request
}

// steady is the load whose requests are sent at fixed times.
func steady() scenario {
	get := scenarios()[0]
	return scenario{name: steadyRate, request: get.request, proxies: get.proxies}
}

// takeSteady measures one proxy at the steady rate.
func (r *run) takeSteady(t testing.TB, p proxy) {
	t.Helper()
	c := steady()
	result := r.account(t, c.name, p, func() (load.Result, error) {
		return load.Open{URL: p.URL, Connections: 64, Rate: 2000, For: longerTime, Request: c.request}.Run(t.Context())
	})
	k := key{load: c.name, proxy: p.Name, workers: p.workers}
	r.add(k, p50, milliseconds(result.P50))
	r.add(k, p99, milliseconds(result.P99))
	p.emptyLog(t)
}

// check sends one request of each load to each proxy and verifies the answer.
func (r *run) check(t testing.TB) {
	t.Helper()
	for _, c := range r.scenarios {
		for _, p := range r.site.of(c) {
			if c.secure || c.request.Fresh {
				continue // h2load and wrk see an error, and there is no other answer
			}
			status, size := ask(t, p.URL+c.request.Paths[0], p.request(c))
			least := map[string]int{getInstance: peers.InstanceSize, signedIn: peers.InstanceSize, getLarge: peers.LargeSize, mergedList: regions * pageSize, putExisting: peers.WrittenSize}[c.name]
			if status >= 400 != c.request.Refused || size < least {
				t.Fatalf("%s, %s: %d and %d bytes", p.Name, c.name, status, size)
			}
		}
	}
}

func ask(t testing.TB, url string, request load.Request) (status, size int) {
	t.Helper()
	transport := &http.Transport{DisableKeepAlives: true}
	r, err := http.NewRequestWithContext(t.Context(), request.Method, url, strings.NewReader(request.Body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+request.Tokens[0])
	r.Header.Set("Content-Type", "application/json")
	answer, err := transport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	n, err := io.Copy(io.Discard, answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, int(n)
}

func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
func mebibytes(n int64) float64            { return float64(n) / (1 << 20) }

// threads is wrk's number of threads, at most half of the processors. It is a power of
// two, which divides the number of requests: no two threads then write one resource at
// the same time.
func threads() int {
	n := 1
	for 4*n <= runtime.NumCPU() && n < callers {
		n *= 2
	}
	return n
}
