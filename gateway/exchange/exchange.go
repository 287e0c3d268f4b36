package exchange

import (
	"context"
	"net/http"
	"net/netip"
	"time"

	"go.uber.org/zap"

	"portico/access"
	"portico/arm"
	"portico/limits"
	"portico/routing"
	"portico/tracing"
	"portico/upstream"
)

// OnRegionFailureHeader is how a client says what it wants of a list where a region
// fails: "partial" or "fail".
const OnRegionFailureHeader = "X-Ms-Portico-On-Region-Failure"

// Settings are what all exchanges of one configuration share.
type Settings struct {
	HTTPS      bool // the public URL's scheme
	MaxContent int64
	Memory     *limits.Memory // for the contents of all requests together
	Log        *zap.Logger
}

// Exchange is what the gateway knows of one request while it answers it. The
// chain fills it in link by link; handlers read it and note the outcome.
type Exchange struct {
	settings *Settings

	Started   time.Time
	Identity  tracing.Identity
	Client    tracing.Client
	Principal access.Principal
	// Path and Query are the request target as the client sent it.
	Path, Query string
	// OnRegionFailure is what the client asked for where a region fails, as sent.
	OnRegionFailure []string
	// Request is the classified request, nil before it is classified.
	Request *routing.Request
	// Batched: the request came in a batch.
	Batched bool

	memory *limits.Reservation // of its content; nil: none

	// What became of it, for the log and the metrics.
	Calls    *upstream.Timing // of providers, also those of an exchange within it
	Region   string           // whose endpoint answers
	Received int64            // bytes of content
	Merged   bool             // the answer was put together of several regions'
	Cause    string           // CauseGateway or CauseService on errors
	Failure  error            // behind an error answer of the gateway's own
}

// Whose an error was, as the header of the answer and the metrics name it.
const (
	CauseGateway = "gateway"
	CauseService = "service"
)

// New returns the exchange of a request that begins now.
func New(s *Settings) *Exchange {
	return &Exchange{settings: s, Started: time.Now(), Calls: new(upstream.Timing)}
}

// Begin gives every request an exchange, and releases its memory at the end.
func Begin(s *Settings) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			x := New(s)
			defer func() {
				if x.memory != nil {
					x.memory.Close()
				}
			}()
			next.ServeHTTP(w, r.WithContext(upstream.WithTiming(With(r.Context(), x), x.Calls)))
		})
	}
}

type contextKey struct{}

// With returns a context that carries x.
func With(ctx context.Context, x *Exchange) context.Context {
	return context.WithValue(ctx, contextKey{}, x)
}

// From returns the exchange of a request that came through the chain.
func From(r *http.Request) *Exchange { return FromContext(r.Context()) }

// FromContext returns the exchange of the request whose context this is.
func FromContext(ctx context.Context) *Exchange {
	x, ok := ctx.Value(contextKey{}).(*Exchange)
	if !ok {
		panic("gateway: a request did not come through the chain")
	}
	return x
}

// ClientAddress is the address that providers are told the request came from.
func (x *Exchange) ClientAddress() string {
	if x.Client.Address == (netip.Addr{}) {
		return ""
	}
	return x.Client.Address.String()
}

// Subscription returns the folded subscription id of the request, "" outside
// one.
func (x *Exchange) Subscription() string {
	if x.Request == nil {
		return ""
	}
	return arm.Fold(x.Request.Path.Subscription())
}

// Namespace returns the namespace of the request's provider, spelled as in the
// map; "" where no provider is addressed.
func (x *Exchange) Namespace() string {
	if x.Request == nil || x.Request.Class == routing.Own || x.Request.Provider == nil {
		return ""
	}
	return x.Request.Provider.Namespace
}

// Warn logs a failure that the client is not told of.
func (x *Exchange) Warn(what string, err error) {
	x.settings.Log.Warn(what, zap.Error(err), zap.String("correlationId", x.Identity.Correlation))
}
