package jobs

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"portico/inventory"
)

// The rows of the index are counted a part at a time, within a fiftieth of one
// connection's time, however many there are: ten million take some twenty minutes.
const (
	countRows  = 8000
	countShare = 50
	countPause = time.Second      // at least, between two parts
	countEvery = 30 * time.Second // at least, between two counts
	countTime  = 5 * time.Second  // for one part
)

// indexCounter counts the rows of the index repeatedly for the metrics.
type indexCounter struct {
	*Runner
	metrics *indexMetrics
}

func newIndexCounter(r *Runner) *indexCounter {
	return &indexCounter{r, newIndexMetrics(r.Metrics)}
}

func (c *indexCounter) run(ctx context.Context) {
	var counts inventory.IndexCounts
	repeat(ctx, c.pace(), func() time.Duration {
		started := time.Now()
		done, err := c.countPart(ctx, &counts)
		pause := max(countPause, countShare*time.Since(started))
		if done {
			c.metrics.show(counts)
		}
		if done || err != nil { // the housekeeper warns of a store that is down
			counts, pause = inventory.IndexCounts{}, max(pause, countEvery)
		}
		return pause
	})
}

func (c *indexCounter) countPart(ctx context.Context, counts *inventory.IndexCounts) (done bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, countTime)
	defer cancel()
	return c.Store.CountIndex(ctx, counts, countRows)
}

// watchEvery is the interval at which the store is probed.
const watchEvery = 5 * time.Second

// storeMonitor probes whether the store answers, shows the result, and logs changes.
// Failed writes cannot replace the probes: there may be no writes.
type storeMonitor struct {
	*Runner
	up   prometheus.Gauge
	down atomic.Int64 // since when the store has not answered, in microseconds; 0 if it answers
}

func newStoreMonitor(r *Runner) *storeMonitor {
	m := &storeMonitor{Runner: r, up: prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "portico_store_up",
		Help: "1 if the store answered a query and started a transaction at the last check, else 0. Checked every five seconds.",
	})}
	r.Metrics.MustRegister(m.up)
	return m
}

func (m *storeMonitor) run(ctx context.Context) {
	tick(ctx, 0, watchEvery, func() { m.probe(ctx) })
}

func (m *storeMonitor) probe(ctx context.Context) {
	err := m.Store.Ready(ctx)
	if ctx.Err() != nil {
		return
	}
	if err == nil {
		m.up.Set(1)
		if m.down.Swap(0) != 0 {
			m.Log.Info("the store answers again")
		}
		return
	}
	m.up.Set(0)
	if m.down.CompareAndSwap(0, time.Now().UnixMicro()) {
		m.Log.Error("the store does not answer", zap.Error(err))
	}
}

func (m *storeMonitor) downSince() time.Time {
	if since := m.down.Load(); since != 0 {
		return time.UnixMicro(since)
	}
	return time.Time{}
}

const (
	// heartbeatEvery is how often a replica shows that it is alive, and counts the others.
	heartbeatEvery = 5 * time.Second
	// heartbeatFor is how long it counts as alive after that.
	heartbeatFor = 3 * heartbeatEvery
	// leaveTime bounds a replica's attempt to leave: the others notice its end anyway.
	leaveTime = time.Second
)

// heartbeat shows other replicas that this one is alive, and counts them. While the store
// does not answer, the last count stays: the others forget this replica, but it still
// counts them.
type heartbeat struct {
	*Runner
	replicas atomic.Int64
}

func newHeartbeat(r *Runner) *heartbeat {
	h := &heartbeat{Runner: r}
	h.replicas.Store(1)
	r.Metrics.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "portico_replicas",
		Help: "Replicas, including this one, that share the store and the limits of throttle. Updated every five seconds while the store answers.",
	}, func() float64 { return float64(h.replicas.Load()) }))
	return h
}

func (h *heartbeat) run(ctx context.Context) {
	defer h.leave(ctx)
	repeat(ctx, 0, func() time.Duration {
		if n, err := h.countReplicas(ctx); err == nil {
			h.replicas.Store(int64(max(n, 1)))
		}
		return heartbeatEvery
	})
}

func (h *heartbeat) countReplicas(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, heartbeatEvery)
	defer cancel()
	return h.Store.Jobs.Present(ctx, h.Owner, heartbeatFor)
}

// leave removes this replica from the count, so that the others get its share of the
// limits at once.
func (h *heartbeat) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
	defer cancel()
	_ = h.Store.Jobs.Leave(ctx, h.Owner) // after a failure this replica counts as alive for a while
}
