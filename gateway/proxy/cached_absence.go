package proxy

import (
	"context"
	"fmt"
	"net/http"

	"portico/fanout"
	"portico/gateway/exchange"
	"portico/routing"
)

// fetch sends a request with the given method to its endpoint. If only memory placed the
// request and the answer is empty, it confirms the absence. Without an answer it returns
// an error or a reason to resolve the request again.
func (p *Proxy) fetch(r *http.Request, x *exchange.Exchange, d *Resolved, method string) (*http.Response, retryReason, error) {
	answer, err := p.Upstream.Do(r.Context(), p.outbound(r, x, d, method))
	if err != nil {
		return nil, ended, providerFault(err, x)
	}
	if !d.Memory.Any() {
		return answer, ended, nil
	}
	why := ended
	empty, err := p.isEmpty(x, answer)
	if err == nil && empty {
		why, err = p.confirmAbsence(r.Context(), x, d)
	}
	if err != nil || why != ended {
		_ = answer.Body.Close() // the rest is not needed
		return nil, why, err
	}
	return answer, ended, nil
}

// confirmAbsence checks an empty answer to a request that memory placed against the
// store. Subscription and group must still exist. If the location was cached, the
// resource that determined it must still be there; if it is the resource that was read,
// its generation must not have changed either. Otherwise the request was misplaced;
// confirmAbsence has then corrected memory.
func (p *Proxy) confirmAbsence(ctx context.Context, x *exchange.Exchange, d *Resolved) (retryReason, error) {
	if d.Memory.Scopes {
		if _, err := p.Resolver.Router.ResolveOwn(ctx, x.Request, x.Principal); err != nil {
			return ended, err
		}
	}
	if !d.Memory.Location || !d.mayRetry(misplaced) {
		return ended, nil
	}
	key, own := d.Memory.Key, d.Memory.Key == ""
	if own {
		key = x.Request.Key()
	}
	located, err := p.Store.Locations.Refresh(ctx, x.Subscription(), key)
	if err != nil {
		return ended, fmt.Errorf("read the location of a resource: %w", err)
	}
	if !located.Found || located.Region != d.Region || own && located.Generation != d.Generation {
		return misplaced, nil
	}
	return ended, nil
}

// isEmpty reports whether an answer is a 404 or a list without elements.
func (p *Proxy) isEmpty(x *exchange.Exchange, answer *http.Response) (bool, error) {
	switch {
	case answer.StatusCode == http.StatusNotFound:
		return true, nil
	case !succeeded(answer) || x.Request.Class != routing.Collection && x.Request.Class != routing.Below:
		return false, nil
	}
	text, err := p.bufferBody(answer, x.Request.Provider.Namespace, x.Region)
	if err != nil {
		return false, err
	}
	page, err := fanout.ParsePage(text)
	if isList(x.Request) {
		return err == nil && page.HideForeign(&x.Request.Path) == 0, nil
	}
	return err == nil && len(page.Elements) == 0, nil
}
