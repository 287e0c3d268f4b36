package jobs

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
)

// watchEvery is the interval at which the store is probed.
const watchEvery = 5 * time.Second

func newStoreGauge(registry prometheus.Registerer) prometheus.Gauge {
	up := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "portico_store_up",
		Help: "1 if the store answered a query and started a transaction at the last check, else 0. Checked every five seconds.",
	})
	registry.MustRegister(up)
	return up
}

// watchStore shows whether the store answers, and logs when that changes, until ctx
// ends. Failed writes alone would not show it: there may be none.
func (r *Runner) watchStore(ctx context.Context) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for {
		err := r.Store.Ready(ctx)
		if ctx.Err() != nil {
			return
		}
		switch {
		case err == nil:
			r.storeUp.Set(1)
			if r.storeDown.Swap(0) != 0 {
				r.Log.Info("the store answers again")
			}
		default:
			r.storeUp.Set(0)
			if r.storeDown.CompareAndSwap(0, time.Now().UnixMicro()) {
				r.Log.Error("the store does not answer", zap.Error(err))
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// StoreDownSince returns the time since which the store has not answered; the zero time if
// it answered the last probe.
func (r *Runner) StoreDownSince() time.Time {
	if since := r.storeDown.Load(); since != 0 {
		return time.UnixMicro(since)
	}
	return time.Time{}
}
