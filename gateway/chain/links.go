package chain

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"runtime/debug"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"portico/access"
	"portico/arm"
	"portico/config"
	"portico/gateway/exchange"
	"portico/gateway/observe"
	"portico/internal/connections"
	"portico/tracing"
	"portico/tracing/headers"
	"portico/tracing/spans"
)

// Links are the links of a chain for one configuration.
type Links struct {
	Config        *config.Config
	Authenticator access.Authenticator
	Enforced      bool // callers may do only what their roles allow
	Hosts         Hosts
	Exchanges     *exchange.Settings
	Observe       Middleware // nil: nothing is observed
	Spoofed       prometheus.Counter
	Tracer        *spans.Tracer
	Panics        *zap.Logger
	Last          http.Handler // answers classified requests
}

// Inner returns the chain for requests without a connection of their own: checks replace
// the links that identify the caller.
func (l *Links) Inner(checks ...Check) http.Handler {
	return Of(l.Last, exchange.Begin(l.Exchanges), l.Observe, l.Recover, InTurn(checks...))
}

// HeadBytes bounds a request's line and headers together.
const HeadBytes = 16 << 10

const maxHeaderLines = 200

// Recover turns a panic into a 500. If the answer has begun, it aborts the connection:
// the client must see a broken message, not a short one, nor an error appended to what it
// was sent already.
func (l *Links) Recover(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			failure := recover()
			if failure == nil {
				return
			}
			if err, ok := failure.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(failure)
			}
			x := exchange.From(r)
			l.Panics.Error("panic", zap.Any("failure", failure), zap.ByteString("stack", debug.Stack()), zap.String("correlationId", x.Identity.Correlation))
			err := errors.New("a handler panicked")
			if observe.AnswerStarted(w) {
				x.Failure = err
				panic(http.ErrAbortHandler)
			}
			exchange.Fail(w, r, err)
		}()
		next.ServeHTTP(w, r)
	})
}

// BoundContent bounds the time for a request's content to arrive.
func (l *Links) BoundContent(w http.ResponseWriter, r *http.Request) (goesOn bool) {
	exchange.BoundContent(w, r, l.Config.Limits.RequestBody)
	return true
}

// Identify mints the request's ids, and determines the client that sent it.
func (l *Links) Identify(w http.ResponseWriter, r *http.Request) (goesOn bool) {
	x := exchange.From(r)
	fault := l.ReadHead(x, r)
	x.Span = l.Tracer.Request(r.Header, x.Client.Trusted, x.Started)
	if fault != nil {
		exchange.Fail(w, r, fault)
		return false
	}
	return true
}

// ReadHead mints the ids of a request that came by itself, and determines its client,
// even if it refuses the request.
func (l *Links) ReadHead(x *exchange.Exchange, r *http.Request) (fault *arm.Error) {
	fault = l.Mint(x, r)
	x.Client = tracing.ClientOf(r.RemoteAddr, r.Header, l.Config.Server.TrustedProxies)
	if fault == nil {
		fault = exchange.OneLength(r.Context())
	}
	return fault
}

// Mint gives a request its ids, whether it came by itself or in a batch.
func (l *Links) Mint(x *exchange.Exchange, r *http.Request) (fault *arm.Error) {
	x.Identity, fault = tracing.Identify(r.Header, l.Config.Server.Region, x.Started)
	x.Path, x.Query = Target(r)
	if fault == nil {
		fault = checkLineCount(r.Header)
	}
	if fault == nil {
		fault = checkConnectionHeader(r.Header)
	}
	return fault
}

// checkConnectionHeader refuses a request whose Connection header names a header that
// decisions depend on: a proxy in front may have removed that one, as the client
// intended.
func checkConnectionHeader(h http.Header) *arm.Error {
	if name := headers.NamedByConnection(h); name != "" {
		return arm.NewError(arm.InvalidRequestHeader, "Connection", "it names "+name+", which concerns more than the connection").WithTarget("Connection")
	}
	return nil
}

func checkLineCount(h http.Header) *arm.Error {
	lines := 0
	for _, values := range h {
		lines += len(values)
	}
	if lines > maxHeaderLines {
		return exchange.TooManyHeaders("there are too many header lines")
	}
	return nil
}

// Target returns path and query of the request as they came over the wire: net/url has
// decoded and re-encoded its own copy.
func Target(r *http.Request) (path, query string) {
	path, query, _ = strings.Cut(r.RequestURI, "?")
	if !strings.HasPrefix(path, "/") {
		// The absolute form has a host as well, which Target ignores.
		if _, rest, ok := strings.Cut(path, "://"); ok {
			path = "/"
			if i := strings.IndexByte(rest, '/'); i >= 0 {
				path = rest[i:]
			}
		}
	}
	return path, query
}

// GuardHost protects a gateway without authentication from web pages: a browser must not
// reach it under a name that a page's owner chose, nor on behalf of a page at all.
func (l *Links) GuardHost(w http.ResponseWriter, r *http.Request) (goesOn bool) {
	switch {
	case l.Config.Auth.Mode != config.AuthNone:
		return true
	case len(r.Header["Origin"]) > 0:
		exchange.Fail(w, r, arm.NewError(arm.Forbidden, "Requests on behalf of web pages are refused: this service runs without authentication.").WithTarget("Origin"))
	case !l.Hosts[strings.ToLower(r.Host)]:
		exchange.Fail(w, r, arm.NewError(arm.MisdirectedRequest).WithTarget("Host"))
	default:
		return true
	}
	return false
}

// Hosts holds the values of Host under which the front door is called, in lower case.
type Hosts map[string]bool

// NewHosts returns the values of Host under which a gateway without authentication may be
// called: the public URL's host, and the listener's port on localhost and loopback
// addresses.
func NewHosts(public *url.URL, listen string) Hosts {
	hosts := Hosts{strings.ToLower(public.Host): true}
	if public.Port() == "" {
		port := "80"
		if public.Scheme == "https" {
			port = "443"
		}
		hosts[net.JoinHostPort(strings.ToLower(public.Hostname()), port)] = true
	}
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return hosts
	}
	names := []string{"localhost", "127.0.0.1", "::1"}
	if address, err := netip.ParseAddr(host); err == nil && address.IsLoopback() {
		names = append(names, address.String())
	}
	for _, name := range names {
		hosts[net.JoinHostPort(name, port)] = true
		if port == "80" {
			hosts[name] = true
		}
	}
	return hosts
}

// Authenticate identifies the caller. Metadata needs no caller: clients read it before
// they know where to get a token.
func (l *Links) Authenticate(w http.ResponseWriter, r *http.Request) (goesOn bool) {
	x := exchange.From(r)
	principal, refusal := l.Authenticator.Authenticate(r)
	if refusal != nil && !x.ForMetadata() {
		l.RefuseSignIn(w, r, refusal)
		return false
	}
	if refusal == nil {
		connections.Authenticated(r.Context())
	}
	l.Admit(x, r, principal)
	return true
}

// RefuseSignIn answers a request whose credential was refused.
func (l *Links) RefuseSignIn(w http.ResponseWriter, r *http.Request, refusal *access.Refusal) {
	if refusal.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", l.Authenticator.Challenge(refusal))
	}
	exchange.Fail(w, r, refusal.Error)
}

// Admit records the caller, and removes all reserved headers from the request.
func (l *Links) Admit(x *exchange.Exchange, r *http.Request, principal access.Principal) {
	x.Principal = principal
	x.Principal.ByRoles = l.Enforced
	x.OnRegionFailure = r.Header[exchange.OnRegionFailureHeader]
	l.Spoofed.Add(float64(tracing.Strip(r.Header)))
}

// Classify determines what the request addresses.
func (l *Links) Classify(w http.ResponseWriter, r *http.Request) (goesOn bool) {
	x := exchange.From(r)
	fault := exchange.CheckMethod(r.Method)
	switch {
	case fault != nil:
	case strings.Contains(x.Query, "#"):
		fault = arm.NewError(arm.InvalidRequestURI, "a request has no fragment")
	default:
		if fault = x.Classify(l.Config.Map, r.Method); fault == nil {
			fault = x.Request.OutOfScope(l.Config.Map) // before the body is read: clients send what is not JSON
		}
	}
	if fault != nil {
		exchange.Fail(w, r, fault)
		return false
	}
	return true
}
