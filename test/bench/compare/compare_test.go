package compare

import (
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"portico/test/bench/peers"
	"portico/test/evidence"
	"portico/test/harness"
)

var (
	rounds = flag.Int("peers.rounds", 0, "compare Portico with its peers in so many rounds")
	limit  = flag.Duration("peers.limit", 14*time.Minute, "begin no round that would not end by then")
	only   = flag.String("peers.only", "", "measure the load with this name alone, and write nothing")
	write  = flag.Bool("peers.write", false, "write what is measured into README.md and docs/evidence.md")
)

// comparison is where the figures go.
var comparison = evidence.ReportOn("../../../docs", "Comparison with proxies", "make bench-peers")

// TestMain runs the comparison or, as a process of its own, a peer.
func TestMain(m *testing.M) {
	if peers.Role(os.Args[1:]) {
		return
	}
	os.Exit(harness.Main(m))
}

func TestPeers(t *testing.T) {
	if *rounds == 0 {
		t.Skip("it takes minutes, and the machine alone: make bench-peers")
	}
	harness.OK(t, comparison.Check())
	command := "make bench-peers"
	if *rounds != 5 {
		command += fmt.Sprintf(" PEERS_ROUNDS=%d", *rounds)
	}
	started := time.Now()
	seen := evidence.Observe(command, versions()...)
	r := newRun(t, *only)
	r.check(t)
	r.warmUp(t)
	for r.rounds < *rounds {
		begunRound := time.Now()
		r.round(t)
		took := time.Since(begunRound)
		t.Logf("round %d of %d took %v", r.rounds, *rounds, took.Round(time.Second))
		if time.Since(started)+took > *limit {
			t.Logf("no further round: it would not end within %v", *limit)
			break
		}
	}
	whole := report(seen, r.samples, r.site.workers, r.rounds)
	t.Log(whole)
	if *write && *only == "" {
		harness.OK(t, comparison.Write(whole, summary(seen, r.samples, r.site.workers, r.rounds)))
	}
}
