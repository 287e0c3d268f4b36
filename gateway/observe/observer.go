// Package observe reports the outcomes of requests: it writes the access log and the
// audit log, and counts and times requests in the metrics.
//
// An [Observer] does this once per request, after its answer, on the goroutine that
// made it. An [Audit] also takes the lines of others: those of the calls that Portico
// makes by itself, and those of the admin listener. No line says what a request or a
// resource held. An [Activity] records events for requests that left no other record:
// refused ones, and those that were only forwarded.
package observe

import (
	"net/http"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"portico/arm"
	"portico/config"
	"portico/gateway/exchange"
	"portico/routing"
)

// Observer observes the requests of one configuration.
type Observer struct {
	metrics *Metrics
	audit   Audit
	access  *accessLog
	recent  *Recent
	names   *Names
	// deliveryTime is how long a client may take for an answer, from its first
	// byte.
	deliveryTime time.Duration
}

// New returns an observer. access takes the lines of the access log, recent the errors
// that are remembered, names those of callers.
func New(m *Metrics, recent *Recent, names *Names, audit Audit, access *zap.Logger, settings config.Log, deliveryTime time.Duration) *Observer {
	return &Observer{metrics: m, recent: recent, names: names, audit: audit, access: newAccessLog(access, settings), deliveryTime: deliveryTime}
}

// Observe is the link of the chain that observes each request.
func (o *Observer) Observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s := &served{recorder: recorder{ResponseWriter: w, status: http.StatusOK, deliveryTime: o.deliveryTime}}
		broken := true // unless next returns
		defer func() { o.record(r, s, broken) }()
		o.metrics.inFlight.Inc()
		defer o.metrics.inFlight.Dec()
		next.ServeHTTP(&s.recorder, r)
		broken = false
	})
}

// served is a request with what became of it.
type served struct {
	*exchange.Exchange
	recorder
	method, userAgent string
	class             routing.Class
	outcome           string

	ended           time.Time
	total, provider time.Duration // how long it took, and its provider's part of that
	calls           int
	address         string // of the endpoint that was called last
	oneIn           uint64 // of so many such requests one is logged

	line [1]zap.Field // of a log, while it is written
}

// write writes the line that is made of s.
func (s *served) write(to *zapcore.CheckedEntry, line zapcore.ObjectMarshaler) {
	s.line[0] = zap.Inline(line)
	to.Write(s.line[:]...)
}

func (o *Observer) record(r *http.Request, s *served, broken bool) {
	x := exchange.From(r)
	s.Exchange, s.method, s.userAgent, s.class = x, r.Method, r.UserAgent(), routing.NoRoute
	s.outcome, s.ended = outcomeWord(s.status, broken), time.Now()
	s.total = s.ended.Sub(x.Started)
	if x.Request != nil {
		s.class = x.Request.Class
	}
	s.provider, s.calls, s.address = x.Calls.Total()
	o.metrics.count(s)
	s.endSpan()
	o.access.write(s)
	o.recent.note(s)
	o.names.note(&x.Principal, s.ended)
	if exchange.Changes(r.Method) {
		o.audit.request(s)
	}
}

// What became of requests, in words.
const (
	outcomeAnswered = "answered"
	outcomeRefused  = "refused" // 4xx
	outcomeFailed   = "failed"  // 5xx
	outcomeGone     = "gone"    // the client went away
	outcomeBroken   = "broken"  // the answer ended before its end
)

func outcomeWord(status int, broken bool) string {
	switch {
	case broken:
		return outcomeBroken
	case status == arm.StatusClientClosed:
		return outcomeGone
	case status >= http.StatusInternalServerError:
		return outcomeFailed
	case status >= http.StatusBadRequest:
		return outcomeRefused
	}
	return outcomeAnswered
}
