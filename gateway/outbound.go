package gateway

import (
	"encoding/json"
	"net/http"
	"time"

	"portico/access"
	"portico/fanout"
	"portico/gateway/exchange"
	"portico/gateway/resolve"
	"portico/headers"
	"portico/inventory"
	"portico/routing"
	"portico/tracing"
	"portico/upstream"
)

// outbound builds the call to a provider: of what the client sent, what passes to
// this provider, plus what only the front door may say.
func (g *Gateway) outbound(r *http.Request, x *exchange.Exchange, p proxied, method string) upstream.Call {
	h := headers.ToProvider(r.Header, x.Request.Provider.PassesRequest())
	if looksInside(x.Request, p, method) {
		delete(h, "Accept-Encoding")
	}
	if x.Request.Class == routing.Collection { // a part of a page cannot be judged
		delete(h, "Range")
		delete(h, "If-Range")
	}
	caller := resolve.CallerOf(x)
	caller.Stamp(h, p.Subscription.TenantID, g.public, g.referer(x.Request, method))
	if method != http.MethodGet && method != http.MethodHead {
		h[tracing.SystemDataHeader] = []string{systemData(x.Principal.In(p.Subscription.TenantID), x.Request, p.Row, x.Started)}
	}
	return upstream.Call{
		Endpoint: p.Endpoint, Method: method,
		Path: x.Request.Path.Escaped(), Query: x.Request.Query.Raw,
		Header: h, Content: p.content, Caller: caller.Share,
	}
}

// looksInside holds for calls whose answers the front door reads: they must
// come uncompressed. Of reads of a resource, these are the ones that may settle
// its row.
func looksInside(q *routing.Request, p proxied, method string) bool {
	return q.Class != routing.Instance || method != http.MethodGet || p.Doubtful || p.Row != nil
}

// publicURI is the URI by which a client reaches what q names, whatever host it
// used: providers build the links in their answers from it.
func (g *Gateway) publicURI(q *routing.Request) string {
	return fanout.PublicLink(g.public, q.Path.Escaped(), q.Query.Raw)
}

// referer is the public URI as providers are told it. Theirs is to put a token
// behind that of a page (resource reference, Paging Response Body), so it has none
// yet.
func (g *Gateway) referer(q *routing.Request, method string) string {
	if _, further := q.Query.Get("$skipToken"); further && method == http.MethodGet && q.Class != routing.Instance {
		return fanout.PublicLink(g.public, q.Path.Escaped(), q.Query.Without("$skipToken"))
	}
	return g.publicURI(q)
}

// systemData is who writes and when, as providers store it with a resource: in
// full for the writes of tracked resources, and where one is made; the
// modification alone where the creator is not known.
func systemData(p access.Principal, q *routing.Request, row *inventory.Resource, now time.Time) string {
	type stamps struct {
		CreatedBy          string `json:"createdBy,omitempty"`
		CreatedByType      string `json:"createdByType,omitempty"`
		CreatedAt          string `json:"createdAt,omitempty"`
		LastModifiedBy     string `json:"lastModifiedBy"`
		LastModifiedByType string `json:"lastModifiedByType"`
		LastModifiedAt     string `json:"lastModifiedAt"`
	}
	// The index keeps microseconds: an update must tell the same createdAt.
	stamp := func(t time.Time) string {
		return t.UTC().Truncate(time.Microsecond).Format("2006-01-02T15:04:05.0000000Z")
	}
	s := stamps{LastModifiedBy: p.Signature(), LastModifiedByType: p.Kind(), LastModifiedAt: stamp(now)}
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
