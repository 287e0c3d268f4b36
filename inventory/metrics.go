package inventory

import "github.com/prometheus/client_golang/prometheus"

// show registers what the cache of locations counts anyway.
func (l *Locations) show(registry prometheus.Registerer) {
	registry.MustRegister(
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "portico_index_cache_hits_total", Help: "Questions where a resource lies that memory answered.",
		}, func() float64 { hits, _ := l.asked(); return float64(hits) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{
			Name: "portico_index_cache_misses_total", Help: "Questions where a resource lies that the store had to answer.",
		}, func() float64 { _, misses := l.asked(); return float64(misses) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: "portico_index_cache_entries", Help: "Locations in memory, of at most index.cacheEntries.",
		}, func() float64 { return float64(l.entries()) }),
	)
}
