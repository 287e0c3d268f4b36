// Package observe reports the outcomes of requests: it writes the access log and the
// audit log, and counts and times requests in the metrics.
//
// An [Observer] does this once per request, after the answer, on the request's goroutine. An
// [Audit] also writes lines for calls of durable jobs and for the admin listener. No line
// holds contents of requests or resources. An [Activity] records events for requests that
// left no other record: refused ones, and those that were only forwarded.
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
	// deliveryTime bounds how long a client may take to read an answer, from its first byte.
	deliveryTime time.Duration
}

// New returns an observer that writes to access, the access log, and to audit, and records
// errors in recent and callers in names.
func New(m *Metrics, recent *Recent, names *Names, audit Audit, access *zap.Logger, settings config.Log, deliveryTime time.Duration) *Observer {
	return &Observer{metrics: m, recent: recent, names: names, audit: audit, access: newAccessLog(access, settings), deliveryTime: deliveryTime}
}

// Observe wraps next to observe each request.
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

// served is a request with its outcome.
type served struct {
	*exchange.Exchange
	recorder
	method, userAgent string
	class             routing.Class
	outcome           string

	ended           time.Time
	total, provider time.Duration // of the request, and the part spent in calls to providers
	calls           int
	address         string // of the last endpoint called
	oneIn           uint64 // this line stands for so many requests

	line [1]zap.Field // reused for each log line
}

// write writes a line about s.
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
	o.recent.add(s)
	o.names.remember(&x.Principal, s.ended)
	if exchange.Changes(r.Method) {
		o.audit.writeRequest(s)
	}
}

// Outcomes of requests.
const (
	outcomeAnswered = "answered"
	outcomeRefused  = "refused" // 4xx
	outcomeFailed   = "failed"  // 5xx
	outcomeGone     = "gone"    // the client went away
	outcomeBroken   = "broken"  // the answer was cut off
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
