package jobs

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

// watchStore shows whether the store answers, and logs when that changes, until ctx
// ends. Failed writes alone would not show it: there may be none.
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
			r.storeUp.Set(1)
			if down {
				r.Log.Info("the store answers again")
			}
		default:
			r.storeUp.Set(0)
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
