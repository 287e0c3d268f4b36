package limits

import "github.com/prometheus/client_golang/prometheus"

// ThrottleMetrics counts refusals. It survives a change of the configuration.
type ThrottleMetrics struct {
	refused [RequestKinds][TenantBucket + 1]prometheus.Counter
}

// NewThrottleMetrics registers the metrics.
func NewThrottleMetrics(registry prometheus.Registerer) *ThrottleMetrics {
	refused := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "portico_throttled_requests_total",
		Help: "Requests answered with 429 because a token bucket was empty, by kind (read, write, delete) and scope of the bucket: caller (one " +
			"caller in a subscription), subscription (the whole subscription), tenant (one caller at its tenant).",
	}, []string{"kind", "scope"})
	registry.MustRegister(refused)
	m := &ThrottleMetrics{}
	for kind := range RequestKind(RequestKinds) {
		for _, scope := range []BucketScope{CallerBucket, SubscriptionBucket, TenantBucket} {
			m.refused[kind][scope] = refused.WithLabelValues(kind.String(), scope.String())
		}
	}
	return m
}

// Refused counts a refusal.
func (m *ThrottleMetrics) Refused(kind RequestKind, r *Refusal) { m.refused[kind][r.Scope].Inc() }
