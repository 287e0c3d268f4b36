package main

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/prometheus/client_golang/prometheus"

	"portico/inventory"
	"portico/jobs/sweep"
)

// sweepHere returns a function that makes a sweep in this process, with the configuration
// of a service that does not run.
func sweepHere(stderr io.Writer) func(context.Context, string, sweep.Order, func(sweep.Report)) (sweep.Report, error) {
	return func(ctx context.Context, config string, order sweep.Order, progress func(sweep.Report)) (sweep.Report, error) {
		cfg, err := load(config, stderr)
		if err != nil {
			return sweep.Report{}, err
		}
		log, err := newLog(cfg.Log.Format, "warn", stderr)
		if err != nil {
			return sweep.Report{}, err
		}
		s, err := newService(ctx, cfg, log, prometheus.NewRegistry())
		if err != nil {
			return sweep.Report{}, err
		}
		report, err := s.sweepOnce(ctx, order, progress)
		return report, errors.Join(err, s.close())
	}
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
