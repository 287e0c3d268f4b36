package gateway

import (
	"github.com/prometheus/client_golang/prometheus"

	"portico/internal/meter"
	"portico/limits"
)

// budget names a memory that all callers share.
type budget struct {
	setting string // that bounds it
	metric  string // prefix of its metrics
	holds   string // what holds the memory
}

// newMemory returns a memory of so many bytes, each caller's share of it bounded, and
// shows it in the metrics.
func newMemory(o Options, b budget, bytes int64) *limits.Memory {
	stats := &limits.Stats{}
	meter.ShowBudget(o.Metrics, b.setting, stats)
	memory := limits.NewMemory(bytes, o.Config.Limits.ShareOf(bytes), stats)
	o.Metrics.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: b.metric + "_held_bytes", Help: "Bytes that " + b.holds + " hold in memory, of at most those of the limit.",
		}, func() float64 { return float64(max(bytes-memory.Free(), 0)) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: b.metric + "_limit_bytes", Help: "Bytes that " + b.holds + " may hold: " + b.setting + ".",
		}, func() float64 { return float64(bytes) }),
	)
	return memory
}
