package proxy

import (
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"portico/access"
	"portico/gateway/admission"
	"portico/gateway/exchange"
	"portico/inventory"
	"portico/routing"
	"portico/tracing/headers"
	"portico/upstream"
	"portico/upstream/answers"
)

func (p *Proxy) outbound(r *http.Request, x *exchange.Exchange, d *Resolved, method string) upstream.Call {
	header, own := p.outboundHeaders(r, x, d, method)
	return upstream.Call{
		Endpoint: d.Endpoint, Method: method,
		Path: x.Request.Path.Escaped(), Query: x.Request.Query.Raw,
		Header: header, Own: own, Content: d.content, Caller: x.Caller(), Provider: x.Request.Provider.Namespace,
	}
}

// outboundHeaders returns the client's headers that are sent to the provider of a
// request, and the headers that only the front door may set.
func (p *Proxy) outboundHeaders(r *http.Request, x *exchange.Exchange, d *Resolved, method string) (http.Header, headers.Fields) {
	h := headers.ToProvider(r.Header, x.Request.Provider.PassesRequest())
	p.Tracer.PrepareHeaders(h, x.Client.Trusted && !x.Inner())
	if readsAnswer(x.Request, d, method) {
		delete(h, "Accept-Encoding")
	}
	if x.Request.Class == routing.Collection { // a part of a page cannot be checked
		delete(h, "Range")
		delete(h, "If-Range")
	}
	caller := admission.CallerOf(x)
	caller.Identity.Client = "" // the client's own header is passed unchanged
	stamps := caller.Stamps(d.Subscription.TenantID, p.Public, p.referer(x.Request))
	if method != http.MethodGet && method != http.MethodHead {
		stamps.SystemData = systemData(x.Principal.In(d.Subscription.TenantID), x.Request, d.Row, x.Started)
	}
	own := headers.Stamps()
	stamps.Set(&own)
	return h, own
}

// readsAnswer reports whether the front door reads the answer, which then must come
// uncompressed. It reads the GET of a resource only if that may settle the row.
func readsAnswer(q *routing.Request, d *Resolved, method string) bool {
	return q.Class != routing.Instance || method != http.MethodGet || d.NeedsVerify || d.Row != nil
}

// referer returns the URI of q on the public host, whatever host the client used:
// providers build the links in their answers from it.
func (p *Proxy) referer(q *routing.Request) string {
	return answers.Referer(p.Public, q.Path.Escaped(), q.Query.Raw)
}

// systemData returns the header with the caller and the time of a write. Creator and
// creation time come from the row, or from the request if it creates a resource; if they
// are unknown, the header has only the modification.
func systemData(who access.Principal, q *routing.Request, row *inventory.Resource, now time.Time) string {
	type stamps struct {
		CreatedBy          string `json:"createdBy,omitempty"`
		CreatedByType      string `json:"createdByType,omitempty"`
		CreatedAt          string `json:"createdAt,omitempty"`
		LastModifiedBy     string `json:"lastModifiedBy"`
		LastModifiedByType string `json:"lastModifiedByType"`
		LastModifiedAt     string `json:"lastModifiedAt"`
	}
	// The index keeps microseconds: an update must send the same createdAt.
	stamp := func(t time.Time) string {
		return t.UTC().Truncate(time.Microsecond).Format("2006-01-02T15:04:05.0000000Z")
	}
	s := stamps{LastModifiedBy: who.Signature(), LastModifiedByType: who.Kind(), LastModifiedAt: stamp(now)}
	switch {
	case row != nil && row.Creator.Name != "":
		s.CreatedBy, s.CreatedByType, s.CreatedAt = row.Creator.Name, row.Creator.Kind, stamp(row.Created)
	case row == nil && q.Method == http.MethodPut && q.Class == routing.Instance:
		s.CreatedBy, s.CreatedByType, s.CreatedAt = s.LastModifiedBy, s.LastModifiedByType, s.LastModifiedAt
	}
	text, err := json.Marshal(s)
	if err != nil { // strings always have a JSON form
		return "{}"
	}
	return string(text)
}

// providerFault converts the failure of a call to the error for the client.
func providerFault(err error, x *exchange.Exchange) error {
	if fault, ok := errors.AsType[*upstream.Fault](err); ok {
		return fault.ARM(x.Request.Provider.Namespace)
	}
	return err
}
