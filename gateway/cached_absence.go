package gateway

import (
	"context"
	"errors"
	"net/http"

	"portico/fanout"
	"portico/gateway/exchange"
	"portico/routing"
)

// errCacheBehind ends a read that went to the wrong place, as the cache was behind
// the store. The cache has been corrected, and the read is resolved again.
var errCacheBehind = errors.New("gateway: the cached location of a resource was out of date")

// fetch sends a request to its endpoint, by method, and returns the answer.
func (g *Gateway) fetch(r *http.Request, x *exchange.Exchange, p proxied, method string) (*http.Response, error) {
	answer, err := g.upstream.Do(r.Context(), g.outbound(r, x, p, method))
	if err != nil {
		return nil, providerFault(err, x)
	}
	if p.Cached {
		if err := g.confirmAbsence(r.Context(), x, p, answer); err != nil {
			_ = answer.Body.Close() // nobody wants the rest
			return nil, err
		}
	}
	return answer, nil
}

// confirmAbsence checks once against the store an answer that says that nothing is
// there, from a place that the cache named: the resource that decides about the
// place must still lie there and, if it is the one that was read, must be of the
// same generation as before the read. Otherwise the error is errCacheBehind.
func (g *Gateway) confirmAbsence(ctx context.Context, x *exchange.Exchange, p proxied, answer *http.Response) error {
	absent, err := g.saysNothing(x, answer)
	if err != nil || !absent {
		return err
	}
	key, own := p.CachedKey, p.CachedKey == ""
	if own {
		key = x.Request.Key()
	}
	located, err := g.locations.Refresh(ctx, x.Subscription(), key)
	if err != nil {
		return err
	}
	if !located.Found || located.Region != p.Region || own && located.Generation != p.Generation {
		return errCacheBehind
	}
	return nil
}

// saysNothing reports whether an answer is a 404 or a list without elements.
func (g *Gateway) saysNothing(x *exchange.Exchange, answer *http.Response) (bool, error) {
	switch {
	case answer.StatusCode == http.StatusNotFound:
		return true, nil
	case !succeeded(answer) || x.Request.Class != routing.Collection && x.Request.Class != routing.Below:
		return false, nil
	}
	text, err := g.hold(answer, x.Request.Provider.Namespace, x.Region)
	if err != nil {
		return false, err
	}
	page, err := fanout.ParsePage(text)
	return err == nil && len(page.Elements) == 0, nil
}
