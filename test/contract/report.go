package contract

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
)

// Fault describes one violation of a rule.
type Fault struct {
	Expected string
	Got      string
}

// Result is the result of one case on one resource type.
type Result struct {
	Case    string
	Type    string // "" if the case concerns no single type
	Section string // of the contract
	Rule    string // what the section requires
	Through string // what a front door changes; "" if nothing
	Faults  []Fault
}

// Held reports whether the provider kept the rule.
func (r Result) Held() bool { return len(r.Faults) == 0 }

// Reporter receives results, from any goroutine, each once.
type Reporter interface {
	Report(Result)
}

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

// Results are the results so far, ordered by case and type.
func (r *Recorder) Results() []Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	sorted := slices.Clone(r.results)
	slices.SortStableFunc(sorted, func(a, b Result) int {
		return cmp.Or(strings.Compare(a.Case, b.Case), strings.Compare(a.Type, b.Type))
	})
	return sorted
}

// WriteReport writes results as a table: a line for each case with its section, and
// below it, for a broken rule, the expected and the actual answer.
func WriteReport(w io.Writer, results []Result) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	broken := 0
	for _, r := range results {
		verdict := "held"
		if !r.Held() {
			verdict = "BROKEN"
			broken++
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", verdict, r.Case, r.Type, r.Section)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%d rules tried, %d broken\n", len(results), broken)
	for _, r := range results {
		if r.Held() {
			continue
		}
		fmt.Fprintf(w, "\n%s %s\n  %s: %s\n", r.Case, r.Type, r.Section, r.Rule)
		for _, f := range r.Faults {
			fmt.Fprintf(w, "  expected: %s\n  got:      %s\n", f.Expected, f.Got)
		}
	}
	_, err := fmt.Fprintln(w)
	return err
}
