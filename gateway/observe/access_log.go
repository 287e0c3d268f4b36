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

// Bounds of what a line of a log takes of a client's texts, in bytes.
const (
	longestPath  = 2048
	longestQuery = 1024
	longestAgent = 256
)

// Path returns the path of a request as logs show it.
func Path(path string) string { return logs.Clip(logs.Text(path), longestPath) }

// accessLog writes a line per request, and of successful reads as many as the
// settings ask for.
type accessLog struct {
	log  *zap.Logger
	slow time.Duration
	// oneIn is, by class, of how many such reads one is written; nth counts them.
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

// write writes the line of a request. Errors, writes and slow requests are never
// left out.
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
	// The logger would read the clock once more.
	if entry := a.log.Core().Check(zapcore.Entry{Level: level, Time: s.ended, LoggerName: a.log.Name(), Message: "request"}, nil); entry != nil {
		s.write(entry, (*accessLine)(s))
	}
}

// subscriptionIn is the subscription that a path names, folded; "" where it names
// none that could exist. The path may be any text.
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

// MarshalLogObject implements [zapcore.ObjectMarshaler]. The fields that hold a client's
// or a provider's texts are redacted here.
func (l *accessLine) MarshalLogObject(e zapcore.ObjectEncoder) error {
	e.AddString("method", Method(l.method))
	e.AddString("class", l.class.String())
	e.AddString("path", Path(l.Path))
	text(e, "query", logs.Clip(logs.Query(l.Query), longestQuery))
	e.AddInt("status", l.status)
	e.AddString("outcome", l.outcome)
	text(e, "cause", l.Cause)
	e.AddInt64("bytesIn", l.Received)
	e.AddInt64("bytesOut", l.bytes)
	e.AddDuration("seconds", l.total)
	if l.calls > 0 {
		e.AddDuration("providerSeconds", l.provider)
		e.AddInt("calls", l.calls)
		e.AddString("endpoint", l.address)
	}
	text(e, "subscription", subscriptionIn(l.Path))
	text(e, "provider", l.Namespace())
	if l.Request != nil && l.Request.Type != nil {
		e.AddString("type", l.Request.Type.FullName)
	}
	if l.Merged {
		e.AddString("region", exchange.SeveralRegions)
	} else {
		text(e, "region", l.Region)
	}
	e.AddString("correlationId", l.Identity.Correlation)
	e.AddString("requestId", l.Identity.Request)
	e.AddString("routingId", l.Identity.Routing)
	addTrace(e, l.Span)
	text(e, "clientRequestId", logs.Text(l.Identity.Client))
	text(e, "client", l.ClientAddress())
	text(e, "userAgent", logs.Clip(logs.Text(l.userAgent), longestAgent))
	if l.oneIn > 1 {
		e.AddUint64("oneIn", l.oneIn)
	}
	if l.Failure != nil {
		e.AddString("failure", logs.Detail(l.Failure.Error()))
	}
	return nil
}

// text adds a text to a line unless it is empty.
func text(e zapcore.ObjectEncoder, key, value string) {
	if value != "" {
		e.AddString(key, value)
	}
}
