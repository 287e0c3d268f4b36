package meter

import (
	"github.com/prometheus/client_golang/prometheus"

	"portico/limits"
)

// Memory describes a memory budget that all callers share.
type Memory struct {
	Setting string // the setting that bounds it
	Metric  string // prefix of its metrics
	Holds   string // the holders of the memory, for the help texts
}

// New returns a budget of so many bytes, perCaller of them for one caller,
// with its metrics.
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
