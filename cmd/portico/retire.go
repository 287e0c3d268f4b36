package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// retireOptions are the flags of the command.
type retireOptions struct {
	adminTarget
	dryRun, json bool
	timeout      time.Duration
}

func retireCommand(stdout io.Writer) *cobra.Command {
	var o retireOptions
	c := &cobra.Command{
		Use:   "retire REGION (--config FILE | --admin URL)",
		Short: "Forget a region that is gone for good and that the map no longer has",
		Long: `Forget a region that is gone for good and that the map no longer has.

The running service forgets what its index has of the region, in all
subscriptions: resources, writes without an answer, strays, and where groups are
looked at before they go. Deletes of groups that wait for the region go on. No
provider is called. Reload all gateways without the region before.

The service is found by --admin or by the configuration that it runs with. An
admin token is taken from ` + tokenVariable + ` or from --token-file.

What was forgotten stays so where the command is cut short; run again it goes on.
Exit status 1: the region was not retired, or a move holds a part of it.`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			ctx, cancel := context.WithTimeout(c.Context(), o.timeout)
			defer cancel()
			r, err := o.retire(ctx, args[0])
			if err != nil {
				return err
			}
			if err := o.print(stdout, r); err != nil {
				return err
			}
			if r.Moving > 0 && !r.DryRun {
				return fmt.Errorf("a move has %d IDs under way there: run this again when it has ended, or was cancelled", r.Moving)
			}
			return nil
		},
	}
	o.flags(c)
	c.MarkFlagsOneRequired("config", "admin")
	c.MarkFlagsMutuallyExclusive("config", "admin")
	c.Flags().BoolVar(&o.dryRun, "dry-run", false, "say what there is to forget, change nothing")
	c.Flags().DurationVar(&o.timeout, "timeout", time.Hour, "how long to wait for the end")
	c.Flags().BoolVar(&o.json, "json", false, "print the answer as JSON")
	return c
}

// retirement is what the service answers.
type retirement struct {
	Region     string `json:"region"`
	DryRun     bool   `json:"dryRun,omitempty"`
	Rows       int    `json:"rows"`
	Intents    int    `json:"intents"`
	Touched    int    `json:"touched"`
	Coverage   int    `json:"coverage"`
	Notices    int    `json:"notices"`
	Strays     int    `json:"strays"`
	Fences     int    `json:"fences"`
	Operations int    `json:"operations"`
	Moving     int    `json:"moving,omitempty"`
	Groups     struct {
		Count int      `json:"count"`
		IDs   []string `json:"ids,omitempty"`
	} `json:"groups"`
}

func (o retireOptions) retire(ctx context.Context, region string) (r retirement, err error) {
	client, err := o.client()
	if err != nil {
		return r, err
	}
	defer client.close()
	client.http.Timeout = 0 // ctx has one: there may be much to forget
	body, err := json.Marshal(map[string]bool{"dryRun": o.dryRun})
	if err != nil {
		return r, err
	}
	_, err = client.exchange(ctx, http.MethodPost, "/admin/regions/"+url.PathEscape(region)+"/retire", body, http.StatusOK, &r)
	if err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = errors.New("the region was not forgotten in time: what was forgotten stays so, and this goes on when it is run again")
	}
	return r, err
}

func (o retireOptions) print(w io.Writer, r retirement) error {
	if o.json {
		return writeJSON(w, r)
	}
	var b strings.Builder
	if r.DryRun {
		fmt.Fprintf(&b, "There is to forget of %s; dry run, nothing was changed:\n", r.Region)
	} else {
		fmt.Fprintf(&b, "Forgotten of %s:\n", r.Region)
	}
	for _, line := range []struct {
		n          int
		one, other string
	}{
		{r.Rows, "row", "rows"}, {r.Intents, "open write", "open writes"}, {r.Touched, "place where a group is looked at", "places where groups are looked at"},
		{r.Coverage, "record of coverage", "records of coverage"}, {r.Notices, "notice", "notices"}, {r.Strays, "stray", "strays"}, {r.Fences, "fence", "fences"},
		{r.Operations, "polling URL", "polling URLs"},
	} {
		fmt.Fprintf(&b, "  %d %s\n", line.n, counted(line.n, line.one, line.other))
	}
	fmt.Fprintf(&b, "%d %s whose delete waits for it\n", r.Groups.Count, counted(r.Groups.Count, "group", "groups"))
	for _, id := range r.Groups.IDs {
		fmt.Fprintf(&b, "  %s\n", id)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func counted(n int, one, other string) string {
	if n == 1 {
		return one
	}
	return other
}
