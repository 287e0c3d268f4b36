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
		Help: "Requests that were to be authenticated, by the method (issuer, certificate, token; none: no method knew the credential) and the result: " +
			"accepted, missing (no credential), unknown, unknown_issuer (a token of an issuer that auth.issuers does not have), malformed, expired, early " +
			"(not valid yet), audience (for another service), signature (not the issuer's), " +
			"unknown_key (the issuer does not show it), claims (the token does not say whose it is), revoked (a certificate, by its authority), " +
			"unavailable (the issuer's keys, or a valid list of what an authority has revoked, cannot be had).",
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
