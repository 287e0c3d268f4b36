package issuer

import "github.com/prometheus/client_golang/prometheus"

// Metrics reports the age of issuers' keys. The names of issuers come from
// the configuration.
type Metrics struct {
	fetches *prometheus.CounterVec
	age     *prometheus.Desc
	failing *prometheus.Desc
	keys    func() []*Keys
}

func newMetrics(registry prometheus.Registerer, keys func() []*Keys) *Metrics {
	m := &Metrics{
		fetches: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "portico_issuer_fetches_total", Help: "Fetches of an issuer's keys, by the result: ok, failed.",
		}, []string{"issuer", "result"}),
		age: prometheus.NewDesc("portico_issuer_keys_timestamp_seconds",
			"When the issuer's keys in use were fetched, in seconds since 1970; no series before the first fetch.", []string{"issuer"}, nil),
		failing: prometheus.NewDesc("portico_issuer_unavailable_timestamp_seconds",
			"Since when the keys of an issuer cannot be fetched, in seconds since 1970; no series while they can.", []string{"issuer"}, nil),
		keys: keys,
	}
	registry.MustRegister(m.fetches, m)
	return m
}

func (m *Metrics) fetched(issuer string, err error) {
	result := "ok"
	if err != nil {
		result = "failed"
	}
	m.fetches.WithLabelValues(issuer, result).Inc()
}

// Describe implements [prometheus.Collector].
func (m *Metrics) Describe(to chan<- *prometheus.Desc) {
	to <- m.age
	to <- m.failing
}

// Collect implements [prometheus.Collector].
func (m *Metrics) Collect(to chan<- prometheus.Metric) {
	for _, k := range m.keys() {
		if set := k.set.Load(); set != nil {
			to <- prometheus.MustNewConstMetric(m.age, prometheus.GaugeValue, float64(set.fetched.UnixMilli())/1000, k.issuer)
		}
		if since := k.unavailable(); !since.IsZero() {
			to <- prometheus.MustNewConstMetric(m.failing, prometheus.GaugeValue, float64(since.UnixMilli())/1000, k.issuer)
		}
	}
}
