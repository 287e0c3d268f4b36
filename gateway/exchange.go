package gateway

import (
	"context"
	"net/http"
	"net/netip"
	"time"

	"portico/access"
	"portico/arm"
	"portico/limits"
	"portico/routing"
	"portico/tracing"
	"portico/upstream"
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
	// memory is what its content holds, nil for nothing.
	memory *limits.Reservation

	// What became of it, for the log and the metrics.
	calls    *upstream.Timing // of providers, also those of an exchange within it
	region   string
	received int64  // bytes of content
	merged   bool   // the answer was put together of several regions'
	cause    string // causeGateway or causeService on errors
	failure  error  // behind an error answer of the gateway's own
}

// Whose an error was, as the header of the answer and the metrics name it.
const (
	causeGateway = "gateway"
	causeService = "service"
	causeNone    = "none" // it was none; not in the header
)

type exchangeKey struct{}

// begin gives every request an exchange, and takes back its memory at the end.
func (g *Gateway) begin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := &exchange{started: time.Now(), calls: new(upstream.Timing)}
		ctx := upstream.WithTiming(context.WithValue(r.Context(), exchangeKey{}, x), x.calls)
		defer func() {
			if x.memory != nil {
				x.memory.Close()
			}
		}()
		next.ServeHTTP(w, r.WithContext(ctx))
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
