package engine

import (
	"context"
	"database/sql"
	"errors"
	"runtime"
	"strings"

	"portico/tracing/spans"
)

// beginSpan starts the span of a call. It returns nil if the caller's trace is not sampled.
func beginSpan(ctx context.Context, driver string, k spans.Kind, name string) *spans.Span {
	of := spans.FromContext(ctx)
	if of == nil {
		return nil
	}
	span := of.StartChild(k, name)
	span.Text(spans.Engine, systemOf(driver))
	span.Text(spans.Operation, operation())
	return span
}

// systemOf returns OpenTelemetry's name for a driver's database system.
func systemOf(driver string) string {
	if driver == Postgres {
		return "postgresql"
	}
	return "sqlite"
}

// endSpan ends the span with the outcome of a call. A missing row or a refusal is a result,
// not a failure of the store.
func endSpan(span *spans.Span, err error) {
	if span == nil {
		return
	}
	if errors.Is(err, ErrUnavailable) || errors.Is(err, context.DeadlineExceeded) {
		span.Fail("unavailable")
	} else if errors.Is(err, sql.ErrConnDone) {
		span.Fail("broken")
	}
	span.End()
}

// maxFrames bounds the part of the stack that is searched for a caller.
const maxFrames = 24

// operation returns the name of the called operation of the store: the outermost exported
// function of the store's packages on the stack. Reading the stack costs a microsecond or
// two, only in sampled calls, and no call has to pass its name.
func operation() string {
	const store = "portico/inventory"
	var callers [maxFrames]uintptr
	frames := runtime.CallersFrames(callers[:runtime.Callers(3, callers[:])])
	name := ""
	for {
		frame, more := frames.Next()
		if !strings.HasPrefix(frame.Function, store) {
			return name
		}
		if of := methodOf(frame.Function); of != "" {
			name = of
		}
		if !more {
			return name
		}
	}
}

// methodOf returns the name of an exported function or method, "" for any other function.
// The name has the receiver's type unless that is Store: portico/inventory.(*Store).Begin
// is Begin, and (*Moves).Begin is Moves.Begin.
func methodOf(function string) string {
	_, function, _ = strings.Cut(function[strings.LastIndexByte(function, '/')+1:], ".")
	function, _, _ = strings.Cut(function, "[") // type arguments
	receiver := ""
	if i := strings.Index(function, ")."); i >= 0 {
		receiver, function = strings.TrimPrefix(function[:i], "(*"), function[i+2:]
	}
	if function == "" || function[0] < 'A' || function[0] > 'Z' || strings.Contains(function, ".") {
		return ""
	}
	if receiver == "" || receiver == "Store" {
		return function
	}
	return receiver + "." + function
}

// recordWait records in the spans of the group's writes how long they waited, the size of
// the group and the number of tries.
func (g *groupCommit) recordWait() {
	for _, m := range g.members {
		if m.span != nil {
			m.span.Seconds(spans.Queued, g.started.Sub(m.started))
			m.span.Number(spans.Shared, len(g.members))
			m.span.Number(spans.Tries, g.tries)
		}
	}
}
