package operator

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"portico/internal/plural"
	"portico/jobs/sweep"
)

func writeSweep(w io.Writer, r sweep.Report) error {
	var b strings.Builder
	scope := "all subscriptions"
	if r.Subscription != "" {
		scope = "subscription " + r.Subscription
	}
	if r.DryRun {
		scope += ", dry run: nothing was changed"
	}
	fmt.Fprintf(&b, "Sweep of %s\n", scope)
	if r.Ended != nil {
		fmt.Fprintf(&b, "Began %s, took %s, correlation id %s\n", r.Started.Format(time.RFC3339), r.Ended.Sub(r.Started).Round(time.Millisecond),
			r.CorrelationID)
	} else {
		fmt.Fprintf(&b, "Began %s, not ended: %d of %d steps, correlation id %s\n", r.Started.Format(time.RFC3339), r.Done, r.Of, r.CorrelationID)
	}
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprint(table, "\nTYPE\tREGION\tLISTED\n")
	for _, c := range r.Counts {
		if c.Type == "" {
			c.Type, c.Region = "further types", "-"
		}
		fmt.Fprintf(table, "%s\t%s\t%d\n", c.Type, c.Region, c.Listed)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	b.WriteByte('\n')
	adopted, removed, corrected := "adopted", "removed", "corrected"
	if r.DryRun {
		adopted, removed, corrected = "to be adopted", "to be removed", "to be corrected"
	}
	for _, f := range []struct {
		what  string
		found sweep.Finding
	}{
		{"resources that the index did not have, " + adopted, r.MissingRows},
		{"rows whose resource is gone, " + removed, r.MissingResources},
		{"resources in a second region", r.Strays},
		{"resources in a group that does not exist", r.UnknownGroups},
		{"resources with other tags than the index had", r.ChangedTags},
		{"quotas that were miscounted, " + corrected, r.Usage},
	} {
		fmt.Fprintf(&b, "%d %s\n", f.found.Count, f.what)
		someOf(&b, f.found.IDs, f.found.Count)
	}
	fmt.Fprintln(&b, plural.Count(r.FailureCount, "failure", "failures"))
	failures := make([]string, 0, len(r.Failures))
	for _, f := range r.Failures {
		failures = append(failures, fmt.Sprintf("%s in %s, subscription %s: %s", f.Type, f.Region, f.Subscription, f.Reason))
	}
	someOf(&b, failures, r.FailureCount)
	_, err := io.WriteString(w, b.String())
	return err
}

func someOf(b *strings.Builder, some []string, all int) {
	for _, s := range some {
		fmt.Fprintf(b, "  %s\n", s)
	}
	if more := all - len(some); more > 0 {
		fmt.Fprintf(b, "  and %d more\n", more)
	}
}
