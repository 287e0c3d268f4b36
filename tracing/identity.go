package tracing

import (
	"net/http"
	"strings"
	"time"

	"github.com/google/uuid"

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
	id := Identity{Request: uuid.NewString()}
	id.Routing = strings.ToUpper(region) + ":" + now.UTC().Format("20060102T150405Z") + ":" + id.Request
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

// OfCorrelation is the identity of one of Portico's own calls, which belongs to a
// correlation.
func OfCorrelation(correlation, region string, now time.Time) Identity {
	id, _ := Identify(http.Header{CorrelationHeader: {correlation}}, region, now) // no client id, so no fault
	return id
}

// Stamp writes the ids onto a call to a provider. The client's own id is among the
// headers that pass; Stamp does not change it.
func (id Identity) Stamp(h http.Header) {
	h[CorrelationHeader] = []string{id.Correlation}
	h[RoutingHeader] = []string{id.Routing}
}

// StampAnswer writes the ids onto the answer to the client. A provider's own
// x-ms-request-id stays; if there is none, it is the front door's.
func (id Identity) StampAnswer(h http.Header) {
	h[CorrelationHeader] = []string{id.Correlation}
	h[RoutingHeader] = []string{id.Routing}
	if len(h[RequestHeader]) == 0 {
		h[RequestHeader] = []string{id.Request}
	}
	delete(h, ClientRequestHeader)
	if id.Echo {
		h[ClientRequestHeader] = []string{id.Client}
	}
}
