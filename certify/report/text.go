package report

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"portico/certify/contract"
)

// Text writes for a terminal: a line for each case that was tried, with its section; the
// numbers; why cases were left out; and for each that is not kept the expected and the
// actual answer, and the line that repeats the request.
func Text(w io.Writer, results []contract.Result) error {
	var b strings.Builder
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	var counts Counts
	reasons := map[string]int{}
	for _, r := range results {
		counts.add(r.Outcome)
		if r.Outcome == contract.LeftOut {
			reasons[r.Why]++
			continue
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", r.Outcome, oneLine(r.Case), oneLine(r.Type), oneLine(r.Section))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(&b, "\n%d kept, %d broken, %d unreached, %d left out\n", counts.Kept, counts.Broken, counts.Unreached, counts.LeftOut)
	for _, why := range byCount(reasons) {
		fmt.Fprintf(&b, "  left out %d: %s\n", reasons[why], oneLine(why))
	}
	for _, r := range results {
		if len(r.Faults) > 0 {
			writeFaults(&b, r)
		}
	}
	b.WriteByte('\n')
	_, err := io.WriteString(w, b.String())
	return err
}

func writeFaults(b *strings.Builder, r contract.Result) {
	words := []string{r.Section}
	if r.Guideline != "" {
		words = append(words, r.Guideline)
	}
	fmt.Fprintf(b, "\n%s: %s\n  %s: %s\n", named(r), r.Outcome, oneLine(strings.Join(words, ", ")), oneLine(r.Rule))
	for _, f := range r.Faults {
		fmt.Fprintf(b, "  expected: %s\n  got:      %s\n", oneLine(f.Expected), oneLine(f.Got))
		if f.Exchange != nil && r.Script == "" {
			fmt.Fprintf(b, "  again:    %s\n", strings.ReplaceAll(visible(f.Exchange.Curl), "\n", "\n            "))
		}
	}
	if r.Script != "" {
		fmt.Fprintf(b, "  again:\n    %s\n", strings.ReplaceAll(visible(strings.TrimSpace(r.Script)), "\n", "\n    "))
	}
}

// named is a trial's case and type.
func named(r contract.Result) string {
	return oneLine(strings.TrimSpace(r.Case + " " + r.Type))
}

// byCount are the keys, the most frequent first.
func byCount(counts map[string]int) []string {
	return slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
}
