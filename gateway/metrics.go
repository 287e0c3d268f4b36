package gateway

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"portico/gateway/exchange"
	"portico/limits"
	"portico/meter"
	"portico/routing"
)

// metrics are the gateway's own. Labels are bounded by construction: classes,
// methods and codes from fixed lists, namespaces and regions from the map.
type metrics struct {
	measures bool // requests
	requests *prometheus.CounterVec
	routed   *prometheus.CounterVec
	inFlight prometheus.Gauge
	whole    [routing.Classes]*meter.Times
	own      [routing.Classes]*meter.Times
	provider *meter.TimesVec
	received prometheus.Counter
	sent     prometheus.Counter
	spoofed  prometheus.Counter
}

func newMetrics(registry prometheus.Registerer, measures bool) *metrics {
	whole := prometheus.NewHistogramVec(meter.Seconds(
		"portico_request_seconds", "Time from a request's arrival to its answer's end.",
	), []string{"class"})
	own := prometheus.NewHistogramVec(meter.Seconds(
		"portico_request_own_seconds", "The part of portico_request_seconds in which no call to a provider was under way: what Portico took itself, with its store and with the client's reading.",
	), []string{"class"})
	provider := prometheus.NewHistogramVec(meter.Seconds(
		"portico_provider_seconds", "The part of a request's time in which calls to its provider were under way, by namespace and region; several where the answer was put together of several regions'.",
	), []string{"provider", "region"})
	m := &metrics{
		measures: measures,
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "portico_requests_total", Help: "Requests answered, by what they addressed and by whose an error was: gateway, service (the provider's), or none. With code 499 the client went away. The requests in a batch count as well.",
		}, []string{"class", "method", "code", "cause"}),
		routed: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "portico_routed_requests_total", Help: "Requests answered that were for a resource provider, by its namespace and by the region that they went to: several where it was more than one, none where it did not come to that.",
		}, []string{"provider", "region", "code", "cause"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "portico_requests_in_flight", Help: "Requests that are being answered.",
		}),
		received: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "portico_request_bytes_total", Help: "Bytes of content that came with requests.",
		}),
		sent: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "portico_answer_bytes_total", Help: "Bytes of content of answers.",
		}),
		spoofed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "portico_spoofed_headers_total", Help: "Header lines removed because they look like a reserved header without being spelled as one.",
		}),
		provider: meter.NewTimesVec(provider),
	}
	for class := range m.whole {
		name := routing.Class(class).String()
		m.whole[class], m.own[class] = meter.NewTimes(whole.WithLabelValues(name)), meter.NewTimes(own.WithLabelValues(name))
	}
	registry.MustRegister(m.requests, m.routed, m.inFlight, whole, own, provider, m.received, m.sent, m.spoofed)
	return m
}

// showMemory shows how much of a memory is held, and for what.
func showMemory(registry prometheus.Registerer, prefix, of, setting string, most int64, memory *limits.Memory) {
	registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: prefix + "_held_bytes", Help: "Bytes that " + of + " hold in memory, of at most those of the limit.",
		}, func() float64 { return float64(max(most-memory.Free(), 0)) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{
			Name: prefix + "_limit_bytes", Help: "Bytes that " + of + " may hold: " + setting + ".",
		}, func() float64 { return float64(most) }),
	)
}

// The region labels of requests that have not one region.
const (
	severalRegions = "several"
	noRegion       = "none"
)

// answered counts a request.
func (m *metrics) answered(x *exchange.Exchange, class routing.Class, method string, status int) {
	cause, code := x.Cause, meter.Code(status)
	if cause == "" {
		cause = "none"
	}
	m.requests.WithLabelValues(class.String(), methodLabel(method), code, cause).Inc()
	m.received.Add(float64(x.Received))
	if namespace := x.Namespace(); namespace != "" {
		m.routed.WithLabelValues(namespace, regionLabel(x), code, cause).Inc()
	}
}

// measured is how long a request took, and how long of that its provider.
type measured struct {
	ended           time.Time
	whole, provider time.Duration
	calls           int
}

func (m *metrics) timed(x *exchange.Exchange, class routing.Class, took measured) {
	correlation := x.Identity.Correlation
	m.whole[class].Observe(took.whole, took.ended, correlation)
	m.own[class].Observe(took.whole-took.provider, took.ended, correlation)
	if namespace := x.Namespace(); took.calls > 0 && namespace != "" {
		m.provider.With(namespace, regionLabel(x)).Observe(took.provider, took.ended, correlation)
	}
}

// regionLabel is the region that the request went to.
func regionLabel(x *exchange.Exchange) string {
	switch {
	case x.Merged:
		return severalRegions
	case x.Region == "":
		return noRegion
	}
	return x.Region
}

// Bounds of what scrapes may cost.
const (
	scrapesAtOnce = 4
	scrapeTime    = 10 * time.Second
)

// scrape answers with all metrics, also in the form that has exemplars.
func scrape(registry prometheus.Gatherer) http.Handler {
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{
		EnableOpenMetrics: true, MaxRequestsInFlight: scrapesAtOnce, Timeout: scrapeTime,
	})
}
