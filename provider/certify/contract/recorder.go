package contract

import (
	"cmp"
	"slices"
	"strings"
	"sync"
)

// Recorder is a Reporter that keeps the results.
type Recorder struct {
	mu      sync.Mutex
	results []Result
}

// Report implements Reporter.
func (r *Recorder) Report(result Result) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.results = append(r.results, result)
}

// Results returns the results so far, ordered by case and type.
func (r *Recorder) Results() []Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	sorted := slices.Clone(r.results)
	slices.SortStableFunc(sorted, func(a, b Result) int {
		return cmp.Or(strings.Compare(a.Case, b.Case), strings.Compare(a.Type, b.Type))
	})
	return sorted
}
