package gateway

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"portico/arm"
	"portico/inventory"
	"portico/operations"
	"portico/routing"
	"portico/upstream"
)

// pollingHeaders are the headers whose URLs clients follow with their token
// attached (async reference, 202 Accepted and Location Headers).
var pollingHeaders = []string{"Location", "Azure-Asyncoperation", "Operation-Location"}

// guardLinks makes the polling URLs of an answer lead to the front door, and
// remembers where polls of them go. A URL on a foreign host never reaches a
// client, but for the Location of a redirect, which is not followed blindly.
func (g *Gateway) guardLinks(ctx context.Context, h http.Header, x *exchange, p proxied, status int) {
	redirect := status >= 300 && status < 400
	for _, name := range pollingHeaders {
		values, sent := h[name]
		if !sent {
			continue
		}
		public, own := g.publicForm(values[0], p)
		switch {
		case own:
			h[name] = []string{public.String()}
			if operations.Polled(name, status) && !p.remembered {
				g.remember(ctx, x, p, public)
			}
		case !redirect || name != "Location":
			delete(h, name)
			g.log.Warn("a polling URL on a foreign host was removed")
		default:
			h[name] = values[:1]
		}
	}
	if status == http.StatusOK || status == http.StatusCreated || status == http.StatusAccepted {
		g.clampRetryAfter(h)
	}
}

// operationsOf are the polling URLs that the client of a write is given with
// its answer.
func (g *Gateway) operationsOf(x *exchange, answer *http.Response, p proxied) (all []inventory.Operation) {
	for _, name := range pollingHeaders {
		values := answer.Header[name]
		if len(values) == 0 || !operations.Polled(name, answer.StatusCode) {
			continue
		}
		if public, own := g.publicForm(values[0], p); own {
			if o, ok := g.operation(x, p, public); ok {
				all = append(all, o)
			}
		}
	}
	return all
}

// publicForm returns a polling URL as it is on the front door, and whether it
// may be: it names the front door, the provider's own endpoint, or no host.
func (g *Gateway) publicForm(link string, p proxied) (*url.URL, bool) {
	return operations.PollTarget(link, g.public, p.Endpoint)
}

// remember records a polling URL. Where that fails the URL's own path must do.
func (g *Gateway) remember(ctx context.Context, x *exchange, p proxied, link *url.URL) {
	record, ok := g.operation(x, p, link)
	if !ok {
		return
	}
	if err := g.store.RecordOperation(ctx, record); err != nil {
		g.note(x, "a polling URL was not recorded", err)
	}
}

// operation tells which endpoint a polling URL was issued by, and on whose
// behalf; nothing of one that is not of the request's subscription.
func (g *Gateway) operation(x *exchange, p proxied, link *url.URL) (record inventory.Operation, ok bool) {
	var path arm.Path
	if x.subscription() == "" || path.Parse(link.EscapedPath()) != nil || arm.Fold(path.Subscription()) != x.subscription() {
		return record, false
	}
	query, fault := routing.ParseQuery(link.RawQuery)
	if fault != nil {
		return record, false
	}
	principal := x.principal.In(p.Subscription.TenantID)
	record = inventory.Operation{
		Subscription: x.subscription(),
		Token:        routing.PollToken(path.String(), query),
		Method:       x.request.Method,
		Namespace:    x.request.Provider.Namespace,
		Region:       p.Region,
		APIVersion:   x.request.Query.APIVersion,
		TenantID:     principal.TenantID,
		ObjectID:     principal.ObjectID,
		Until:        time.Now().Add(g.config.Operations.Records),
	}
	if x.request.Type != nil {
		record.Type = x.request.Type.Name
	}
	switch {
	case p.Operation != nil: // a poll that names a further URL of the same operation
		record.Resource, record.Method, record.Type, record.APIVersion = p.Operation.Resource, p.Operation.Method, p.Operation.Type, p.Operation.APIVersion
		record.Follow = p.Operation.Follow
	case p.Row != nil || p.Location != "":
		record.Resource = x.request.Key()
	}
	return record, true
}

// clampRetryAfter makes Retry-After of an accepted or finished operation an
// integer within the contract's bounds; absent stays absent.
func (g *Gateway) clampRetryAfter(h http.Header) {
	if h.Get("Retry-After") == "" {
		return
	}
	pause, ok := upstream.RetryAfter(h, time.Now())
	if !ok {
		delete(h, "Retry-After")
		return
	}
	pause = max(g.config.Operations.RetryAfterMin, min(pause, g.config.Operations.RetryAfterMax))
	h.Set("Retry-After", strconv.FormatInt(int64(pause/time.Second), 10))
}

func quote(s string) []byte {
	text, err := json.Marshal(s)
	if err != nil { // a string always has a JSON form
		return []byte(`""`)
	}
	return text
}
