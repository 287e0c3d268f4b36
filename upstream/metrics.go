package upstream

import "github.com/prometheus/client_golang/prometheus"

// metrics counts retries; nil counts nothing.
type metrics struct{ retries *prometheus.CounterVec }

func newMetrics(registry prometheus.Registerer) *metrics {
	if registry == nil {
		return nil
	}
	m := &metrics{prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "portico_retries_total", Help: "Repetitions of reads of providers that were due: sent, or refused because the endpoint's budget of them was used up.",
	}, []string{"outcome"})}
	registry.MustRegister(m.retries)
	return m
}

func (m *metrics) retried(sent bool) {
	if m == nil {
		return
	}
	outcome := "refused"
	if sent {
		outcome = "sent"
	}
	m.retries.WithLabelValues(outcome).Inc()
}
