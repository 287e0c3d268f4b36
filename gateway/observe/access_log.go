package observe

import (
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"portico/arm"
	"portico/config"
	"portico/gateway/exchange"
	"portico/internal/logs"
	"portico/routing"
)

// Bounds on the texts of a client in a log line, in bytes.
const (
	longestPath  = 2048
	longestQuery = 1024
	longestAgent = 256
)

// Path returns the path of a request as logs show it.
func Path(path string) string { return logs.Clip(logs.Text(path), longestPath) }

// accessLog writes a line per request. Successful reads are sampled as configured.
type accessLog struct {
	log  *zap.Logger
	slow time.Duration
	// oneIn[class] is n to log every nth successful read of a class; nth counts these reads.
	oneIn [routing.Classes]uint64
	nth   [routing.Classes]atomic.Uint64
}

func newAccessLog(log *zap.Logger, settings config.Log) *accessLog {
	a := &accessLog{log: log, slow: settings.Slow}
	for class := range a.oneIn {
		a.oneIn[class] = uint64(max(1, settings.OneIn[routing.Class(class).String()]))
	}
	return a
}

// write writes the line of a request, or samples it. Errors, writes and slow requests are
// always written.
func (a *accessLog) write(s *served) {
	s.oneIn = 1
	if n := a.oneIn[s.class]; n > 1 && s.status < http.StatusBadRequest && s.outcome == outcomeAnswered && !exchange.Changes(s.method) && s.total < a.slow {
		if a.nth[s.class].Add(1)%n != 1 {
			return
		}
		s.oneIn = n
	}
	level := zapcore.InfoLevel
	if s.status >= http.StatusInternalServerError {
		level = zapcore.ErrorLevel
	}
	// The core is used directly because the logger would read the clock again.
	if entry := a.log.Core().Check(zapcore.Entry{Level: level, Time: s.ended, LoggerName: a.log.Name(), Message: "request"}, nil); entry != nil {
		s.write(entry, (*accessLine)(s))
	}
}

// subscriptionIn returns the folded id of the subscription that a path names, or "" if there
// is no valid one. The path may be any text.
func subscriptionIn(path string) string {
	const before = "/subscriptions/"
	if len(path) <= len(before) || !strings.EqualFold(path[:len(before)], before) {
		return ""
	}
	id, _, _ := strings.Cut(path[len(before):], "/")
	if !arm.ValidGUID(id) {
		return ""
	}
	return arm.Fold(id)
}

// accessLine is the line of a request in the access log.
type accessLine served

// MarshalLogObject implements [zapcore.ObjectMarshaler]. It redacts the fields with texts of
// clients and providers.
func (l *accessLine) MarshalLogObject(e zapcore.ObjectEncoder) error {
	e.AddString("method", Method(l.method))
	e.AddString("class", l.class.String())
	e.AddString("path", Path(l.Path))
	addText(e, "query", logs.Clip(logs.Query(l.Query), longestQuery))
	e.AddInt("status", l.status)
	e.AddString("outcome", l.outcome)
	addText(e, "cause", l.Cause)
	e.AddInt64("bytesIn", l.Received)
	e.AddInt64("bytesOut", l.bytes)
	e.AddDuration("seconds", l.total)
	if l.calls > 0 {
		e.AddDuration("providerSeconds", l.provider)
		e.AddInt("calls", l.calls)
		e.AddString("endpoint", l.address)
	}
	addText(e, "subscription", subscriptionIn(l.Path))
	addText(e, "provider", l.Namespace())
	if l.Request != nil && l.Request.Type != nil {
		e.AddString("type", l.Request.Type.FullName)
	}
	if l.Merged {
		e.AddString("region", exchange.SeveralRegions)
	} else {
		addText(e, "region", l.Region)
	}
	e.AddString("correlationId", l.Identity.Correlation)
	e.AddString("requestId", l.Identity.Request)
	e.AddString("routingId", l.Identity.Routing)
	addTrace(e, l.Span)
	addText(e, "clientRequestId", logs.Text(l.Identity.Client))
	addText(e, "client", l.ClientAddress())
	addText(e, "userAgent", logs.Clip(logs.Text(l.userAgent), longestAgent))
	if l.oneIn > 1 {
		e.AddUint64("oneIn", l.oneIn)
	}
	if l.Failure != nil {
		e.AddString("failure", logs.Detail(l.Failure.Error()))
	}
	return nil
}

// addText adds a text to a line unless it is empty.
func addText(e zapcore.ObjectEncoder, key, value string) {
	if value != "" {
		e.AddString(key, value)
	}
}
