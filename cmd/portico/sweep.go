package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"portico/arm"
	"portico/config"
	"portico/inventory"
	"portico/logs"
	"portico/operations/sweep"
)

// sweepOptions are the flags of the command.
type sweepOptions struct {
	config, tokenFile string
	order             sweep.Order
	timeout           time.Duration
	json              bool
}

func sweepCommand(stdout, stderr io.Writer) *cobra.Command {
	var o sweepOptions
	c := &cobra.Command{
		Use:   "sweep --config FILE",
		Short: "Compare the index with what the providers hold, and mend it",
		Long: `Compare the index with what the providers hold, and mend it.

The running service makes the sweep: it is ordered at its admin listener. Where
nothing listens there, this process opens the store and makes the sweep itself.
An admin token is taken from ` + tokenVariable + ` or from --token-file.

Exit status 1: a region could not be looked at in full, or the sweep did not end.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			cfg, err := load(o.config, stderr)
			if err != nil {
				return err
			}
			if sub := o.order.Subscription; sub != "" && !arm.ValidGUID(sub) {
				return fmt.Errorf("--subscription %q is no GUID", sub)
			}
			ctx, cancel := context.WithTimeout(c.Context(), o.timeout)
			defer cancel()
			report, err := o.sweep(ctx, cfg, stderr)
			if err != nil {
				return err
			}
			if err := o.print(stdout, report); err != nil {
				return err
			}
			if !report.Complete() {
				return errReported
			}
			return nil
		},
	}
	configFlag(c, &o.config)
	c.Flags().BoolVar(&o.order.DryRun, "dry-run", false, "report only, change nothing")
	c.Flags().StringVar(&o.order.Subscription, "subscription", "", "sweep this subscription alone")
	c.Flags().DurationVar(&o.timeout, "timeout", time.Hour, "how long to wait for the end")
	c.Flags().BoolVar(&o.json, "json", false, "print the report as JSON")
	c.Flags().StringVar(&o.tokenFile, "token-file", "", "file that holds the admin token")
	return c
}

// sweep has the running service make the sweep, or makes it where none runs.
func (o sweepOptions) sweep(ctx context.Context, cfg *config.Config, stderr io.Writer) (sweep.Report, error) {
	client, err := newAdminClient(cfg.Server.Admin, o.tokenFile)
	if err != nil {
		return sweep.Report{}, err
	}
	defer client.close()
	progress := progressOn(stderr)
	job, err := client.order(ctx, o.order)
	if errors.Is(err, syscall.ECONNREFUSED) {
		return o.sweepHere(ctx, cfg, stderr, progress)
	}
	if err != nil {
		return sweep.Report{}, err
	}
	return client.follow(ctx, job, progress)
}

// sweepHere makes the sweep in this process.
func (o sweepOptions) sweepHere(ctx context.Context, cfg *config.Config, stderr io.Writer, progress func(sweep.Report)) (sweep.Report, error) {
	log, err := logs.New("warn", stderr)
	if err != nil {
		return sweep.Report{}, err
	}
	s, err := newService(ctx, cfg, log)
	if err != nil {
		return sweep.Report{}, err
	}
	report, err := s.sweepOnce(ctx, o.order, progress)
	return report, errors.Join(err, s.close())
}

func (s *service) sweepOnce(ctx context.Context, order sweep.Order, progress func(sweep.Report)) (sweep.Report, error) {
	if order.Subscription != "" {
		switch known, err := s.store.Subscription(ctx, order.Subscription); {
		case errors.Is(err, inventory.ErrNotFound):
			return sweep.Report{}, fmt.Errorf("there is no subscription %s", order.Subscription)
		case err != nil:
			return sweep.Report{}, err
		default:
			order.Subscription = known.ID
		}
	}
	return s.live.Gateway().Sweeper().Sweep(ctx, order, progress)
}

// progressOn shows how far a sweep has come, a line for each change, but not
// more than one a second.
func progressOn(w io.Writer) func(sweep.Report) {
	var shown time.Time
	last := -1
	return func(r sweep.Report) {
		if r.Of == 0 || r.Done == last || time.Since(shown) < time.Second && r.Done < r.Of {
			return
		}
		shown, last = time.Now(), r.Done
		fmt.Fprintf(w, "sweep: %d of %d\n", r.Done, r.Of)
	}
}

func (o sweepOptions) print(w io.Writer, r sweep.Report) error {
	if !o.json {
		return writeSweep(w, r)
	}
	return writeJSON(w, r)
}
