package gateway

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/gorilla/mux"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/zap"

	"portico/arm"
	"portico/config"
	"portico/connections"
	"portico/gateway/exchange"
	"portico/gateway/observe"
)

const (
	readyTime = 3 * time.Second // for a readiness probe
	// Bounds of what scrapes of the metrics may cost.
	scrapesAtOnce = 4
	scrapeTime    = 10 * time.Second
	// adminContent is the most content that a request of the admin listener may have.
	adminContent = 64 << 10
)

// Admin returns the handler of the admin listener: health, metrics, profiles,
// reloads, the lifecycle of subscriptions, durable work, doubts, fences, and regions
// that are gone. It must not be reachable for web pages, so foreign hosts and origins
// are refused whatever is asked for.
func (g *Gateway) Admin() http.Handler {
	m := mux.NewRouter()
	m.Methods(http.MethodGet).Path("/healthz").HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { plain(w, http.StatusOK, "ok\n") })
	m.Methods(http.MethodGet).Path("/readyz").HandlerFunc(g.ready)
	m.Methods(http.MethodGet).Path("/metrics").Handler(promhttp.HandlerFor(g.registry, promhttp.HandlerOpts{
		EnableOpenMetrics: true, MaxRequestsInFlight: scrapesAtOnce, Timeout: scrapeTime,
	}))

	guarded := m.NewRoute().Subrouter()
	guarded.Use(g.audit.Admin, g.adminToken)
	guarded.Methods(http.MethodGet).Path("/admin/subscriptions").Handler(g.adminRoute(g.adminList))
	guarded.Methods(http.MethodGet).Path("/admin/subscriptions/{id}").Handler(g.adminRoute(g.adminGet))
	guarded.Methods(http.MethodPut).Path("/admin/subscriptions/{id}").Handler(g.adminRoute(g.adminPut))
	guarded.Methods(http.MethodGet).Path("/admin/deleteOrder").Handler(g.adminRoute(g.adminDeleteOrder))
	guarded.Methods(http.MethodGet).Path("/admin/fences").Handler(g.adminRoute(g.adminFences))
	guarded.Methods(http.MethodGet).Path("/admin/doubts").Handler(g.adminRoute(g.adminDoubts))
	guarded.Methods(http.MethodGet).Path("/admin/jobs").Handler(g.adminRoute(g.adminJobs))
	guarded.Methods(http.MethodGet).Path("/admin/jobs/{id}").Handler(g.adminRoute(g.adminJob))
	// The path comes first: a method that fits would make a wrong one at another
	// path look like an unknown path.
	guarded.Path("/admin/jobs/{id}/cancel").Methods(http.MethodPost).Handler(g.adminRoute(g.adminCancelJob))
	guarded.Path("/admin/sweeps").Methods(http.MethodPost).Handler(g.adminRoute(g.adminSweep))
	guarded.Path("/admin/regions/{region}/retire").Methods(http.MethodPost).Handler(g.adminRoute(g.adminRetire))
	guarded.Path("/admin/reload").Methods(http.MethodPost).Handler(g.adminRoute(g.adminReload))
	guarded.Path("/debug/pprof/cmdline").HandlerFunc(pprof.Cmdline)
	guarded.Path("/debug/pprof/profile").HandlerFunc(pprof.Profile)
	guarded.Path("/debug/pprof/symbol").HandlerFunc(pprof.Symbol)
	guarded.Path("/debug/pprof/trace").HandlerFunc(pprof.Trace)
	guarded.PathPrefix("/debug/pprof/").HandlerFunc(pprof.Index)
	return chain(m, exchange.EndAmbiguous, adminLength, exchange.BoundContent(adminContent), g.adminHost)
}

// adminLength is exchange.OneLength for the admin listener.
func adminLength(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if fault := exchange.OneLength(r.Context()); fault != nil {
			adminFault(w, fault)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// adminHost refuses what a browser could be made to send: a host name that
// somebody else's DNS may point here, and any origin.
func (g *Gateway) adminHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if h, _, err := net.SplitHostPort(host); err == nil {
			host = h
		}
		host = strings.ToLower(strings.Trim(host, "[]"))
		_, err := netip.ParseAddr(host)
		known := err == nil || host == "localhost" || slices.Contains(g.config.Server.AdminHosts, host)
		if !known || len(r.Header["Origin"]) > 0 {
			adminFault(w, arm.NewError(arm.Forbidden, "The admin listener answers neither web pages nor foreign host names."))
			return
		}
		next.ServeHTTP(w, r)
	})
}

// adminToken asks for an admin token where any is configured, and notes whose it
// was.
func (g *Gateway) adminToken(next http.Handler) http.Handler {
	tokens := g.config.Server.AdminTokens
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(tokens) == 0 {
			connections.Authenticated(r.Context())
			next.ServeHTTP(w, r)
			return
		}
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		sum := sha256.Sum256([]byte(strings.TrimSpace(token)))
		known, name := holderOf(tokens, hex.EncodeToString(sum[:]))
		if !strings.EqualFold(scheme, "Bearer") || !known {
			w.Header().Set("WWW-Authenticate", `Bearer realm="portico admin"`)
			adminFault(w, arm.NewError(arm.AuthenticationFailed))
			return
		}
		connections.Authenticated(r.Context())
		observe.SetTokenName(r.Context(), name)
		next.ServeHTTP(w, r)
	})
}

// holderOf finds whose token has a hash. It looks at all of them, so that the time
// that it takes tells nothing.
func holderOf(tokens []config.AdminToken, hash string) (known bool, name string) {
	for _, t := range tokens {
		if subtle.ConstantTimeCompare([]byte(t.SHA256), []byte(hash)) == 1 {
			known, name = true, t.Name
		}
	}
	return known, name
}

func plain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text) // the prober may be gone
}

func (g *Gateway) ready(w http.ResponseWriter, r *http.Request) {
	if g.draining.Load() {
		plain(w, http.StatusServiceUnavailable, "draining\n")
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), readyTime)
	defer cancel()
	if err := g.store.Ready(ctx); err != nil {
		g.log.Warn("not ready", zap.Error(err))
		plain(w, http.StatusServiceUnavailable, "the store does not answer\n")
		return
	}
	plain(w, http.StatusOK, "ready\n")
}

// adminRoute renders what an admin handler returns. What is behind an error that
// is not the caller's only the log learns.
func (g *Gateway) adminRoute(handle func(w http.ResponseWriter, r *http.Request) (status int, body any, err error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status, body, err := handle(w, r)
		if err != nil {
			var fault *arm.Error
			if !errors.As(err, &fault) {
				fault = arm.NewError(arm.Conflict).WithStatus(http.StatusServiceUnavailable).Saying("The store does not answer.")
				g.adminFailed(r, err)
			}
			adminFault(w, fault)
			return
		}
		text, err := json.Marshal(body)
		if err != nil {
			g.adminFailed(r, err)
			adminFault(w, arm.NewError(arm.Conflict).WithStatus(http.StatusInternalServerError).Saying("The answer could not be written."))
			return
		}
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		w.WriteHeader(status)
		_, _ = w.Write(text) // the client may be gone
	})
}

func (g *Gateway) adminFailed(r *http.Request, err error) {
	g.log.Error("a request of the admin listener failed", zap.String("method", observe.Method(r.Method)),
		zap.String("path", observe.Path(r.URL.Path)), zap.Error(err))
}

func adminFault(w http.ResponseWriter, fault *arm.Error) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	exchange.SetRetryAfter(w.Header(), fault.RetryAfter)
	w.WriteHeader(fault.Status)
	_, _ = w.Write(fault.Body()) // the client may be gone
}

// adminBody reads a request's JSON object; no body at all is an empty one.
func adminBody(w http.ResponseWriter, r *http.Request, into any) error {
	content, err := io.ReadAll(http.MaxBytesReader(w, r.Body, adminContent))
	if err != nil {
		return exchange.Undecodable(err)
	}
	exchange.ContentArrived(w)
	if len(content) == 0 {
		return nil
	}
	if fault := exchange.ReadJSON(content, into); fault != nil {
		return fault
	}
	return nil
}
