package observe

import (
	"cmp"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"portico/gateway/exchange"
	"portico/internal/meter"
	"portico/routing"
)

// Metrics are the metrics of requests. Their labels are bounded: classes, methods and codes
// come from fixed lists, namespaces and regions from the map.
type Metrics struct {
	// Spoofed counts header lines that look like reserved headers.
	Spoofed prometheus.Counter

	requests *meter.Handles[answered, prometheus.Counter]
	routed   *meter.Handles[routed, prometheus.Counter]
	inFlight prometheus.Gauge
	total    [routing.Classes]*meter.Times
	own      [routing.Classes]*meter.Times
	provider *meter.Handles[place, *meter.Times]
	received prometheus.Counter
	sent     prometheus.Counter
	// trafficSource has the metrics that [Traffic] reads.
	trafficSource *prometheus.Registry
}

// answered, routed and place are the labels of metrics.
type (
	answered struct {
		class               routing.Class
		method, code, cause string
	}
	routed struct {
		place
		code, cause string
	}
	place struct{ namespace, region string }
)

// NewMetrics returns the metrics, registered.
func NewMetrics(registry prometheus.Registerer) *Metrics {
	total := prometheus.NewHistogramVec(meter.Seconds(
		"portico_request_seconds", "Time from a request's arrival to its answer's end.",
	), []string{"class"})
	own := prometheus.NewHistogramVec(meter.Seconds(
		"portico_request_own_seconds",
		"The part of portico_request_seconds without a call to a provider or a wait for an operation: the time that Portico itself, its store, "+
			"and the client's reading of the answer took.",
	), []string{"class"})
	provider := prometheus.NewHistogramVec(meter.Seconds(
		"portico_provider_seconds",
		"The part of a request's time in which calls to its provider were in progress, by namespace and region; region several: the answer was "+
			"merged from several regions.",
	), []string{"provider", "region"})
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "portico_requests_total",
		Help: "Answered requests, by class of the target and by cause of an error: gateway, service (the provider), or none. Code 499: the " +
			"client disconnected. Requests in a batch count as well.",
	}, []string{"class", "method", "code", "cause"})
	routes := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "portico_routed_requests_total",
		Help: "Answered requests for a resource provider, by its namespace and the region that was called; region several: more than one was " +
			"called; none: no region was called.",
	}, []string{"provider", "region", "code", "cause"})
	m := &Metrics{
		requests: meter.NewHandles(func(of answered) prometheus.Counter {
			return requests.WithLabelValues(of.class.String(), of.method, of.code, of.cause)
		}),
		routed: meter.NewHandles(func(of routed) prometheus.Counter {
			return routes.WithLabelValues(of.namespace, of.region, of.code, of.cause)
		}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "portico_requests_in_flight", Help: "Requests in progress.",
		}),
		received: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "portico_request_bytes_total", Help: "Bytes in the bodies of requests.",
		}),
		sent: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "portico_answer_bytes_total", Help: "Bytes in the bodies of answers.",
		}),
		Spoofed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "portico_spoofed_headers_total", Help: "Header lines removed because they look like a reserved header but are spelled differently.",
		}),
		trafficSource: prometheus.NewRegistry(),
		provider: meter.NewHandles(func(of place) *meter.Times {
			return meter.NewTimes(provider.WithLabelValues(of.namespace, of.region))
		}),
	}
	for class := range m.total {
		name := routing.Class(class).String()
		m.total[class], m.own[class] = meter.NewTimes(total.WithLabelValues(name)), meter.NewTimes(own.WithLabelValues(name))
	}
	registry.MustRegister(requests, routes, m.inFlight, total, own, provider, m.received, m.sent, m.Spoofed)
	m.trafficSource.MustRegister(requests, routes, m.inFlight, total, provider)
	return m
}

// count counts and times a request.
func (m *Metrics) count(s *served) {
	cause, code, correlation := cmp.Or(s.Cause, "none"), meter.Code(s.status), s.Identity.Correlation
	trace := s.Span.TraceID()
	m.sent.Add(float64(s.bytes))
	m.received.Add(float64(s.Received))
	m.requests.Get(answered{s.class, Method(s.method), code, cause}).Inc()
	m.total[s.class].Observe(s.total, s.ended, correlation, trace)
	m.own[s.class].Observe(s.total-s.provider-s.Waited, s.ended, correlation, trace)
	if namespace := s.Namespace(); namespace != "" {
		at := place{namespace, regionLabel(s.Exchange)}
		m.routed.Get(routed{at, code, cause}).Inc()
		if s.calls > 0 {
			m.provider.Get(at).Observe(s.provider, s.ended, correlation, trace)
		}
	}
}

// regionLabel returns the region label of a request.
func regionLabel(x *exchange.Exchange) string {
	if x.Merged {
		return exchange.SeveralRegions
	}
	return cmp.Or(x.Region, "none")
}

// Method returns the label of a method.
func Method(method string) string {
	if slices.Contains(exchange.Methods, method) {
		return method
	}
	return "OTHER"
}
