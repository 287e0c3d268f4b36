package sweep

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics show the latest sweep of everything, by any replica, and the uncovered subscriptions.
type metrics struct {
	success, seconds, strays prometheus.Gauge
	drift                    *prometheus.GaugeVec
	// By region; see [metrics.showUncovered].
	unlisted, held *prometheus.GaugeVec
	shown          []string // the regions that have values
}

func newMetrics(registry prometheus.Registerer) *metrics {
	m := &metrics{
		success: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "portico_sweep_last_success_timestamp_seconds", Help: "When the latest complete sweep ended in which every region answered; 0: " +
				"never.",
		}),
		seconds: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "portico_sweep_seconds", Help: "Duration of the latest complete sweep.",
		}),
		strays: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "portico_index_strays", Help: "Resources that were found in a region other than that in the index.",
		}),
		drift: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "portico_index_drift",
			Help: "Differences between index and providers that the latest complete sweep found: missing_row, missing_resource, stray, " +
				"unknown_group, tags, usage (the count of a quota).",
		}, []string{"kind"}),
		unlisted: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "portico_index_unlisted_subscriptions",
			Help: "Subscriptions, at most 1000, in which the region has not been listed completely, so that it is asked before a resource is " +
				"created in any region.",
		}, []string{"region"}),
		held: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "portico_index_creations_held_subscriptions",
			Help: "Subscriptions of portico_index_unlisted_subscriptions in which no resources can be created, in any region, because the region " +
				"did not answer the last probe or list.",
		}, []string{"region"}),
	}
	registry.MustRegister(m.success, m.seconds, m.strays, m.drift, m.unlisted, m.held)
	return m
}

// showUncovered counts subscriptions by the regions that are not covered in them. Each of
// the regions has a value.
func (m *metrics) showUncovered(regions []string, found []Uncovered) {
	unlisted, held := map[string]int{}, map[string]int{}
	for _, sub := range found {
		for _, r := range sub.Regions {
			unlisted[r.Region]++
			if len(r.Unreachable) > 0 {
				held[r.Region]++
			}
		}
	}
	for _, region := range m.shown {
		if !slices.Contains(regions, region) { // it has left the map
			m.unlisted.DeleteLabelValues(region)
			m.held.DeleteLabelValues(region)
		}
	}
	m.shown = regions
	for _, region := range regions {
		m.unlisted.WithLabelValues(region).Set(float64(unlisted[region]))
		m.held.WithLabelValues(region).Set(float64(held[region]))
	}
}
