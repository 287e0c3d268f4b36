package upstream

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"portico/internal/meter"
	"portico/internal/sendguard"
	"portico/regions/health"
	"portico/tracing"
)

// metrics has labels for regions and addresses of the map, and words from fixed lists.
type metrics struct {
	retries, refused                      *prometheus.CounterVec
	requests, errors, connections         *prometheus.CounterVec
	seconds                               *prometheus.HistogramVec
	inFlight, open, certificates, reading *prometheus.GaugeVec
	shed                                  *prometheus.CounterVec
	queued                                *prometheus.HistogramVec
}

func newMetrics(registry prometheus.Registerer, c *Client) *metrics {
	place := []string{"region", "endpoint"}
	m := &metrics{
		retries: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "portico_retries_total",
			Help: "Retries of reads of providers, by outcome: sent, or refused because the endpoint's retry budget (a fifth of its requests) was " +
				"used up.",
		}, []string{"region", "outcome"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "portico_region_refusals_total", Help: "Calls that were not made because no address of the endpoint can be reached.",
		}, []string{"region"}),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "portico_upstream_requests_total",
			Help: "Requests that an address of a regional endpoint answered, by status. Each attempt counts.",
		}, append(place, "method", "code")),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "portico_upstream_errors_total",
			Help: "Requests to an address without a complete answer, by kind: dns, connect, untrusted (the provider does not trust the gateway's " +
				"certificate or credential), tls_authority, tls_host, tls_expired (the provider's certificate is from an untrusted authority, " +
				"for another host, or not valid now), tls (other TLS errors), timeout, cancelled (the client disconnected, or the answer was no " +
				"longer needed), unsent (timed out before it was sent), too_large, broken (the connection, or the answer).",
		}, append(place, "kind")),
		seconds: prometheus.NewHistogramVec(meter.Seconds(
			"portico_upstream_seconds", "Time from a request's start, including the wait for a connection, to the headers of its answer or its "+
				"failure.",
		), place),
		inFlight: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "portico_upstream_in_flight", Help: "Requests that wait for the headers of their answers.",
		}, place),
		open: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "portico_upstream_connections", Help: "Open connections, including idle ones.",
		}, place),
		connections: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "portico_upstream_connections_total", Help: "Connections used by requests: new, or reused.",
		}, append(place, "state")),
		certificates: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "portico_upstream_certificate_expiry_timestamp_seconds", Help: "When the certificate expires that the endpoint showed last.",
		}, place),
		reading: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "portico_upstream_reads_in_flight",
			Help: "Portico's own reads of an endpoint in progress, at most upstream.readsPerEndpoint each.",
		}, []string{"region"}),
		shed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "portico_provider_shed_total",
			Help: "Clients' calls that were not made because they got no slot of the endpoint, by the reason: share (the caller has used its " +
				"share), or full (all callers together have used all slots). By namespace; none: reads by the gateway on a client's behalf.",
		}, []string{"provider", "region", "reason"}),
		queued: prometheus.NewHistogramVec(meter.Seconds(
			"portico_provider_queue_seconds",
			"How long calls waited for a slot of the endpoint, whether they got one or not. Calls that did not wait are not counted.",
		), []string{"region"}),
	}
	if registry != nil {
		meter.ShowBudget(registry, "upstream.readsPerEndpoint", &c.reading)
		meter.ShowBudget(registry, "upstream.callsPerEndpoint", &c.calling)
		registry.MustRegister(newHealthCollector(c), m.retries, m.refused, m.requests, m.errors, m.seconds, m.inFlight, m.open, m.connections,
			m.certificates, m.reading, m.shed, m.queued)
	}
	return m
}

// recordWait records a wait for a slot.
func (m *metrics) recordWait(call *Call, length time.Duration, err error) {
	provider, region := cmp.Or(call.Provider, "none"), call.Endpoint.Region
	m.queued.WithLabelValues(region).Observe(length.Seconds())
	switch {
	case call.Caller == "":
	case errors.Is(err, errCallerBusy):
		m.shed.WithLabelValues(provider, region, "share").Inc()
	case errors.Is(err, errEndpointBusy):
		m.shed.WithLabelValues(provider, region, "full").Inc()
	}
}

func (m *metrics) recordRetry(region string, sent bool) {
	outcome := "refused"
	if sent {
		outcome = "sent"
	}
	m.retries.WithLabelValues(region, outcome).Inc()
}

// addressMetrics holds the metrics of one address. Error counters exist from
// the start, so that the first error shows as an increase.
type addressMetrics struct {
	address        string
	requests       *meter.Handles[answerLabels, prometheus.Counter]
	errors         map[string]prometheus.Counter // by kind
	seconds        *meter.Times
	inFlight, open prometheus.Gauge
	opened, reused prometheus.Counter
	tally          tally

	mu      sync.Mutex // guards expiry: a removed series must not return
	expiry  *prometheus.GaugeVec
	removed atomic.Bool // the address is no longer in the map
}

// answerLabels are an answer's labels: a method that routes know, and [meter.Code].
type answerLabels struct{ method, code string }

// failed counts a request, or the body of an answer, that failed.
func (s *addressMetrics) failed(err error) {
	kind := ErrorKind(err)
	s.errors[kind].Inc()
	s.tally.failed(kind)
}

func (s *addressMetrics) answered(method string, status int) {
	s.tally.answered(status)
	if !s.removed.Load() {
		s.requests.Get(answerLabels{method, meter.Code(status)}).Inc()
	}
}

// recordCertificate records the expiry of the address's certificate.
func (s *addressMetrics) recordCertificate(state tls.ConnectionState) {
	if len(state.PeerCertificates) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tally.certificateEnds.Store(state.PeerCertificates[0].NotAfter.Unix())
	if !s.removed.Load() {
		s.expiry.With(prometheus.Labels{}).Set(float64(state.PeerCertificates[0].NotAfter.Unix()))
	}
}

// addressOf returns host and port of a URL, for dialing and for labels.
func addressOf(u *url.URL) string {
	if u.Port() != "" {
		return u.Host
	}
	port := "80"
	if u.Scheme == "https" {
		port = "443"
	}
	return net.JoinHostPort(u.Hostname(), port)
}

func (m *metrics) forAddress(region, address string) *addressMetrics {
	labels := prometheus.Labels{"region": region, "endpoint": address}
	requests, connections, failures := m.requests.MustCurryWith(labels), m.connections.MustCurryWith(labels), map[string]prometheus.Counter{}
	for _, kind := range errorKinds() {
		failures[kind] = m.errors.WithLabelValues(region, address, kind)
	}
	m.refused.WithLabelValues(region)
	return &addressMetrics{
		address:  address,
		requests: meter.NewHandles(func(l answerLabels) prometheus.Counter { return requests.WithLabelValues(l.method, l.code) }),
		errors:   failures,
		seconds:  meter.NewTimes(m.seconds.With(labels)),
		inFlight: m.inFlight.With(labels),
		open:     m.open.With(labels),
		opened:   connections.WithLabelValues("new"),
		reused:   connections.WithLabelValues("reused"),
		expiry:   m.certificates.MustCurryWith(labels),
	}
}

// removeAddress deletes the series of an address. Calls still in flight do not recreate
// them.
func (m *metrics) removeAddress(region string, s *addressMetrics) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.removed.Store(true)
	place := prometheus.Labels{"region": region, "endpoint": s.address}
	for _, shown := range []interface{ DeletePartialMatch(prometheus.Labels) int }{
		m.requests, m.errors, m.seconds, m.inFlight, m.open, m.connections, m.certificates,
	} {
		shown.DeletePartialMatch(place)
	}
}

func correlationOf(call *Call) string {
	if ids := call.Header[tracing.CorrelationHeader]; len(ids) == 1 {
		return ids[0]
	}
	return call.Own.Get(tracing.CorrelationHeader)
}

// errorKinds lists the results of [ErrorKind].
func errorKinds() []string {
	return []string{"dns", "connect", "untrusted", "tls_authority", "tls_host", "tls_expired", "tls", "timeout", "cancelled", "unsent", "too_large", "broken"}
}

// ErrorKind classifies the error of a call as one word from a fixed list.
func ErrorKind(err error) string {
	var (
		dns       *net.DNSError
		operation *net.OpError
		timeout   net.Error
	)
	switch {
	case errors.Is(err, sendguard.ErrTooLate), errors.Is(err, sendguard.ErrSecondSend):
		return "unsent"
	case errors.Is(err, context.Canceled):
		return "cancelled"
	case errors.As(err, &dns):
		return "dns"
	case errors.As(err, &operation) && operation.Op == "dial":
		return "connect"
	case trustKind(err) != "":
		return trustKind(err)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, sendguard.ErrCutOff), errors.As(err, &timeout) && timeout.Timeout():
		return "timeout"
	case errors.Is(err, ErrTooLarge):
		return "too_large"
	}
	return "broken"
}

// countRefusal counts a call that is not made, and returns err.
func (c *Client) countRefusal(err error) error {
	if down, ok := errors.AsType[*health.Down](err); ok {
		c.metrics.refused.WithLabelValues(down.Region).Inc()
	}
	return err
}
