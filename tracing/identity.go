// Package tracing guards the identity of a request: the ids that all logs show,
// and the headers that only the front door may set.
//
// The rule is strip first, then stamp; nothing else sets them. [Identify] reads what a
// client may say about its own request, [Strip] removes every reserved header and every
// spelling that a provider could mistake for one, and [Stamps] lists and writes the front
// door's own (addendum, Instrumentation and Tracing across services). Package headers
// decides which other headers pass to a provider.
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

// Identity holds the ids of one request.
type Identity struct {
	// Request is a GUID made for this request. It is never a client's.
	Request string
	// Correlation joins all requests of one logical action: the client's id if it is a
	// GUID, else Request.
	Correlation string
	// Routing is REGION:yyyyMMddTHHmmssZ:guid, of the front door's own region.
	Routing string
	// Client is the client's own id, "" if it sent none. It need not be a GUID or unique.
	Client string
	// Echo reports whether the client wants Client back in the answer.
	Echo bool
}

// Identify gives a request its ids, from the headers that the client sent. The request
// arrived at now, at a front door in region. A client-request-id that is sent twice or
// is longer than 256 bytes is InvalidRequestHeader; the identity is valid all the same,
// for the log and the refusal.
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
		return id, arm.NewError(arm.InvalidRequestHeader, "x-ms-client-request-id", "it may be sent once").About("x-ms-client-request-id")
	case len(sent[0]) > maxClientRequestIDLen:
		return id, arm.NewError(arm.InvalidRequestHeader, "x-ms-client-request-id", "it has at most 256 characters").About("x-ms-client-request-id")
	}
	id.Client = sent[0]
	id.Echo = strings.EqualFold(h.Get(ReturnClientHeader), "true")
	return id, nil
}

// newRouting returns a routing id with a new GUID at its end.
func newRouting(region string, now time.Time) string {
	var buffer [96]byte
	b := buffer[:0]
	for i := range len(region) {
		c := region[i]
		if 'a' <= c && c <= 'z' { // the map's names of regions are ASCII
			c -= 'a' - 'A'
		}
		b = append(b, c)
	}
	b = append(b, ':')
	b = appendTime(b, now.UTC())
	b = append(b, ':')
	return string(appendGUID(b))
}

// appendTime appends a time in UTC as 20060102T150405Z, which a layout takes four times as
// long for.
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

// OfCorrelation is the identity of one of Portico's own calls, which belongs to a
// correlation and, where client is not empty, to the request to which its client gave
// that id.
func OfCorrelation(correlation, client, region string, now time.Time) Identity {
	id, _ := Identify(http.Header{CorrelationHeader: {correlation}}, region, now) // no client id, so no fault
	id.Client = client
	return id
}

// Stamp writes the ids onto a call to a provider, the client's own where there is one.
func (id Identity) Stamp(h Setter) {
	(&Stamps{Identity: id}).Set(h)
}

// StampAnswer writes the ids onto the answer to the client, whose headers are h and are
// set by to. A provider's own x-ms-request-id stays; if there is none, it is the front
// door's.
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
