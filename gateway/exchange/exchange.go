// Package exchange holds the state of one request in the gateway: its ids, its caller,
// what it addresses and its outcome. It reads a request's content and writes the answers
// that Portico makes itself.
//
// [Begin] gives each request an [Exchange]; [From] returns it. Handlers return errors,
// and only [Fail] turns them into answers. Every answer has a bounded time to be
// delivered.
//
// The package knows no handler and imports no other package of the gateway.
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

// OnRegionFailureHeader is the header for the client's choice between a "partial" list
// and an error ("fail") if a region fails.
const OnRegionFailureHeader = "X-Ms-Portico-On-Region-Failure"

// Settings are shared by all exchanges of one configuration.
type Settings struct {
	HTTPS      bool // the public URL's scheme
	MaxContent int64
	Memory     *limits.Memory // for the contents of all requests together
	Log        *zap.Logger
	// Refused is called with each request that Portico itself refuses, before the answer
	// is sent; it may be nil.
	Refused func(context.Context, *Exchange, *arm.Error)
}

// Exchange is the state of one request while the gateway answers it. The links of the
// chain fill it in; handlers read it and record the outcome.
type Exchange struct {
	settings *Settings

	Started   time.Time
	Identity  tracing.Identity
	Client    tracing.Client
	Principal access.Principal
	// Path and Query are the request target as the client sent it.
	Path, Query string
	// OnRegionFailure holds the values of OnRegionFailureHeader as sent.
	OnRegionFailure []string
	// Request is the classified request, nil before it is classified.
	Request *routing.Request
	// Origin is the kind of sender; Parent is the deployment that sent a nested one.
	Origin Origin
	Parent *deploymentrow.Parent
	// Planned: the request is a PUT that is checked but not sent. LocationPending: the
	// location of its resource is not known yet.
	Planned, LocationPending bool
	// Mask hides secrets of the request's content in errors; nil if none are known
	// besides the enclosing request's.
	Mask events.Mask
	// Ticket is what the request was charged of its caller's limits.
	Ticket limits.Ticket

	// Trail is nil unless the request is explained instead of sent.
	Trail *Trail

	memory          *limits.Reservation          // for its content; nil: none
	ownHeaders      headers.Fields               // headers of the answer that the gateway sets
	ownHeadersArray [maxOwnHeaders]headers.Field // the backing array of ownHeaders
	requestMemory   *routing.Request             // the memory for Request

	// Span is the request's span, or the enclosing request's until it has one; nil if it
	// is not sampled.
	Span *spans.Span

	// The outcome, for the log and the metrics.
	Calls    *upstream.Timing // calls to providers, also in an exchange within this one
	Waited   time.Duration    // spent waiting for the end of an operation that the request began
	Region   string           // whose endpoint answered, or failed to
	Received int64            // bytes of content
	Merged   bool             // the answer combines the answers of several regions
	Route    string           // the pattern of one of Portico's own routes
	// Action is what the caller asked to do, as a role's action, and AllowedBy the role
	// assignment that allowed it, or why there is none; both are "" if roles were not
	// checked.
	Action, AllowedBy string
	// RouteAction is the role's action of one of Portico's own routes; "" for other
	// requests.
	RouteAction string
	Cause       string     // CauseGateway or CauseService on errors
	Failure     error      // the reason of an error answer of the gateway's own
	Shown       *arm.Error // that the client got, without secrets of its request; nil if it has no form that is known
}

// SeveralRegions stands for the names of several regions in logs and metrics.
const SeveralRegions = "several"

// Values of the failure cause in answers and metrics: who caused an error.
const (
	CauseGateway = "gateway"
	CauseService = "service"
)

// allocation is an exchange with everything of the same lifetime, so that a request costs
// one allocation.
type allocation struct {
	Exchange
	carrier
	request routing.Request
	calls   upstream.Timing
}

// New returns the exchange of a request that begins now, and a context derived from ctx
// that holds it.
func New(ctx context.Context, s *Settings) (*Exchange, context.Context) {
	b := &allocation{}
	x := &b.Exchange
	x.settings, x.Started, x.requestMemory, x.Calls = s, time.Now(), &b.request, &b.calls
	b.calls.Within(ctx)
	x.Span = spans.FromContext(ctx)
	b.carrier = carrier{ctx, x}
	return x, &b.carrier
}

// Classify determines what the request addresses.
func (x *Exchange) Classify(m *regions.Map, method string) *arm.Error {
	x.Request = x.requestMemory
	fault := x.Request.Classify(m, method, x.Path, x.Query)
	x.Request.Received = x.Started
	return fault
}

// Begin gives every request an exchange, and releases the request's memory at the end.
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

// carrier is a context that holds an exchange and the timing of its calls.
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
		cause, outer := c.x.cause(), events.CauseOf(c.Context)
		cause.Job, cause.JobID, cause.JobOn = outer.Job, outer.JobID, outer.JobOn
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

// With returns a context that holds x.
func With(ctx context.Context, x *Exchange) context.Context { return &carrier{ctx, x} }

// From returns the exchange of a request that came through the chain.
func From(r *http.Request) *Exchange { return FromContext(r.Context()) }

// FromContext returns the exchange that a context holds. It panics if there is none.
func FromContext(ctx context.Context) *Exchange {
	x, ok := ctx.Value(contextKey{}).(*Exchange)
	if !ok {
		panic("gateway: a request did not come through the chain")
	}
	return x
}

// ClientAddress returns the address that Portico reports to providers as the request's
// origin.
func (x *Exchange) ClientAddress() string { return x.Client.AddressText() }

// ForMetadata reports whether a request is for the metadata of the front door, which
// needs no sign-in.
func (x *Exchange) ForMetadata() bool {
	return arm.EqualFold(strings.Trim(x.Path, "/"), "metadata/endpoints")
}

// Subscription returns the folded subscription id of the request, or "" if it has none.
func (x *Exchange) Subscription() string {
	if x.Request == nil {
		return ""
	}
	return arm.Fold(x.Request.Path.Subscription())
}

// Namespace returns the namespace of the request's provider, spelled as in the map; "" if
// no provider is addressed.
func (x *Exchange) Namespace() string {
	if x.Request == nil || x.Request.Class == routing.Own || x.Request.Provider == nil {
		return ""
	}
	return x.Request.Provider.Namespace
}

// LogFields appends the provider, the region and the correlation id of the request to
// fields.
func (x *Exchange) LogFields(fields ...zap.Field) []zap.Field {
	return append(fields, zap.String("provider", x.Namespace()), zap.String("region", x.Region), zap.String("correlationId", x.Identity.Correlation))
}

// Warn logs a failure that the answer does not show.
func (x *Exchange) Warn(what string, err error) {
	x.settings.Log.Warn(what, zap.Error(err), zap.String("correlationId", x.Identity.Correlation))
}

// cause returns the request as the cause of the changes it makes.
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
