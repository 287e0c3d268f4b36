package jobs

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"portico/internal/timing"
)

const (
	// presenceEvery is how often a replica shows that it is alive, and counts the others.
	presenceEvery = 5 * time.Second
	// presenceFor is how long it counts as alive after that.
	presenceFor = 3 * presenceEvery
	// leaveTime bounds a replica's attempt to leave: the others notice its end anyway.
	leaveTime = time.Second
)

// presence is a replica's knowledge of how many replicas there are.
type presence struct{ replicas atomic.Int64 }

func newPresence(registry prometheus.Registerer) *presence {
	p := &presence{}
	p.replicas.Store(1)
	registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "portico_replicas",
		Help: "Replicas, including this one, that share the store and the limits of throttle. Updated every five seconds while the store answers.",
	}, func() float64 { return float64(p.replicas.Load()) }))
	return p
}

// showPresence shows other replicas that this one is alive, and counts them, until ctx
// ends; then it leaves. While the store does not answer, the last count stands: the
// others forget this replica, but it still counts them.
func (r *Runner) showPresence(ctx context.Context) {
	defer r.leave(ctx)
	for {
		if n, err := r.countReplicas(ctx); err == nil {
			r.presence.replicas.Store(int64(max(n, 1)))
		}
		if timing.Sleep(ctx, presenceEvery) != nil {
			return
		}
	}
}

func (r *Runner) countReplicas(ctx context.Context) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, presenceEvery)
	defer cancel()
	return r.Store.Present(ctx, r.Owner, presenceFor)
}

// leave gives this replica's share to the others at once.
func (r *Runner) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
	defer cancel()
	_ = r.Store.Leave(ctx, r.Owner) // after a failure this replica counts as alive for a while
}
