package gateway

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
	"portico/logs"
	"portico/routing"
)

// Bounds of what a line of the access log takes of a client's texts, in bytes.
const (
	longestPath  = 2048
	longestQuery = 1024
	longestAgent = 256
)

// accessLog writes a line per request, and of reads that went well as many as
// are asked for.
type accessLog struct {
	log  *zap.Logger
	slow time.Duration
	// oneIn is, by class, of how many such reads one is written; nth counts them.
	oneIn [routing.Classes]uint64
	nth   [routing.Classes]atomic.Uint64
}

func newAccessLog(log *zap.Logger, settings config.Log) *accessLog {
	a := &accessLog{log: log.Named(logs.AccessName), slow: settings.Slow}
	for class := range a.oneIn {
		a.oneIn[class] = 1
		if n := settings.OneIn[routing.Class(class).String()]; n > 1 {
			a.oneIn[class] = uint64(n)
		}
	}
	return a
}

// accessLine is what the log says of a request.
type accessLine struct {
	measured
	x       *exchange.Exchange
	r       *http.Request
	answer  *recorder
	class   routing.Class
	outcome string
	address string // of the endpoint that was called last
	oneIn   uint64 // such requests; 1: each is written
}

// write writes the line, unless it is one of those that are left out. Errors,
// writes and what took long are always written.
func (a *accessLog) write(l accessLine) {
	l.oneIn = 1
	if n := a.oneIn[l.class]; n > 1 && l.answer.status < http.StatusBadRequest && l.outcome == outcomeAnswered && !exchange.Changes(l.r.Method) && l.whole < a.slow {
		if a.nth[l.class].Add(1)%n != 1 {
			return
		}
		l.oneIn = n
	}
	level := zapcore.InfoLevel
	if l.answer.status >= http.StatusInternalServerError {
		level = zapcore.ErrorLevel
	}
	if entry := a.log.Check(level, "request"); entry != nil {
		entry.Write(zap.Inline(&l))
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

func outcomeOf(status int, broken bool) string {
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

// subscriptionIn is the subscription that a path names, folded; "" where that is
// none that there could be. The path may be any text.
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

// MarshalLogObject writes the line's fields. Those that a client or a provider
// has words in are redacted here.
func (l *accessLine) MarshalLogObject(e zapcore.ObjectEncoder) error {
	x := l.x
	text := func(key, value string) {
		if value != "" {
			e.AddString(key, value)
		}
	}
	e.AddString("method", methodLabel(l.r.Method))
	e.AddString("class", l.class.String())
	e.AddString("path", logs.Clip(logs.Text(x.Path), longestPath))
	text("query", logs.Clip(logs.Query(x.Query), longestQuery))
	e.AddInt("status", l.answer.status)
	e.AddString("outcome", l.outcome)
	text("cause", x.Cause)
	e.AddInt64("bytesIn", x.Received)
	e.AddInt64("bytesOut", l.answer.bytes)
	e.AddDuration("seconds", l.whole)
	if l.calls > 0 {
		e.AddDuration("providerSeconds", l.provider)
		e.AddInt("calls", l.calls)
		e.AddString("endpoint", l.address)
	}
	text("subscription", subscriptionIn(x.Path))
	text("provider", x.Namespace())
	if x.Request != nil && x.Request.Type != nil {
		e.AddString("type", x.Request.Type.FullName)
	}
	if x.Merged {
		e.AddString("region", severalRegions)
	} else {
		text("region", x.Region)
	}
	e.AddString("correlationId", x.Identity.Correlation)
	e.AddString("requestId", x.Identity.Request)
	e.AddString("routingId", x.Identity.Routing)
	text("clientRequestId", logs.Text(x.Identity.Client))
	text("client", x.ClientAddress())
	text("userAgent", logs.Clip(logs.Text(l.r.UserAgent()), longestAgent))
	if l.oneIn > 1 {
		e.AddUint64("oneIn", l.oneIn)
	}
	if x.Failure != nil {
		e.AddString("failure", logs.Detail(x.Failure.Error()))
	}
	return nil
}
