package gateway

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"portico/routing"
)

// metrics are the gateway's own. Labels are bounded by construction: classes,
// methods and codes from fixed lists, regions from the map.
type metrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	provider *prometheus.HistogramVec
	spoofed  prometheus.Counter
}

func newMetrics(registry prometheus.Registerer) *metrics {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "portico_requests_total", Help: "Requests answered, by what they addressed and by who made an error (gateway or service).",
		}, []string{"class", "method", "code", "cause"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "portico_request_seconds", Help: "Time from a request's arrival to its answer's end.", Buckets: prometheus.ExponentialBuckets(0.0005, 2, 18),
			NativeHistogramBucketFactor: 1.1,
		}, []string{"class"}),
		provider: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "portico_provider_seconds", Help: "Time that regional endpoints took to answer.", Buckets: prometheus.ExponentialBuckets(0.0005, 2, 18),
			NativeHistogramBucketFactor: 1.1,
		}, []string{"region"}),
		spoofed: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "portico_spoofed_headers_total", Help: "Header lines removed because they look like a reserved header without being spelled as one.",
		}),
	}
	registry.MustRegister(m.requests, m.seconds, m.provider, m.spoofed)
	return m
}

// observe writes the access log and counts, once per request, after its answer.
func (g *Gateway) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		recorder := &recorder{ResponseWriter: w, status: http.StatusOK}
		defer func() { g.record(of(r), r, recorder) }()
		next.ServeHTTP(recorder, r)
	})
}

func (g *Gateway) record(x *exchange, r *http.Request, answer *recorder) {
	class := routing.NoRoute
	if x.request != nil {
		class = x.request.Class
	}
	took := time.Since(x.started)
	g.metrics.requests.WithLabelValues(class.String(), methodLabel(r.Method), strconv.Itoa(answer.status), x.cause).Inc()
	g.metrics.seconds.WithLabelValues(class.String()).Observe(took.Seconds())
	if x.region != "" {
		g.metrics.provider.WithLabelValues(x.region).Observe(x.providerTime.Seconds())
	}
	level := zapcore.InfoLevel
	if answer.status >= http.StatusInternalServerError {
		level = zapcore.ErrorLevel
	}
	entry := g.log.Check(level, "request")
	if entry == nil {
		return
	}
	typeName := ""
	if x.request != nil && x.request.Type != nil {
		typeName = x.request.Type.FullName
	}
	entry.Write(
		zap.String("method", methodLabel(r.Method)),
		zap.Stringer("class", class),
		zap.String("path", x.path), // without the query, which may hold tokens
		zap.Int("status", answer.status),
		zap.Int64("bytes", answer.bytes),
		zap.Duration("took", took),
		zap.Duration("provider", x.providerTime),
		zap.String("type", typeName),
		zap.String("region", x.region),
		zap.String("cause", x.cause),
		zap.String("correlationId", x.identity.Correlation),
		zap.String("requestId", x.identity.Request),
		zap.String("clientRequestId", x.identity.Client),
		zap.NamedError("failure", x.failure),
	)
}

func methodLabel(method string) string {
	if checkMethod(method) == nil {
		return method
	}
	return "OTHER"
}

// recorder notes what an answer was.
type recorder struct {
	http.ResponseWriter
	status int
	bytes  int64
	begun  bool
}

func (w *recorder) WriteHeader(status int) {
	if !w.begun {
		w.status, w.begun = status, true
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *recorder) Write(p []byte) (int, error) {
	w.begun = true
	n, err := w.ResponseWriter.Write(p)
	w.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController reach the connection.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }
