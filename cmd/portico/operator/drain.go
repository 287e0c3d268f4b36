package operator

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"portico/gateway/admin/api"
)

func regionsDrainCommand(p Program) *cobra.Command {
	var reason, until string
	const long = `Take a region, or an address of one, out for maintenance until a time.

Nothing new is created in the region. Reads, updates and deletions go on as long as it
answers, jobs wait for it, and its outages are no problems and raise no alerts. An address
gets no new calls while another one of its endpoint can be called.

  portico regions drain eastus --reason "rack move" --until 06:00
  portico regions drain https://10.0.0.5:8443 --reason "new disk" --until 2h

The same command again changes the reason and the end. portico regions undrain ends it.`
	const short = "Take a region or an address out for maintenance"
	c := orderDrainCommand(p, "drain", short, long, "%s is %s\n", "/admin/drains", func(o *api.DrainOrder) (err error) {
		o.Reason = reason
		o.Until, err = timeAhead(until, time.Now().UTC())
		return err
	})
	c.Flags().StringVar(&reason, "reason", "", "why: clients that create something see it")
	c.Flags().StringVar(&until, "until", "", "when it ends by itself: a `TIME` such as 06:00 (UTC), 2h or 2026-01-02T06:00:00Z, within seven days")
	_, _ = c.MarkFlagRequired("reason"), c.MarkFlagRequired("until")
	return c
}

func regionsUndrainCommand(p Program) *cobra.Command {
	const long = "End the maintenance of a region, or of an address, before its time."
	return orderDrainCommand(p, "undrain", "End the maintenance of a region or an address", long, "%s is no longer %s\n", "/admin/drains/end",
		func(*api.DrainOrder) error { return nil })
}

// orderDrainCommand returns a command that sends an order. complete adds what its flags say;
// result is the form of the answer, for the place and the drain.
func orderDrainCommand(p Program, verb, short, long, result, path string, complete func(*api.DrainOrder) error) *cobra.Command {
	a := newServiceCommand(p)
	a.mustName = true
	c := &cobra.Command{
		Use: verb + " REGION|ADDRESS", Short: short, Long: long + "\n\n" + findingService,
		Args: cobra.ExactArgs(1), ValidArgsFunction: onlyFirst(completeRegions),
		RunE: func(c *cobra.Command, args []string) error {
			o := api.DrainOrder{Region: args[0]}
			if strings.Contains(args[0], "://") {
				o = api.DrainOrder{Address: args[0]}
			}
			if err := complete(&o); err != nil {
				return err
			}
			return a.withClient(func(client *api.Client) error {
				r := api.Request{Method: http.MethodPost, Path: path, Content: o}
				return send(c.Context(), a, client, a.out, r, func(to io.Writer, d api.Drain) error {
					_, err := fmt.Fprintf(to, result, args[0], drainText(&d))
					return err
				})
			})
		},
	}
	a.Flags(c)
	return c
}

// timeAhead reads a duration from now, a point in time, or the next time that a clock in UTC shows.
func timeAhead(text string, now time.Time) (time.Time, error) {
	if d, err := time.ParseDuration(text); err == nil {
		return now.Add(d), nil
	}
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return at, nil
	}
	at, err := time.Parse(time.DateOnly+" 15:04", now.Format(time.DateOnly)+" "+text)
	if err != nil {
		return at, fmt.Errorf("--until %s: want a time such as 06:00 (UTC), 2h or 2026-01-02T06:00:00Z", text)
	}
	if !at.After(now) {
		at = at.AddDate(0, 0, 1)
	}
	return at, nil
}

// drainText returns the words for a drain, "" for none.
func drainText(d *api.Drain) string {
	if d == nil {
		return ""
	}
	return fmt.Sprintf("draining until %s (%s)", d.Until.UTC().Format("2006-01-02 15:04"), d.Reason)
}
