package compare

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"portico/test/bench/peers"
	"portico/test/harness"
)

var (
	turns       = flag.Int("turns", 0, "compare programs of Portico with each other in so many turns")
	programs    = flag.String("turns.programs", "", "those programs, the first of which the others are compared with, separated by commas")
	loads       = flag.String("turns.loads", getInstance, "names of loads, separated by semicolons")
	turnWorkers = flag.Int("turns.workers", 2, "how many workers each has")
	beside      = flag.String("turns.peers", reverseProxy, "names of peers that take turns too, separated by semicolons")
)

// TestTurns compares programs of Portico over SQLite, such as those before and after a
// change:
//
//	go test ./test/bench/compare -run '^TestTurns$' -v -turns 9 -turns.programs /tmp/before,/tmp/after
func TestTurns(t *testing.T) {
	if *turns == 0 {
		t.Skip("it compares what it is told to")
	}
	addresses, _ := peers.StartProvider(t, regions, pageSize)
	var urls []string
	for _, address := range addresses {
		urls = append(urls, "http://"+address)
	}
	options := peers.Options{Provider: addresses[0], Workers: *turnWorkers, Certificate: harness.NewCertificate(t, t.TempDir()), OwnPath: missing, OwnAnswer: notFound}
	r := &run{site: &site{workers: []int{*turnWorkers}}, samples: samples{}, folder: t.TempDir()}
	wanted := strings.Split(*beside, ";")
	var all []proxy
	for name, start := range map[string]func(testing.TB, peers.Options) peers.Peer{
		reverseProxy: peers.StartReverseProxy, nginx: peers.StartNginx, haproxy: peers.StartHAProxy, caddy: peers.StartCaddy,
	} {
		if slices.Contains(wanted, name) {
			all = append(all, proxy{Peer: start(t, options), workers: *turnWorkers})
		}
	}
	first := ""
	for i, program := range strings.Split(*programs, ",") {
		p := startPortico(t, fmt.Sprintf("%d: %s", i+1, program), *turnWorkers, harness.Config{Program: program}, urls)
		all = append(all, p)
		if i == 0 {
			first = p.Name
		}
	}
	var chosen []scenario
	for _, c := range scenarios() {
		if slices.Contains(strings.Split(*loads, ";"), c.name) && !c.secure {
			chosen = append(chosen, c)
		}
	}
	for turn := range *turns + 1 {
		for _, c := range chosen {
			for _, p := range rotated(all, turn) {
				r.take(t, c, p)
			}
		}
		if turn == 0 {
			clear(r.samples) // that was to warm up
		}
		r.rounds++
	}
	for _, c := range chosen {
		for _, p := range all {
			of := func(name string, what quantity) key { return key{c.name, name, *turnWorkers, what} }
			t.Logf("%s, %s: %s µs of processor time, %s × that of the first; %s requests a second; p99 %s ms, %s × that of the first",
				c.name, p.Name, r.samples.of(of(p.Name, cpuTime)), r.samples.ratio(of(p.Name, cpuTime), of(first, cpuTime)),
				r.samples.of(of(p.Name, rate)), r.samples.of(of(p.Name, p99)), r.samples.ratio(of(p.Name, p99), of(first, p99)))
		}
	}
}
