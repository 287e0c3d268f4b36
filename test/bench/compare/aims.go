package compare

import (
	"fmt"

	"portico/test/evidence"
)

// aim bounds a figure of Portico as a multiple of a peer's.
type aim struct {
	what, unit string // "A GET of an instance", "the CPU of ReverseProxy"
	most       float64
	measured   evidence.Spread
}

// sentence states whether the median meets the aim, and by how much.
func (a aim) sentence() string {
	begin := fmt.Sprintf("%s: at most %s × %s.", a.what, evidence.Short(a.most), a.unit)
	if a.measured.None {
		return begin + " Not measured."
	}
	share := evidence.Short(a.measured.Median / a.most)
	if a.measured.Median > a.most {
		return fmt.Sprintf("%s **Not met**, by a factor of %s: %s ×.", begin, share, a.measured)
	}
	return fmt.Sprintf("%s Met, at %s of the bound: %s ×.", begin, share, a.measured)
}

// aims returns all aims with what was measured for this number of workers.
func aims(s samples, workers int) []aim {
	cpu := func(load, proxy string) key { return key{load, proxy, workers, cpuTime} }
	return []aim{
		{"A GET of an instance", "the CPU of ReverseProxy", 1, s.ratio(cpu(getInstance, portico), cpu(getInstance, reverseProxy))},
		{"A GET of an instance", "the CPU of nginx", 2.5, s.ratio(cpu(getInstance, portico), cpu(getInstance, nginx))},
		{"p99 of a GET over 512 connections", "HAProxy's", 2, s.ratio(key{manyConnections, portico, workers, p99}, key{manyConnections, haproxy, workers, p99})},
		{"A GET by OpenID Connect and roles", "the CPU of a GET by static tokens without roles", 1.05, s.ratio(cpu(signedIn, porticoIssuer), cpu(signedIn, porticoKnown))},
		{"A PUT of an existing resource on SQLite", "the CPU of a GET through ReverseProxy", 300. / 55, s.ratio(cpu(putExisting, portico), cpu(getInstance, reverseProxy))},
	}
}
