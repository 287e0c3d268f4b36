package engine

import (
	"context"
	"database/sql"
	"errors"
	"runtime"
	"strings"

	"portico/tracing/spans"
)

// beginSpan begins the span of a call; nil where the caller's trace is not sampled.
func beginSpan(ctx context.Context, driver string, k spans.Kind, name string) *spans.Span {
	of := spans.Of(ctx)
	if of == nil {
		return nil
	}
	span := of.Below(k, name)
	span.Text(spans.Engine, systemOf(driver))
	span.Text(spans.Operation, operation())
	return span
}

// systemOf is the name that OpenTelemetry has for what a driver talks to.
func systemOf(driver string) string {
	if driver == Postgres {
		return "postgresql"
	}
	return "sqlite"
}

// endSpan says how a call ended. That there is no such row is an answer, and so is a
// refusal: neither is a fault of the store.
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

// deepest bounds how far up a caller is looked for.
const deepest = 24

// operation names what of the store was called: the outermost function of the packages of
// the store that the call came through. It is found on the stack, so that no call has to
// say its name, at the cost of a microsecond or two; it is for samples.
func operation() string {
	const store = "portico/inventory"
	var callers [deepest]uintptr
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

// methodOf is the exported function or method that a function is, "" if it is none:
// portico/inventory.(*Store).Begin is Begin.
func methodOf(function string) string {
	_, function, _ = strings.Cut(function[strings.LastIndexByte(function, '/')+1:], ".")
	function, _, _ = strings.Cut(function, "[") // of what types it is generic
	if i := strings.Index(function, ")."); i >= 0 {
		function = function[i+2:]
	}
	if function == "" || function[0] < 'A' || function[0] > 'Z' || strings.Contains(function, ".") {
		return ""
	}
	return function
}

// noteTurn says of the writes of a group that their turn has come, and with how many
// others.
func (g *groupCommit) noteTurn() {
	for _, m := range g.members {
		if m.span != nil {
			m.span.Seconds(spans.Queued, g.started.Sub(m.started))
			m.span.Number(spans.Shared, len(g.members))
			m.span.Number(spans.Tries, g.tries)
		}
	}
}
