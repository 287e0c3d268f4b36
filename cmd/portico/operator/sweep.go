package operator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"portico/arm"
	"portico/cmd/portico/terminal"
	"portico/gateway/admin/api"
	"portico/jobs/sweep"
)

type sweepQuery struct {
	*serviceCommand
	order   sweep.Order
	timeout time.Duration
}

func sweepCommand(p Program) *cobra.Command {
	s := sweepQuery{serviceCommand: newServiceCommand(p)}
	s.mustName = true
	c := &cobra.Command{
		Use:   "sweep",
		Short: "Compare the index with the providers, and repair differences",
		Long: `Compare the index with the providers, and repair differences.

The running service makes the sweep, ordered at its admin listener. If nothing listens
there, and --config is given, this process opens the store and makes the sweep itself.

` + findingService + `

Exit status 1: a region could not be listed completely, or the sweep did not end.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if sub := s.order.Subscription; sub != "" && !arm.ValidGUID(sub) {
				return fmt.Errorf("--subscription %q is not a GUID", sub)
			}
			ctx, cancel := context.WithTimeout(c.Context(), s.timeout)
			defer cancel()
			return s.run(ctx)
		},
	}
	s.Flags(c)
	c.Flags().BoolVar(&s.order.DryRun, "dry-run", false, "report only, change nothing")
	c.Flags().StringVar(&s.order.Subscription, "subscription", "", "sweep only the subscription with this `ID`")
	_ = c.RegisterFlagCompletionFunc("subscription", completeSubscriptions) // fails only for an undefined flag
	c.Flags().DurationVar(&s.timeout, "timeout", time.Hour, "how long to wait for the end")
	return c
}

func (s sweepQuery) run(ctx context.Context) error {
	c, err := s.connect()
	if err != nil {
		return err
	}
	defer c.Close()
	bar := terminal.NewProgress(s.errs, "sweep")
	show := func(r sweep.Report) { bar.Set(r.Done, r.Of, "") }
	report, err := s.sweepThere(ctx, c, show)
	if errors.Is(err, syscall.ECONNREFUSED) && s.config != "" {
		report, err = s.SweepHere(ctx, s.config, s.order, show)
	} else {
		err = s.advise(err)
	}
	bar.End()
	if err != nil {
		return err
	}
	text, err := json.Marshal(report)
	if err != nil {
		return err
	}
	if err := write(s.serviceCommand, s.out, api.Answer{Text: text}, writeSweep); err != nil {
		return err
	}
	if !report.Complete() {
		return ErrReported
	}
	return nil
}

// sweepThere makes the running service do the sweep.
func (s sweepQuery) sweepThere(ctx context.Context, c *api.Client, show func(sweep.Report)) (report sweep.Report, err error) {
	answer, err := c.Do(ctx, api.Request{
		Method: http.MethodPost, Path: "/admin/sweeps", Content: api.Sweep{DryRun: s.order.DryRun, Subscription: s.order.Subscription},
	})
	if err != nil {
		return report, err
	}
	path := answer.Header.Get("Location")
	if !strings.HasPrefix(path, "/admin/jobs/") {
		return report, errors.New("the admin listener named no job")
	}
	_, job, err := s.follow(ctx, c, path, func(j api.Job) {
		if json.Unmarshal(j.Progress, &report) == nil {
			show(report)
		}
	})
	if err == nil && job.State == jobCancelled {
		err = errors.New("the sweep was cancelled")
	}
	return report, err
}
