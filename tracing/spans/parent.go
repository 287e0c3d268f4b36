package spans

import (
	"encoding/hex"
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/trace"
)

// The headers of W3C Trace Context, in canonical form.
const (
	ParentHeader = "Traceparent"
	StateHeader  = "Tracestate"
)

const (
	parentLength = len("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	// maxStateLength limits a tracestate that is passed on, as in its specification.
	maxStateLength = 512
)

// parseParent parses a traceparent. Of a later version, it reads the fields of version 0. It does
// not allocate.
func parseParent(text string) (trace.SpanContext, bool) {
	if len(text) < parentLength || text[2] != '-' || text[35] != '-' || text[52] != '-' {
		return trace.SpanContext{}, false
	}
	var version, flags [1]byte
	var id trace.TraceID
	var span trace.SpanID
	if !readHex(version[:], text[:2]) || !readHex(id[:], text[3:35]) || !readHex(span[:], text[36:52]) || !readHex(flags[:], text[53:55]) {
		return trace.SpanContext{}, false
	}
	switch {
	case version[0] == 0xff, version[0] == 0 && len(text) > parentLength, len(text) > parentLength && text[parentLength] != '-':
		return trace.SpanContext{}, false
	}
	sc := trace.NewSpanContext(trace.SpanContextConfig{TraceID: id, SpanID: span, TraceFlags: trace.TraceFlags(flags[0]) & trace.FlagsSampled, Remote: true})
	return sc, sc.IsValid()
}

// readHex decodes lower-case digits, the only ones valid in a traceparent.
func readHex(into []byte, text string) bool {
	for i := range into {
		high, low := strings.IndexByte(hexDigits, text[2*i]), strings.IndexByte(hexDigits, text[2*i+1])
		if high < 0 || low < 0 {
			return false
		}
		into[i] = byte(high<<4 | low)
	}
	return true
}

const hexDigits = "0123456789abcdef"

// formatParent formats a traceparent.
func formatParent(sc trace.SpanContext) string {
	id, span := sc.TraceID(), sc.SpanID()
	b := make([]byte, 0, parentLength)
	b = append(b, "00-"...)
	b = hex.AppendEncode(b, id[:])
	b = append(b, '-')
	b = hex.AppendEncode(b, span[:])
	b = append(b, '-')
	return string(hex.AppendEncode(b, []byte{byte(sc.TraceFlags() & trace.FlagsSampled)}))
}

// parentOf returns the traceparent in headers, without its state.
func parentOf(h http.Header) (trace.SpanContext, bool) {
	if lines := h[ParentHeader]; len(lines) == 1 {
		return parseParent(lines[0])
	}
	return trace.SpanContext{}, false
}

// stateOf returns the tracestate in headers, unless it is malformed or too long.
func stateOf(h http.Header) (state trace.TraceState, ok bool) {
	text := strings.Join(h[StateHeader], ",")
	if len(text) > maxStateLength {
		return state, false
	}
	state, err := trace.ParseTraceState(text)
	return state, err == nil
}

// removeUntrusted removes the client's trace headers from the headers of a call, which must not be
// shared: all of them if the client is not trusted, otherwise malformed ones.
func removeUntrusted(h http.Header, trusted bool) {
	if len(h[ParentHeader]) == 0 && len(h[StateHeader]) == 0 {
		return
	}
	if _, ok := parentOf(h); !ok || !trusted {
		delete(h, ParentHeader)
		delete(h, StateHeader)
		return
	}
	if len(h[StateHeader]) > 0 {
		if _, ok := stateOf(h); !ok {
			delete(h, StateHeader)
		}
	}
}
