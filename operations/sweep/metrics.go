package sweep

import (
	"github.com/prometheus/client_golang/prometheus"
)

// metrics show the latest sweep of everything, by any replica.
type metrics struct {
	success, seconds, strays prometheus.Gauge
	drift                    *prometheus.GaugeVec
}

func newMetrics(registry prometheus.Registerer) *metrics {
	m := &metrics{
		success: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "portico_sweep_last_success_timestamp_seconds", Help: "When the latest sweep of everything ended in which every region answered; 0: never.",
		}),
		seconds: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "portico_sweep_seconds", Help: "How long the latest sweep of everything took.",
		}),
		strays: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "portico_index_strays", Help: "Resources that were found in another region than the index has them in.",
		}),
		drift: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "portico_index_drift", Help: "Disagreements between index and providers that the latest sweep of everything found: missing_row, missing_resource, stray, unknown_group, tags, usage (a quota's count).",
		}, []string{"kind"}),
	}
	registry.MustRegister(m.success, m.seconds, m.strays, m.drift)
	return m
}
