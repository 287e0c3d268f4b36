package contract

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
)

// Bounds of a run's reports, whatever a provider answers.
const (
	mostFaults = 8       // of a result
	shownRoom  = 8 << 20 // text chosen by providers, in all faults of a run together
	// Bounds of one fault once there is no room left.
	shortBody   = 1 << 10
	shortText   = 300
	shortHeader = 20 // lines
)

// room counts the text chosen by a provider in the faults of a run. It is
// safe for concurrent use.
type room struct {
	mu   sync.Mutex
	used int
}

// boundResult bounds the faults of a result: it keeps the first ones and the last,
// and cuts them if there is no room left.
func (r *room) boundResult(result *Result) {
	if n := len(result.Faults); n > mostFaults {
		last := result.Faults[n-1]
		last.Got = fmt.Sprintf("%s (the last of %d faults, of which %d are not shown)", last.Got, n, n-mostFaults)
		result.Faults = append(result.Faults[:mostFaults-1:mostFaults-1], last)
	}
	for i := range result.Faults {
		r.shorten(&result.Faults[i])
	}
}

// shorten cuts the text chosen by a provider in a fault, once there is no room left.
func (r *room) shorten(f *Fault) {
	r.mu.Lock()
	defer r.mu.Unlock()
	full := r.used > shownRoom
	if full {
		f.Expected, f.Got = clip(f.Expected, shortText), clip(f.Got, shortText)
	}
	r.used += len(f.Expected) + len(f.Got)
	e := f.Exchange
	if e == nil {
		return
	}
	if full {
		e.shorten()
	}
	r.used += 2*len(e.URL) + len(e.Body) + len(e.RequestBody)
	for name, values := range e.Header {
		r.used += len(name) + len(strings.Join(values, ""))
	}
}

func (e *Exchange) shorten() {
	if len(e.Body) > shortBody {
		e.Body, e.BodyNote = clip(e.Body, shortBody), fmt.Sprintf("the first %d bytes: the report has no room for more", shortBody)
	}
	if n := len(e.URL); n > shortBody {
		e.URL, e.Curl = clip(e.URL, shortBody), fmt.Sprintf("# the URL has %d bytes, which are not shown", n)
	}
	shown := http.Header{}
	for _, name := range slices.Sorted(maps.Keys(e.Header)) {
		if len(shown) < shortHeader {
			shown[name] = []string{clip(e.Header.Get(name), shortText)}
		}
	}
	e.Header = shown
}
