package access

import "github.com/prometheus/client_golang/prometheus"

// noMethod stands in metrics for credentials that no method knows.
const noMethod = "none"

// Metrics counts sign-ins by method and result. A gateway's metrics outlive
// its configurations.
type Metrics struct{ signIns *prometheus.CounterVec }

type counter = prometheus.Counter

// NewMetrics registers the metrics.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	m := &Metrics{prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "portico_sign_ins_total",
		Help: "Authentications of requests, by method (issuer, certificate, token; none: no method recognized the credential) and result: " +
			"accepted, missing (no credential), unknown, unknown_issuer (the token's issuer is not in auth.issuers), malformed, expired, early " +
			"(not valid yet), audience (for another service), signature (not the issuer's), unknown_key (not among the issuer's keys), claims " +
			"(required claims are missing or invalid), revoked (a certificate), unavailable (the issuer's keys, or a valid revocation list, are " +
			"not available).",
	}, []string{"method", "result"})}
	registry.MustRegister(m.signIns)
	for _, missed := range []string{Missing, Unknown, UnknownIssuer, Malformed} {
		m.counterOf(noMethod, missed)
	}
	return m
}

func (m *Metrics) counterOf(method, result string) prometheus.Counter {
	return m.signIns.WithLabelValues(method, result)
}
