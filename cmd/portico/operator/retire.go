package operator

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"portico/gateway/admin/api"
	"portico/internal/plural"
)

func retireCommand(p Program) *cobra.Command {
	a := newServiceCommand(p)
	a.mustName = true
	var order api.Retire
	var timeout time.Duration
	c := &cobra.Command{
		Use:   "retire REGION",
		Short: "Forget a region that is gone for good and no longer in the map",
		Long: `Forget a region that is gone for good and no longer in the map.

The running service removes the region from its index, in all subscriptions: resources,
writes without an answer, strays, and the places to check before a group is deleted.
Deletions of groups that wait for the region continue. No provider is called. Before this
command, reload all gateways without the region.

` + findingService + `

With --dry-run the last line shows whether the region can be retired. A name that neither
the map nor the index knows is refused.

If the command is interrupted, what was forgotten stays forgotten; run it again to continue.
Exit status 1: the region was not retired, or a move has IDs under way there.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			ctx, cancel := context.WithTimeout(c.Context(), timeout)
			defer cancel()
			return a.withClient(func(c *api.Client) error { return a.retire(ctx, c, args[0], order) })
		},
	}
	a.Flags(c)
	c.Flags().BoolVar(&order.DryRun, "dry-run", false, "show what would be forgotten, change nothing")
	c.Flags().DurationVar(&timeout, "timeout", time.Hour, "how long to wait for the end")
	return c
}

func (a *serviceCommand) retire(ctx context.Context, c *api.Client, region string, order api.Retire) error {
	// There may be much to forget: ctx alone bounds it.
	answer, err := c.Do(ctx, api.Request{
		Method: http.MethodPost, Path: "/admin/regions/" + url.PathEscape(region) + "/retire", Content: order, Unbounded: true,
	})
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return errors.New("the region was not forgotten in time: what was forgotten stays forgotten; run this again to continue")
	}
	if err != nil {
		return err
	}
	var r api.Retirement
	if err := answer.Read(&r); err != nil {
		return err
	}
	if r.DryRun && !r.InMap && nothingIn(r) {
		return unknownRegion(ctx, c, r.Region)
	}
	if err := write(a, a.out, answer, writeRetirement); err != nil {
		return err
	}
	if r.Moving > 0 && !r.DryRun {
		return fmt.Errorf("a move has %d IDs under way there: run this again when it has ended, or was cancelled", r.Moving)
	}
	return nil
}

// nothingIn reports whether nothing is known of a region.
func nothingIn(r api.Retirement) bool {
	return r.Rows+r.Intents+r.WrittenRegions+r.Coverage+r.Notices+r.Strays+r.Fences+r.Operations+r.Moving+r.Groups.Count == 0
}

// unknownRegion returns the error for a name that neither the map nor the index knows: a
// misspelt name would look like a region that can be retired.
func unknownRegion(ctx context.Context, c *api.Client, region string) error {
	known, _, err := api.ReadList[api.Region](ctx, c, "/admin/regions", url.Values{}, mostRows)
	if err != nil {
		return err
	}
	var names []string
	for _, r := range known {
		names = append(names, r.Name)
	}
	return fmt.Errorf("neither the map nor the index knows a region %s: it is misspelt, or nothing of it is left. The map has: %s", region,
		strings.Join(names, ", "))
}

func verdict(r api.Retirement) string {
	there := r.Rows + r.Strays
	listed := plural.Count(there, "resource is", "resources are") + " there: portico resources list --region " + r.Region
	switch {
	case r.Moving > 0:
		return fmt.Sprintf("A move has %s under way there: that has to end, or to be cancelled, first.", plural.Count(r.Moving, "ID", "IDs"))
	case r.InMap && there > 0:
		return listed
	case r.InMap && r.Intents > 0:
		return "A write may still create something there: portico doubts"
	case r.InMap:
		return "Nothing is there: it can be removed from the map."
	case there > 0:
		return listed + "\nIt can be retired now; that forgets them."
	}
	return "It can be retired now."
}

func writeRetirement(to io.Writer, r api.Retirement) error {
	var b strings.Builder
	switch {
	case r.InMap:
		fmt.Fprintf(&b, "Dry run. Once %s has left the map, retiring it would forget:\n", r.Region)
	case r.DryRun:
		fmt.Fprintf(&b, "Dry run. Retiring %s would forget:\n", r.Region)
	default:
		fmt.Fprintf(&b, "Retired %s and forgot:\n", r.Region)
	}
	for _, line := range []struct {
		n          int
		one, other string
	}{
		{r.Rows, "row", "rows"}, {r.Intents, "open write", "open writes"},
		{r.WrittenRegions, "place to check before a group is deleted", "places to check before groups are deleted"},
		{r.Coverage, "record of coverage", "records of coverage"}, {r.Notices, "notice", "notices"}, {r.Strays, "stray", "strays"},
		{r.Fences, "fence", "fences"},
		{r.Operations, "polling URL", "polling URLs"},
	} {
		fmt.Fprintf(&b, "  %s\n", plural.Count(line.n, line.one, line.other))
	}
	fmt.Fprintf(&b, "%s whose deletion waits for it\n", plural.Count(r.Groups.Count, "group", "groups"))
	for _, id := range r.Groups.IDs {
		fmt.Fprintf(&b, "  %s\n", id)
	}
	if r.DryRun {
		fmt.Fprintf(&b, "%s\n", verdict(r))
	}
	_, err := io.WriteString(to, b.String())
	return err
}
