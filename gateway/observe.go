package gateway

import (
	"net/http"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"portico/routing"
)

// observe writes the access log and counts, once per request, after its answer.
func (g *Gateway) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		recorder := &recorder{ResponseWriter: w, status: http.StatusOK}
		g.metrics.inFlight.Inc()
		defer func() {
			g.metrics.inFlight.Dec()
			g.record(of(r), r, recorder)
		}()
		next.ServeHTTP(recorder, r)
	})
}

func (g *Gateway) record(x *exchange, r *http.Request, answer *recorder) {
	ended := time.Now()
	class := routing.NoRoute
	if x.request != nil {
		class = x.request.Class
	}
	took := ended.Sub(x.started)
	provider, calls, _ := x.calls.Total()
	g.metrics.sent.Add(float64(answer.bytes))
	g.metrics.answered(x, class, r.Method, answer.status)
	g.metrics.timed(x, class, measured{ended, took, provider, calls})
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
		zap.Duration("provider", provider),
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
