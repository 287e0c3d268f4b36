package gateway_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.uber.org/zap"

	"portico/gateway/chain"
	"portico/gateway/exchange"
	"portico/gateway/observe"
	"portico/internal/logs"
)

// Allocations of observation do not depend on noise: they are held to a bound.
func TestObservationAllocatesLittle(t *testing.T) {
	s := newSite(t, setup{alone: true})
	log, err := logs.New("info", io.Discard, false)
	must(t, err)
	observer := s.observer(observe.NewMetrics(prometheus.NewRegistry()), log)
	empty := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	r := httptest.NewRequest(http.MethodGet, "/x?api-version=2024-01-01", http.NoBody)
	with := chain.Of(empty, exchange.Begin(s.gateway.Exchanges), observer.Observe)
	without := chain.Of(empty, exchange.Begin(s.gateway.Exchanges))
	w := httptest.NewRecorder()
	measure := func(h http.Handler) float64 { return testing.AllocsPerRun(200, func() { h.ServeHTTP(w, r) }) }
	if more := measure(with) - measure(without); more > 4 {
		t.Errorf("%v allocations for metrics and a line of the log", more)
	}
}

// observer observes requests as the site's gateway does, with metrics and a log of its own.
func (s *site) observer(metrics *observe.Metrics, log *zap.Logger) *observe.Observer {
	return observe.New(metrics, observe.NewRecent(s.store.Errors, "replica"), observe.NewNames(s.store.Names), observe.NewAudit(log), log, s.config.Log, 0)
}
