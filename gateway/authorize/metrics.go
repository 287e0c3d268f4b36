package authorize

import (
	"errors"

	"github.com/prometheus/client_golang/prometheus"

	"portico/arm"
)

// Metrics counts decisions. One set serves all configurations.
type Metrics struct{ allowed, denied, hidden prometheus.Counter }

// NewMetrics registers the metrics.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	answers := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "portico_authorizations_total",
		Help: "Authorization checks, by result: allowed, denied, or hidden (the caller has no role in the subscription, and is answered that it " +
			"does not exist).",
	}, []string{"result"})
	registry.MustRegister(answers)
	return &Metrics{answers.WithLabelValues("allowed"), answers.WithLabelValues("denied"), answers.WithLabelValues("hidden")}
}

// count counts a decision. It does not count a failure to decide. A nil Metrics counts
// nothing.
func (m *Metrics) count(err error) {
	if m == nil {
		return
	}
	switch fault, refused := errors.AsType[*arm.Error](err); {
	case err == nil:
		m.allowed.Inc()
	case refused && fault.Code == arm.SubscriptionNotFound:
		m.hidden.Inc()
	case refused:
		m.denied.Inc()
	}
}
