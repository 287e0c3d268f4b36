package meter

import (
	"github.com/prometheus/client_golang/prometheus"

	"portico/limits"
)

// Memory names a memory that all callers share.
type Memory struct {
	Setting string // that bounds it
	Metric  string // prefix of its metrics
	Holds   string // what holds the memory
}

// New returns a memory of so many bytes, perCaller of them for one caller, and shows it in
// the metrics.
func (m Memory) New(registry prometheus.Registerer, bytes, perCaller int64) *limits.Memory {
	stats := &limits.Stats{}
	ShowBudget(registry, m.Setting, stats)
	memory := limits.NewMemory(bytes, perCaller, stats)
	registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: m.Metric + "_held_bytes", Help: "Bytes that " + m.Holds + " hold in memory.",
		}, func() float64 { return float64(max(bytes-memory.Free(), 0)) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: m.Metric + "_limit_bytes", Help: "Bytes that " + m.Holds + " may hold: " + m.Setting + ".",
		}, func() float64 { return float64(bytes) }),
	)
	return memory
}
