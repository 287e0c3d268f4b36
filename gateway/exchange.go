package gateway

import (
	"context"
	"net/http"
	"net/netip"
	"time"

	"portico/access"
	"portico/arm"
	"portico/routing"
	"portico/tracing"
)

// exchange is what the gateway knows of one request while it answers it. The
// chain fills it in link by link; handlers read it and note the outcome.
type exchange struct {
	started   time.Time
	identity  tracing.Identity
	client    tracing.Client
	principal access.Principal
	// target is the request target as the client sent it: path and query.
	path, query string
	// onRegionFailure is what the client asked for where a region fails, as sent.
	onRegionFailure []string
	// request is the classified request, from the link classify on.
	request *routing.Request

	// What became of it, for the log and the metrics.
	region       string
	providerTime time.Duration
	cause        string // "gateway" or "service" on errors
	failure      error  // behind an error answer of the gateway's own
}

type exchangeKey struct{}

// begin gives every request an exchange.
func (g *Gateway) begin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := &exchange{started: time.Now()}
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x)))
	})
}

// of returns the exchange of a request that came through the chain.
func of(r *http.Request) *exchange { return exchangeOf(r.Context()) }

func exchangeOf(ctx context.Context) *exchange {
	x, ok := ctx.Value(exchangeKey{}).(*exchange)
	if !ok {
		panic("gateway: a request did not come through the chain")
	}
	return x
}

// clientAddress is what providers are told of where a request came from.
func (x *exchange) clientAddress() string {
	if x.client.Address == (netip.Addr{}) {
		return ""
	}
	return x.client.Address.String()
}

// subscription returns the folded subscription id of the request, "" outside
// one.
func (x *exchange) subscription() string {
	if x.request == nil {
		return ""
	}
	return arm.Fold(x.request.Path.Subscription())
}
