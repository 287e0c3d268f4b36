package report

import (
	"fmt"
	"io"
	"text/tabwriter"

	"portico/certify/contract"
)

// Text writes a line for each case that was tried, with its section, and below it, for
// each that is not kept, the expected and the actual answer.
func Text(w io.Writer, results []contract.Result) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	counts := map[contract.Outcome]int{}
	for _, r := range results {
		counts[r.Outcome]++
		if r.Outcome != contract.LeftOut {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", r.Outcome, r.Case, r.Type, r.Section)
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%d kept, %d broken, %d unreached, %d left out\n",
		counts[contract.Kept], counts[contract.Broken], counts[contract.Unreached], counts[contract.LeftOut])
	for _, r := range results {
		if len(r.Faults) == 0 {
			continue
		}
		fmt.Fprintf(w, "\n%s %s: %s\n  %s: %s\n", r.Case, r.Type, r.Outcome, r.Section, r.Rule)
		for _, f := range r.Faults {
			fmt.Fprintf(w, "  expected: %s\n  got:      %s\n", f.Expected, f.Got)
		}
	}
	_, err := fmt.Fprintln(w)
	return err
}
