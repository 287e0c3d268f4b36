package operations

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
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

// watchStore tells whether the store answers, until ctx ends. That is told apart
// from errors of writes, as there may be none to fail.
func (r *Runner) watchStore(ctx context.Context) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		err := r.Store.Ready(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			r.up.Set(1)
		default:
			r.up.Set(0)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
