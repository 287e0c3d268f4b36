package compare

import "portico/test/evidence"

// quantity is what is measured.
type quantity string

const (
	cpuTime  quantity = "CPU"       // of the proxy for a request, in µs
	storeCPU quantity = "store CPU" // of the database's server for a request, in µs
	rate     quantity = "rate"      // requests answered in a second
	p50      quantity = "p50"       // in ms
	p99      quantity = "p99"       // in ms
	idle     quantity = "idle"      // memory before any load, in MiB
	busy     quantity = "busy"      // memory at most under a load, in MiB
)

// key identifies a series of figures.
type key struct {
	load    string
	proxy   string
	workers int
	what    quantity
}

// samples are the figures of all rounds, in order.
type samples map[key][]float64

func (s samples) add(k key, figure float64) { s[k] = append(s[k], figure) }

// summarize replaces the latest figures of each series of a load, as many as there were
// passes, by their median.
func (s samples) summarize(load string, passes int) {
	for k, figures := range s {
		if earlier := len(figures) - passes; k.load == load && passes > 1 && earlier >= 0 {
			s[k] = append(figures[:earlier], evidence.SpreadOf(figures[earlier:]).Median)
		}
	}
}

// of returns the spread of a figure over the rounds.
func (s samples) of(k key) evidence.Spread { return evidence.SpreadOf(s[k]) }

// ratio returns the spread of a divided by b, round by round.
func (s samples) ratio(a, b key) evidence.Spread {
	return s.join(a, b, func(x, y float64) float64 { return x / y })
}

// above returns the spread of a minus b, round by round.
func (s samples) above(a, b key) evidence.Spread {
	return s.join(a, b, func(x, y float64) float64 { return x - y })
}

func (s samples) join(a, b key, how func(x, y float64) float64) evidence.Spread {
	var joined []float64
	for i := range min(len(s[a]), len(s[b])) {
		joined = append(joined, how(s[a][i], s[b][i]))
	}
	return evidence.SpreadOf(joined)
}
