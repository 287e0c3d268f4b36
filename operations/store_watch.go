package operations

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
)

// watchEvery is how often the store is asked whether it answers.
const watchEvery = 5 * time.Second

func newStoreGauge(registry prometheus.Registerer) prometheus.Gauge {
	up := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "portico_store_up", Help: "1 where the store has lately answered a question and begun a transaction, 0 where it did not. Asked every five seconds.",
	})
	registry.MustRegister(up)
	return up
}

// watchStore tells whether the store answers, until ctx ends; in the log, when that
// changes. That is told apart from errors of writes, as there may be none to fail.
func (r *Runner) watchStore(ctx context.Context) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	down := false
	for {
		err := r.Store.Ready(ctx)
		if ctx.Err() != nil {
			return
		}
		switch {
		case err == nil:
			r.up.Set(1)
			if down {
				r.Log.Info("the store answers again")
			}
		default:
			r.up.Set(0)
			if !down {
				r.Log.Error("the store does not answer", zap.Error(err))
			}
		}
		down = err != nil
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
