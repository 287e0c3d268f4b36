package compare

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

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
			s[k] = append(figures[:earlier], spreadOf(figures[earlier:]).median)
		}
	}
}

// of returns the spread of a figure over the rounds.
func (s samples) of(k key) spread { return spreadOf(s[k]) }

// ratio returns the spread of a divided by b, round by round.
func (s samples) ratio(a, b key) spread {
	return s.join(a, b, func(x, y float64) float64 { return x / y })
}

// above returns the spread of a minus b, round by round.
func (s samples) above(a, b key) spread {
	return s.join(a, b, func(x, y float64) float64 { return x - y })
}

func (s samples) join(a, b key, how func(x, y float64) float64) spread {
	var joined []float64
	for i := range min(len(s[a]), len(s[b])) {
		joined = append(joined, how(s[a][i], s[b][i]))
	}
	return spreadOf(joined)
}

// spread is the minimum, the median and the maximum of some figures; none: there are no
// figures.
type spread struct {
	least, median, most float64
	none                bool
}

func spreadOf(figures []float64) spread {
	if len(figures) == 0 {
		return spread{none: true}
	}
	sorted := slices.Sorted(slices.Values(figures))
	middle := len(sorted) / 2
	median := sorted[middle]
	if len(sorted)%2 == 0 {
		median = (sorted[middle-1] + sorted[middle]) / 2
	}
	return spread{least: sorted[0], median: median, most: sorted[len(sorted)-1]}
}

// String shows all three, "1.02–**1.10**–1.31", or a dash.
func (s spread) String() string {
	if s.none {
		return "–"
	}
	return fmt.Sprintf("%s–**%s**–%s", short(s.least), short(s.median), short(s.most))
}

// middle shows the median alone.
func (s spread) middle() string {
	if s.none {
		return "–"
	}
	return short(s.median)
}

// short shows three significant digits, and of large numbers all before the point.
func short(x float64) string {
	if x == 0 || math.IsNaN(x) || math.IsInf(x, 0) {
		return fmt.Sprint(x)
	}
	digits := 2 - int(math.Floor(math.Log10(math.Abs(x))))
	return strings.Replace(strconv.FormatFloat(x, 'f', min(max(digits, 0), 3), 64), "-", "−", 1)
}
