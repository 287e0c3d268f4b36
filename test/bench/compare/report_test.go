package compare

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"portico/test/bench/peers"
	"portico/test/evidence"
)

// A ratio divides figures of the same round: a round that is slow for both changes nothing.
func TestRatioIsThatOfEachRound(t *testing.T) {
	s, a, b := samples{}, key{proxy: "a"}, key{proxy: "b"}
	for _, round := range [][2]float64{{10, 5}, {200, 100}, {9, 3}} {
		s.add(a, round[0])
		s.add(b, round[1])
	}
	s.add(a, 1000) // b has no such round
	if got, want := s.ratio(a, b), (evidence.Spread{Least: 2, Median: 2, Most: 3}); got != want {
		t.Errorf("ratio %+v, want %+v", got, want)
	}
	if got, want := s.above(a, b), (evidence.Spread{Least: 5, Median: 6, Most: 100}); got != want {
		t.Errorf("difference %+v, want %+v", got, want)
	}
	if got := s.ratio(a, key{proxy: "c"}); !got.None {
		t.Errorf("to nothing: %+v", got)
	}
}

func TestAimsSayWhetherTheyAreMet(t *testing.T) {
	a := aim{what: "A GET", unit: "the CPU of nginx", most: 2.5}
	for _, c := range []struct {
		measured evidence.Spread
		want     string
	}{
		{evidence.Spread{None: true}, "A GET: at most 2.50 × the CPU of nginx. Not measured."},
		{evidence.Spread{Least: 1, Median: 2.5, Most: 4}, "A GET: at most 2.50 × the CPU of nginx. Met, at 1.00 of the bound: 1.00–**2.50**–4.00 ×."},
		{evidence.Spread{Least: 2, Median: 5, Most: 6}, "A GET: at most 2.50 × the CPU of nginx. **Not met**, by a factor of 2.00: 2.00–**5.00**–6.00 ×."},
	} {
		if a.measured = c.measured; a.sentence() != c.want {
			t.Errorf("%s\nwant %s", a.sentence(), c.want)
		}
	}
}

// Who reads what Portico is worse in must find all of it, and nothing else.
func TestLossesAreAllNamed(t *testing.T) {
	s := samples{}
	set := func(load string, what quantity, own, peers float64) {
		s.add(key{load, portico, 2, what}, own)
		for _, peer := range proxied {
			s.add(key{load, peer, 2, what}, peers)
		}
	}
	set(getInstance, cpuTime, 20, 10)
	set(putNew, cpuTime, 10, 10)
	set(getLarge, cpuTime, 5, 10)
	set(steadyRate, p50, 1, 2)
	set(steadyRate, p99, 2, 1.5)
	set(manyConnections, p99, 30, 10)
	set("", idle, 10, 20)
	set(manyConnections, busy, 15, 10)
	s[key{getInstance, caddy, 2, cpuTime}][0], s[key{steadyRate, caddy, 2, p99}][0] = 40, 3
	s[key{manyConnections, caddy, 2, p99}][0], s[key{manyConnections, caddy, 2, busy}][0] = 30, 20
	const most = "processor time of GET, 1 KiB (2.00 ×); p99 at 2,000 requests per second (0.500 ms more); " +
		"p99 over 512 connections (3.00 ×); memory over 512 connections (1.50 ×).\n"
	want := "- To ReverseProxy: " + most + "- To nginx: " + most + "- To HAProxy: " + most + "- To Caddy: in nothing.\n"
	if got := losses(s, 2); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// A round's figure is the median of its passes; earlier rounds and other loads are left.
func TestPassesAreSummarized(t *testing.T) {
	get, put := key{getInstance, portico, 2, cpuTime}, key{putNew, portico, 2, cpuTime}
	s := samples{get: {7, 30, 10, 20}, put: {1, 2, 3}}
	s.summarize(getInstance, 3)
	s.summarize(putNew, 0)
	if got := fmt.Sprint(s[get], s[put]); got != "[7 20] [1 2 3]" {
		t.Error(got)
	}
}

// The runner writes the page only after minutes of measuring.
func TestPageHasAPlaceForWhatIsMeasured(t *testing.T) {
	if err := comparison.Check(); err != nil {
		t.Error(err)
	}
}

// All figures differ here, so each is found in its place.
func TestReportHasEveryLoad(t *testing.T) {
	s, workers := samples{}, []int{1, 2}
	next := 1.0
	add := func(k key, what quantity) {
		k.what = what
		for range 3 {
			s.add(k, next)
			next *= 1.01
		}
	}
	for _, c := range append(scenarios(), steady()) {
		for _, who := range c.proxies {
			for _, n := range workers {
				k := key{load: c.name, proxy: who, workers: n}
				for _, what := range []quantity{cpuTime, storeCPU, rate, p50, p99, busy} {
					add(k, what)
				}
			}
		}
	}
	text := report(evidence.Circumstances{Started: time.Unix(0, 0).UTC(), Command: "make bench-peers", Machine: "a machine", Load: "0.5", Versions: "v1"}, s, workers, 3)
	for _, c := range scenarios() {
		if name := c.name; name != manyConnections && name != mergedList && !strings.Contains(text, "| "+name+" |") {
			t.Errorf("%s is not in the report", name)
		}
	}
	for _, part := range []string{
		"Measured 1970-01-01 00:00 UTC by `make bench-peers`, 3 rounds, on a machine. The load average was 0.5 at the start.", "Versions: v1.",
		s.ratio(key{getInstance, portico, 2, cpuTime}, key{getInstance, nginx, 2, cpuTime}).String(),
		s.ratio(key{putNew, porticoPostgres, 2, rate}, key{putNew, caddy, 2, rate}).String(),
		s.ratio(key{mergedList, portico, 2, cpuTime}, key{mergedList, merger, 2, cpuTime}).String(),
		s.ratio(key{putExisting, haproxy, 2, rate}, key{putExisting, haproxy, 1, rate}).String(),
		s.above(key{steadyRate, portico, 2, p99}, key{steadyRate, direct, 2, p99}).String(),
		s.of(key{manyConnections, caddy, 2, p99}).String(),
		s.of(key{manyConnections, portico, 2, busy}).String(),
	} {
		if !strings.Contains(text, part) {
			t.Errorf("%s is not in the report:\n%s", part, text)
		}
	}
	short := summary(evidence.Circumstances{}, s, workers, 3)
	for _, part := range []string{
		s.of(key{putNew, caddy, 2, cpuTime}).Middle(), s.above(key{steadyRate, portico, 2, p50}, key{steadyRate, direct, 2, p50}).Middle(),
		s.of(key{manyConnections, nginx, 2, p99}).Middle(), s.of(key{manyConnections, haproxy, 2, busy}).Middle(),
	} {
		if !strings.Contains(short, " "+part+" |") {
			t.Errorf("%s is not in the summary:\n%s", part, short)
		}
	}
	if strings.Contains(text, "\n\n\n") || strings.Contains(text, "NaN") {
		t.Errorf("empty lines or no numbers:\n%s", text)
	}
}

func TestWorkerCounts(t *testing.T) {
	for processors, want := range map[int][]int{1: {1}, 2: {1, 2}, 3: {1, 2, 3}, 4: {1, 2, 4}, 64: {1, 2, 4, 64}} {
		if got := workerCounts(processors); !slices.Equal(got, want) {
			t.Errorf("%d processors: %v, want %v", processors, got, want)
		}
	}
}

func TestEveryProxyBeginsARound(t *testing.T) {
	all := []proxy{{workers: 1}, {workers: 2}, {workers: 3}}
	for round, want := range map[int][]int{0: {1, 2, 3}, 1: {2, 3, 1}, 2: {3, 1, 2}, 3: {1, 2, 3}} {
		var got []int
		for _, p := range rotated(all, round) {
			got = append(got, p.workers)
		}
		if !slices.Equal(got, want) {
			t.Errorf("round %d: %v, want %v", round, got, want)
		}
	}
	if got := rotated(nil, 1); got != nil {
		t.Errorf("%v of nothing", got)
	}
}

// A PUT sends as much as the page says.
func TestBodyHasTheSizeThatThePageSays(t *testing.T) {
	if got := len(body()); got != peers.WrittenSize {
		t.Errorf("%d bytes", got)
	}
}
