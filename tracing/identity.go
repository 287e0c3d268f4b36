// Package tracing guards the identity of a request: the IDs that all logs show, and the headers
// that only the front door may set.
//
// The rule is strip first, then stamp; nothing else sets them. [Identify] reads the IDs that a
// client may send, [Strip] removes every reserved header and every spelling that a provider could
// mistake for one, and [Stamps] lists and sets the front door's own (addendum, Instrumentation and
// Tracing across services). Package headers decides which other headers pass to a provider.
package tracing

import (
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"strings"
	"time"

	"portico/arm"
)

// Names of the tracing headers, in canonical form.
const (
	CorrelationHeader     = "X-Ms-Correlation-Request-Id"
	ClientRequestHeader   = "X-Ms-Client-Request-Id"
	ReturnClientHeader    = "X-Ms-Return-Client-Request-Id"
	RequestHeader         = "X-Ms-Request-Id"
	RoutingHeader         = "X-Ms-Routing-Request-Id"
	FailureCauseHeader    = "X-Ms-Failure-Cause"
	SystemDataHeader      = "X-Ms-Arm-Resource-System-Data"
	maxClientRequestIDLen = 256
)

// Identity holds the IDs of a request.
type Identity struct {
	// Request is a new GUID for this request. It is never taken from the client.
	Request string
	// Correlation is shared by all requests of one logical action: the client's ID if it is a GUID,
	// otherwise Request.
	Correlation string
	// Routing is REGION:yyyyMMddTHHmmssZ:guid, with the front door's own region.
	Routing string
	// Client is the ID that the client sent, or "". It need not be a GUID or unique.
	Client string
	// Echo is set if the client wants Client in the answer.
	Echo bool
}

// Identify returns the IDs of a request with headers h, which arrived at now in region. If the
// client sent several client-request-ids, or one longer than 256 bytes, it also returns
// InvalidRequestHeader; the identity is valid nevertheless, for the log and the error response.
func Identify(h http.Header, region string, now time.Time) (Identity, *arm.Error) {
	id := Identity{Routing: newRouting(region, now)}
	id.Request = id.Routing[len(id.Routing)-guidLength:]
	id.Correlation = id.Request
	if sent := h[CorrelationHeader]; len(sent) == 1 && arm.ValidGUID(sent[0]) {
		id.Correlation = sent[0]
	}
	sent := h[ClientRequestHeader]
	switch {
	case len(sent) == 0:
		return id, nil
	case len(sent) > 1:
		return id, arm.NewError(arm.InvalidRequestHeader, "x-ms-client-request-id", "it may be sent once").WithTarget("x-ms-client-request-id")
	case len(sent[0]) > maxClientRequestIDLen:
		return id, arm.NewError(arm.InvalidRequestHeader, "x-ms-client-request-id", "it has at most 256 characters").WithTarget("x-ms-client-request-id")
	}
	id.Client = sent[0]
	id.Echo = strings.EqualFold(h.Get(ReturnClientHeader), "true")
	return id, nil
}

// newRouting returns a routing ID, which ends with a new GUID.
func newRouting(region string, now time.Time) string {
	var buffer [96]byte
	b := buffer[:0]
	for i := range len(region) {
		c := region[i]
		if 'a' <= c && c <= 'z' { // names of regions are ASCII
			c -= 'a' - 'A'
		}
		b = append(b, c)
	}
	b = append(b, ':')
	b = appendTime(b, now.UTC())
	b = append(b, ':')
	return string(appendGUID(b))
}

// appendTime appends a UTC time as 20060102T150405Z. time.AppendFormat takes four times as long.
func appendTime(b []byte, t time.Time) []byte {
	year, month, day := t.Date()
	hour, minute, second := t.Clock()
	b = appendTwo(appendTwo(b, year/100), year%100)
	b = appendTwo(appendTwo(b, int(month)), day)
	b = append(b, 'T')
	b = appendTwo(appendTwo(appendTwo(b, hour), minute), second)
	return append(b, 'Z')
}

func appendTwo(b []byte, n int) []byte { return append(b, byte('0'+n/10), byte('0'+n%10)) }

const guidLength = 36

// appendGUID appends a random GUID (RFC 9562, version 4).
func appendGUID(b []byte) []byte {
	var id [16]byte
	_, _ = rand.Read(id[:]) // never fails
	id[6] = id[6]&0x0f | 0x40
	id[8] = id[8]&0x3f | 0x80
	b = hex.AppendEncode(b, id[:4])
	b = append(b, '-')
	b = hex.AppendEncode(b, id[4:6])
	b = append(b, '-')
	b = hex.AppendEncode(b, id[6:8])
	b = append(b, '-')
	b = hex.AppendEncode(b, id[8:10])
	b = append(b, '-')
	return hex.AppendEncode(b, id[10:])
}

// Setter sets headers by their canonical names, as [http.Header] does.
type Setter interface{ Set(name, value string) }

// IdentityForCorrelation returns the identity of one of Portico's own calls, with the given correlation ID
// and client-request-id, which may be empty.
func IdentityForCorrelation(correlation, client, region string, now time.Time) Identity {
	id, _ := Identify(http.Header{CorrelationHeader: {correlation}}, region, now) // without a client ID it cannot fail
	id.Client = client
	return id
}

// Stamp sets the IDs on a call to a provider, including the client's own ID if there is one.
func (id Identity) Stamp(h Setter) {
	(&Stamps{Identity: id}).Set(h)
}

// StampAnswer sets the IDs on the answer to the client. h has the answer's headers; to sets them. A
// provider's x-ms-request-id is kept; without one, the front door's is set.
func (id Identity) StampAnswer(h http.Header, to Setter) {
	to.Set(CorrelationHeader, id.Correlation)
	to.Set(RoutingHeader, id.Routing)
	if len(h[RequestHeader]) == 0 {
		to.Set(RequestHeader, id.Request)
	}
	delete(h, ClientRequestHeader)
	if id.Echo {
		to.Set(ClientRequestHeader, id.Client)
	}
}
