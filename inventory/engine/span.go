package engine

import (
	"context"
	"database/sql"
	"errors"
	"runtime"
	"strings"

	"portico/tracing/spans"
)

// beginSpan begins the span of a call; nil if the caller's trace is not sampled.
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

// systemOf returns OpenTelemetry's name for a driver's database system.
func systemOf(driver string) string {
	if driver == Postgres {
		return "postgresql"
	}
	return "sqlite"
}

// endSpan ends the span with the outcome of a call. A missing row and a refusal are
// answers, and no faults of the store.
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

// operation names the called operation of the store: the outermost function of the
// store's packages on the stack. Reading the stack costs a microsecond or two, for
// sampled calls only, and saves every call from naming itself.
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

// methodOf returns the name of an exported function or method, "" for any other
// function: portico/inventory.(*Store).Begin is Begin, and of another type than Store
// the name has it too: Moves.Begin.
func methodOf(function string) string {
	_, function, _ = strings.Cut(function[strings.LastIndexByte(function, '/')+1:], ".")
	function, _, _ = strings.Cut(function, "[") // of what types it is generic
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

// noteTurn notes in the spans of a group's writes that their turn has come, and with
// how many others.
func (g *groupCommit) noteTurn() {
	for _, m := range g.members {
		if m.span != nil {
			m.span.Seconds(spans.Queued, g.started.Sub(m.started))
			m.span.Number(spans.Shared, len(g.members))
			m.span.Number(spans.Tries, g.tries)
		}
	}
}
