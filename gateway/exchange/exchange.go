// Package exchange holds what one request carries through the gateway: its ids,
// its caller, what it addresses and what became of it. It reads a request's
// content and writes the answers that Portico makes itself.
//
// [Begin] gives each request an [Exchange]; [From] returns it. Handlers return
// errors, and [Fail] alone turns them into answers. Whatever an answer is, its
// client has a bounded time to take it.
//
// The package knows no handler and imports nothing else of the gateway.
package exchange

import (
	"context"
	"net/http"
	"strings"
	"time"

	"go.uber.org/zap"

	"portico/access"
	"portico/arm"
	"portico/events"
	"portico/inventory/deploymentrow"
	"portico/limits"
	"portico/regions"
	"portico/routing"
	"portico/tracing"
	"portico/tracing/headers"
	"portico/tracing/spans"
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
	// Refused is called with each request that Portico itself refuses, before the
	// answer goes out; nil: it is not called.
	Refused func(context.Context, *Exchange, *arm.Error)
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
	// Origin says what sent the request, and Parent, which deployment, of one that is nested.
	Origin Origin
	Parent *deploymentrow.Parent
	// Planned: the request is a PUT that is only planned, and LocationPending: where its
	// resource is to lie is not known yet.
	Planned, LocationPending bool
	// Mask hides the secrets of the request's content in errors; nil if none are known beside
	// those of what encloses the request.
	Mask events.Mask
	// Ticket is what the request has paid of its caller's limits.
	Ticket limits.Ticket

	// Trail is nil unless the request is explained, in place of being sent.
	Trail *Trail

	memory *limits.Reservation    // of its content; nil: none
	own    headers.Fields         // those of the answer that the gateway sets
	ownIn  [mostOwn]headers.Field // room for them
	room   *routing.Request       // for Request

	// Span is that of the request, nil where it is not sampled; of what encloses the
	// request before it has its own.
	Span *spans.Span

	// What became of it, for the log and the metrics.
	Calls    *upstream.Timing // of providers, also those of an exchange within it
	Waited   time.Duration    // for the end of an operation that it began
	Region   string           // whose endpoint answers, or did not
	Received int64            // bytes of content
	Merged   bool             // the answer was put together of several regions'
	Route    string           // of a resource of Portico's own, as its routes have it
	// Action is what the caller asked to do, in the words of roles, and AllowedBy the
	// role assignment that allowed it, or why there is none; both are "" where roles
	// were not checked.
	Action, AllowedBy string
	// RouteAction is what the route of one of Portico's own resources does, in the words of
	// roles; "" where the request is for no such route.
	RouteAction string
	Cause       string // CauseGateway or CauseService on errors
	Failure     error  // behind an error answer of the gateway's own
}

// SeveralRegions stands for the names of several regions in logs and metrics.
const SeveralRegions = "several"

// Whose an error was, as the header of the answer and the metrics name it.
const (
	CauseGateway = "gateway"
	CauseService = "service"
)

// allocation is an exchange with all that lives as long as it, so that a request costs
// one allocation.
type allocation struct {
	Exchange
	carrier
	request routing.Request
	calls   upstream.Timing
}

// New returns the exchange of a request that begins now, and the context by which it
// is found, which ctx encloses.
func New(ctx context.Context, s *Settings) (*Exchange, context.Context) {
	b := &allocation{}
	x := &b.Exchange
	x.settings, x.Started, x.room, x.Calls = s, time.Now(), &b.request, &b.calls
	b.calls.Within(ctx)
	x.Span = spans.Of(ctx)
	b.carrier = carrier{ctx, x}
	return x, &b.carrier
}

// Classify finds out what the request addresses.
func (x *Exchange) Classify(m *regions.Map, method string) *arm.Error {
	x.Request = x.room
	fault := x.Request.Classify(m, method, x.Path, x.Query)
	x.Request.Received = x.Started
	return fault
}

// Begin gives every request an exchange, and releases its memory at the end.
func Begin(s *Settings) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			x, ctx := New(r.Context(), s)
			defer func() {
				if x.memory != nil {
					x.memory.Close()
				}
			}()
			next.ServeHTTP(w, r.WithContext(ctx))
		})
	}
}

type contextKey struct{}

// carrier is a context that carries an exchange, and the timing of its calls.
type carrier struct {
	context.Context
	x *Exchange
}

// Value implements [context.Context].
func (c *carrier) Value(key any) any {
	switch key.(type) {
	case contextKey:
		return c.x
	case upstream.TimingKey:
		return c.x.Calls
	case events.CauseKey:
		cause := c.x.cause()
		cause.Secrets = events.HasMask(c)
		return cause
	case events.MaskKey:
		if c.x.Mask != nil {
			return c.x.Mask
		}
	case spans.Key:
		return c.x.Span
	}
	return c.Context.Value(key)
}

// With returns a context that carries x.
func With(ctx context.Context, x *Exchange) context.Context { return &carrier{ctx, x} }

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

// ClientAddress is the address that Portico reports to providers as the request's
// origin.
func (x *Exchange) ClientAddress() string { return x.Client.AddressText() }

// ForMetadata reports whether a request asks for the metadata of the front door, which needs
// no sign-in.
func (x *Exchange) ForMetadata() bool {
	return arm.EqualFold(strings.Trim(x.Path, "/"), "metadata/endpoints")
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

// LogFields adds to a log line who answered which request.
func (x *Exchange) LogFields(fields ...zap.Field) []zap.Field {
	return append(fields, zap.String("provider", x.Namespace()), zap.String("region", x.Region), zap.String("correlationId", x.Identity.Correlation))
}

// Warn logs a failure that the answer does not show.
func (x *Exchange) Warn(what string, err error) {
	x.settings.Log.Warn(what, zap.Error(err), zap.String("correlationId", x.Identity.Correlation))
}

// cause is the request as the cause of what it changes.
func (x *Exchange) cause() *events.Cause {
	p := x.Principal
	c := &events.Cause{
		TenantID: p.TenantID, ObjectID: p.ObjectID, AppID: p.AppID, Name: p.Name, Issuer: p.Issuer,
		Application: p.Kind() == "Application",
		Correlation: x.Identity.Correlation, Request: x.Identity.Request, ClientRequest: x.Identity.Client, URI: x.Path,
	}
	if x.Client.Address.IsValid() {
		c.Address = x.Client.AddressText()
	}
	if x.Request != nil {
		c.Method = x.Request.Method
	}
	return c
}
