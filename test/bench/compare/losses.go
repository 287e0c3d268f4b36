package compare

import (
	"fmt"
	"strings"
)

// losses says for each peer in what Portico, over SQLite, does worse than it by the medians.
func losses(s samples, workers int) string {
	var text strings.Builder
	for _, peer := range proxied {
		worse := lossesTo(s, peer, workers)
		if len(worse) == 0 {
			worse = []string{"in nothing"}
		}
		text.WriteString("- To " + peer + ": " + strings.Join(worse, "; ") + ".\n")
	}
	return text.String()
}

// lossesTo names each figure of which Portico needs more than the peer.
func lossesTo(s samples, peer string, workers int) (worse []string) {
	ratio := func(name, load string, what quantity) {
		r := s.ratio(key{load, portico, workers, what}, key{load, peer, workers, what})
		if !r.None && r.Median > 1 {
			worse = append(worse, fmt.Sprintf("%s (%s ×)", name, r.Middle()))
		}
	}
	for _, load := range allLoads {
		ratio("processor time of "+load, load, cpuTime)
	}
	for _, what := range []quantity{p50, p99} {
		// What both add is taken off the same time without a proxy, so it drops out.
		more := s.above(key{steadyRate, portico, workers, what}, key{steadyRate, peer, workers, what})
		if !more.None && more.Median > 0 {
			worse = append(worse, fmt.Sprintf("%s at 2,000 requests per second (%s ms more)", what, more.Middle()))
		}
	}
	ratio("p99 over 512 connections", manyConnections, p99)
	ratio("memory at the start", "", idle)
	ratio("memory over 512 connections", manyConnections, busy)
	return worse
}
