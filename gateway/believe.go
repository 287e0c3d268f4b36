package gateway

import (
	"context"
	"net/http"

	"portico/fanout"
	"portico/gateway/exchange"
	"portico/routing"
)

// asked sends a request to its endpoint and returns the answer, if that can be
// believed. Without one the client has been answered, by the request decided
// anew, or is to get the error.
func (g *Gateway) asked(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, p proxied, method string) (*http.Response, error) {
	answer, err := g.call(r.Context(), r, x, p, method)
	if err != nil {
		return nil, err
	}
	believed, err := g.believed(r.Context(), x, p, answer)
	if believed {
		return answer, nil
	}
	_ = answer.Body.Close() // nobody wants the rest
	if err == nil {
		err = g.anew(w, r, x, p)
	}
	return nil, err
}

// believed tells whether a read's answer can go out. One that says that nothing
// is there, from a place that a cache named, is checked once against the store:
// the resource that decides about the place must still lie there and, where it
// is the one that was read, must be as it was before it was asked for.
func (g *Gateway) believed(ctx context.Context, x *exchange.Exchange, p proxied, answer *http.Response) (bool, error) {
	if !p.Cached {
		return true, nil
	}
	nothing, err := g.saysNothing(x, answer)
	if err != nil || !nothing {
		return err == nil, err
	}
	key, own := p.Anchor, p.Anchor == ""
	if own {
		key = x.Request.Key()
	}
	located, err := g.locations.Refresh(ctx, x.Subscription(), key)
	if err != nil || !located.Found || located.Region != p.Region {
		return false, err
	}
	return !own || located.Generation == p.Generation, nil
}

// saysNothing holds for a 404 and for a list without elements.
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

// anew decides about a read once more, after the cache turned out to be behind
// and was corrected. What comes of that is believed.
func (g *Gateway) anew(w http.ResponseWriter, r *http.Request, x *exchange.Exchange, p proxied) (err error) {
	if p.Decision, err = g.router.Resolve(r.Context(), x.Request, x.Principal, p.body); err != nil {
		return err
	}
	p.Cached = false
	x.Region = p.Region
	return g.carry(w, r, x, p)
}
