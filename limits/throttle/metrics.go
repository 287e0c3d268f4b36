package throttle

import "github.com/prometheus/client_golang/prometheus"

// Metrics count refusals. They outlive configurations.
type Metrics struct {
	refused [Kinds][Tenant + 1]prometheus.Counter
}

// NewMetrics registers the metrics.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	refused := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "portico_throttled_requests_total",
		Help: "Requests answered with 429 because a bucket of tokens was empty, by kind (read, write, delete) and by whose bucket that was: caller (of one caller in a subscription), subscription (of a subscription as a whole), tenant (of one caller at its tenant).",
	}, []string{"kind", "scope"})
	registry.MustRegister(refused)
	m := &Metrics{}
	for kind := range Kind(Kinds) {
		for _, scope := range []Scope{Caller, Subscription, Tenant} {
			m.refused[kind][scope] = refused.WithLabelValues(kind.String(), scope.String())
		}
	}
	return m
}

// Refused counts a refusal.
func (m *Metrics) Refused(kind Kind, r *Refusal) { m.refused[kind][r.Scope].Inc() }
