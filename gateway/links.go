package gateway

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"runtime/debug"
	"strings"

	"go.uber.org/zap"

	"portico/access"
	"portico/arm"
	"portico/config"
	"portico/connections"
	"portico/gateway/exchange"
	"portico/gateway/observe"
	"portico/routing"
	"portico/tracing"
	"portico/tracing/headers"
)

// maxHeaderLines bounds the number of a request's headers.
const maxHeaderLines = 200

// recover turns a panic into a 500. An answer that has begun is broken off, and
// one that was stays so: the client must see a broken message, not a short one,
// nor one with an error behind what it was sent already.
func (g *Gateway) recover(next http.Handler) http.Handler {
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
			g.log.Error("panic", zap.Any("failure", failure), zap.ByteString("stack", debug.Stack()), zap.String("correlationId", x.Identity.Correlation))
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

// boundContent sets the time in which a request's content has to arrive.
func (g *Gateway) boundContent(w http.ResponseWriter, r *http.Request) (goesOn bool) {
	exchange.BoundContent(w, r, g.config.Limits.RequestBody)
	return true
}

// identify mints the request's ids, and finds the client behind it.
func (g *Gateway) identify(w http.ResponseWriter, r *http.Request) (goesOn bool) {
	x := exchange.From(r)
	fault := g.readHead(x, r)
	x.Span = g.tracer.Request(r.Header, x.Client.Trusted, x.Started)
	if fault != nil {
		exchange.Fail(w, r, fault)
		return false
	}
	return true
}

// readHead mints the ids of a request that came by itself, and finds the client behind it,
// also of one that it refuses.
func (g *Gateway) readHead(x *exchange.Exchange, r *http.Request) (fault *arm.Error) {
	fault = g.mint(x, r)
	x.Client = tracing.ClientOf(r.RemoteAddr, r.Header, g.config.Server.TrustedProxies)
	if fault == nil {
		fault = exchange.OneLength(r.Context())
	}
	return fault
}

// mint gives a request its ids, whether it came by itself or in a batch.
func (g *Gateway) mint(x *exchange.Exchange, r *http.Request) (fault *arm.Error) {
	x.Identity, fault = tracing.Identify(r.Header, g.config.Server.Region, x.Started)
	x.Path, x.Query = target(r)
	if fault == nil {
		fault = fewLines(r.Header)
	}
	if fault == nil {
		fault = keptBehindConnection(r.Header)
	}
	return fault
}

// keptBehindConnection refuses a request whose Connection lines name a header that it
// is judged by: a proxy in front may have removed that as the client meant it to.
func keptBehindConnection(h http.Header) *arm.Error {
	if name := headers.NamedByConnection(h); name != "" {
		return arm.NewError(arm.InvalidRequestHeader, "Connection", "it names "+name+", which concerns more than the connection").About("Connection")
	}
	return nil
}

func fewLines(h http.Header) *arm.Error {
	lines := 0
	for _, values := range h {
		lines += len(values)
	}
	if lines > maxHeaderLines {
		return exchange.TooManyHeaders("there are too many header lines")
	}
	return nil
}

// target returns path and query of the request as they came over the wire:
// net/url has decoded and re-encoded its own copy.
func target(r *http.Request) (path, query string) {
	path, query, _ = strings.Cut(r.RequestURI, "?")
	if !strings.HasPrefix(path, "/") {
		// The absolute form names a host as well, which is not asked for here.
		if _, rest, ok := strings.Cut(path, "://"); ok {
			path = "/"
			if i := strings.IndexByte(rest, '/'); i >= 0 {
				path = rest[i:]
			}
		}
	}
	return path, query
}

// guardHost protects a gateway without authentication from web pages: a
// browser must not reach it under a name that a page's owner chose, nor on
// behalf of a page at all.
func (g *Gateway) guardHost(w http.ResponseWriter, r *http.Request) (goesOn bool) {
	switch {
	case g.config.Auth.Mode != config.AuthNone:
		return true
	case len(r.Header["Origin"]) > 0:
		exchange.Fail(w, r, arm.NewError(arm.Forbidden, "Requests on behalf of web pages are refused: this service runs without authentication.").About("Origin"))
	case !g.hosts[strings.ToLower(r.Host)]:
		exchange.Fail(w, r, arm.NewError(arm.MisdirectedRequest).About("Host"))
	default:
		return true
	}
	return false
}

// allowedHosts are the values of Host under which a gateway without
// authentication may be called: the public URL's, and the listener's port on
// localhost and loopback addresses.
func allowedHosts(public *url.URL, listen string) map[string]bool {
	hosts := map[string]bool{strings.ToLower(public.Host): true}
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

// authenticate finds the caller. Clients ask for the metadata before they know
// where to get a token.
func (g *Gateway) authenticate(w http.ResponseWriter, r *http.Request) (goesOn bool) {
	x := exchange.From(r)
	principal, refusal := g.authenticator.Authenticate(r)
	if refusal != nil && !isMetadata(x.Path) {
		g.refuseSignIn(w, r, refusal)
		return false
	}
	if refusal == nil {
		connections.Authenticated(r.Context())
	}
	g.admit(x, r, principal)
	return true
}

func (g *Gateway) refuseSignIn(w http.ResponseWriter, r *http.Request, refusal *access.Refusal) {
	if refusal.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", g.authenticator.Challenge(refusal))
	}
	exchange.Fail(w, r, refusal.Error)
}

// admit lets a caller in. From here on no reserved header is left on the
// request.
func (g *Gateway) admit(x *exchange.Exchange, r *http.Request, principal access.Principal) {
	x.Principal = principal
	x.Principal.ByRoles = g.authorizer.Enforced()
	x.OnRegionFailure = r.Header[exchange.OnRegionFailureHeader]
	g.metrics.Spoofed.Add(float64(tracing.Strip(r.Header)))
}

func isMetadata(path string) bool {
	return arm.EqualFold(strings.Trim(path, "/"), "metadata/endpoints")
}

// classify finds out what the request addresses.
func (g *Gateway) classify(w http.ResponseWriter, r *http.Request) (goesOn bool) {
	x := exchange.From(r)
	fault := exchange.CheckMethod(r.Method)
	switch {
	case fault != nil:
	case strings.Contains(x.Query, "#"):
		fault = arm.NewError(arm.InvalidRequestURI, "a request has no fragment")
	default:
		if fault = x.Classify(g.router.Map, r.Method); fault == nil {
			fault = x.Request.OutOfScope(g.router.Map) // nothing of it is read: clients send what is no JSON
		}
	}
	if fault != nil {
		exchange.Fail(w, r, fault)
		return false
	}
	return true
}

// dispatch answers a classified request.
func (g *Gateway) dispatch(w http.ResponseWriter, r *http.Request) {
	x := exchange.From(r)
	if x.Request.Class == routing.Own {
		g.frontDoor.ServeHTTP(w, r)
		return
	}
	if err := g.proxy.Answer(w, r, x); err != nil {
		exchange.Fail(w, r, err)
	}
}
