package gateway

import (
	"context"
	"errors"
	"net/http"

	"portico/locate"
	"portico/routing"
)

// resolve decides who serves q for the caller of x. Where that depends on a
// resource of which the index does not know whether it exists, it searches for the
// resource and resolves again.
func (g *Gateway) resolve(ctx context.Context, x *exchange, q *routing.Request, body routing.Body) (routing.Decision, error) {
	var searched []string
	for {
		d, err := g.router.Resolve(ctx, q, x.principal, body, searched...)
		if err == nil {
			return d, nil
		}
		needed, ok := errors.AsType[*routing.SearchNeededError](err)
		if !ok {
			return d, err
		}
		if err := g.finder.Find(ctx, callerFrom(x), needed.Sought); err != nil {
			return d, err
		}
		searched = append(searched, needed.Sought.Key)
	}
}

// callerFrom is on whose behalf providers are called for a request.
func callerFrom(x *exchange) locate.Caller {
	return locate.Caller{Principal: x.principal, Identity: x.identity, Client: x.client, Share: x.caller()}
}

// proberFor probes on a request's time and by its caller's share, under its ids, but
// as Portico itself: what a provider shows to one caller proves nothing, as it may
// hide a resource from that one.
func (g *Gateway) proberFor(x *exchange) (locate.Prober, http.Header) {
	header := http.Header{}
	x.identity.Stamp(header)
	prober := g.prober
	prober.Share = x.caller()
	return prober, header
}

// emptinessCheck asks on a caller's behalf whether anything is left in a group.
func (g *Gateway) emptinessCheck(caller locate.Caller) *locate.EmptinessCheck {
	return &locate.EmptinessCheck{Prober: g.prober, Caller: caller, Timeout: g.config.Upstream.CallTimeout}
}
