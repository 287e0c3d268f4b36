package admin

import (
	"context"
	"io"
	"net/http"
	"net/http/pprof"
	"time"

	"github.com/gorilla/mux"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"go.uber.org/zap"
)

const (
	readyTime = 3 * time.Second // for a readiness probe
	// Bounds on scrapes of the metrics.
	scrapesAtOnce = 4
	scrapeTime    = 10 * time.Second
)

// healthRoutes adds the routes for probes and scrapes, which need no token.
func (l *listener) healthRoutes(m *mux.Router) {
	m.Path("/healthz").Methods(http.MethodGet).HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { plain(w, http.StatusOK, "ok\n") })
	m.Path("/readyz").Methods(http.MethodGet).HandlerFunc(l.ready)
	m.Path("/metrics").Methods(http.MethodGet).Handler(promhttp.HandlerFor(l.Metrics, promhttp.HandlerOpts{
		EnableOpenMetrics: true, MaxRequestsInFlight: scrapesAtOnce, Timeout: scrapeTime,
	}))
}

func profileRoutes(m *mux.Router) {
	m.Path("/debug/pprof/cmdline").HandlerFunc(pprof.Cmdline)
	m.Path("/debug/pprof/profile").HandlerFunc(pprof.Profile)
	m.Path("/debug/pprof/symbol").HandlerFunc(pprof.Symbol)
	m.Path("/debug/pprof/trace").HandlerFunc(pprof.Trace)
	m.PathPrefix("/debug/pprof/").HandlerFunc(pprof.Index)
}

func (l *listener) ready(w http.ResponseWriter, r *http.Request) {
	if l.Draining() {
		plain(w, http.StatusServiceUnavailable, "draining\n")
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), readyTime)
	defer cancel()
	if err := l.Store.Ready(ctx); err != nil {
		l.Log.Warn("not ready", zap.Error(err))
		plain(w, http.StatusServiceUnavailable, "the store does not answer\n")
		return
	}
	plain(w, http.StatusOK, "ready\n")
}

func plain(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text) // the prober may be gone
}
