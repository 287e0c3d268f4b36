package evidence

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Spread is the minimum, the median and the maximum of some figures. None: there are no
// figures.
type Spread struct {
	Least, Median, Most float64
	None                bool
}

// SpreadOf returns the spread of figures in any order.
func SpreadOf(figures []float64) Spread {
	if len(figures) == 0 {
		return Spread{None: true}
	}
	sorted := slices.Sorted(slices.Values(figures))
	middle := len(sorted) / 2
	median := sorted[middle]
	if len(sorted)%2 == 0 {
		median = (sorted[middle-1] + sorted[middle]) / 2
	}
	return Spread{Least: sorted[0], Median: median, Most: sorted[len(sorted)-1]}
}

// String shows all three, "1.02–**1.10**–1.31", or a dash.
func (s Spread) String() string {
	if s.None {
		return "–"
	}
	return fmt.Sprintf("%s–**%s**–%s", Short(s.Least), Short(s.Median), Short(s.Most))
}

// Middle shows the median alone.
func (s Spread) Middle() string {
	if s.None {
		return "–"
	}
	return Short(s.Median)
}

// Short shows three significant digits, and of large numbers all before the point.
func Short(x float64) string {
	if x == 0 || math.IsNaN(x) || math.IsInf(x, 0) {
		return fmt.Sprint(x)
	}
	digits := 2 - int(math.Floor(math.Log10(math.Abs(x))))
	return strings.Replace(strconv.FormatFloat(x, 'f', min(max(digits, 0), 3), 64), "-", "−", 1)
}
