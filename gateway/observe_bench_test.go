package gateway

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"

	"portico/logs"
)

// What metrics and logs cost of a read of a resource: the processor's time with
// the gateway's metrics, and with these and a line in the access log, as ratios to
// that without either, which are taken by turns in one run. All hold the share of
// a provider and of the connection to it. The client is a function call.
func BenchmarkObservation(b *testing.B) {
	s := newSite(b, setup{})
	s.group("g")
	m := s.machine("g", "m", "westus")
	file, err := os.Create(filepath.Join(b.TempDir(), "access.log"))
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	log, err := logs.New("info", file)
	if err != nil {
		b.Fatal(err)
	}
	g := s.gateway
	silent := newAccessLog(zap.NewNop(), g.config.Log)
	written := newAccessLog(log, g.config.Log)
	rest := []middleware{g.recover, boundContent(g.config.Limits.RequestBody), g.identify, g.guardHost, g.authenticate, g.classify}
	dispatch := http.HandlerFunc(g.dispatch)
	ways := []struct {
		handler http.Handler
		access  *accessLog
		cost    expense
	}{
		{handler: chain(dispatch, append([]middleware{g.begin}, rest...)...), access: silent},
		{handler: g.Public(), access: silent},
		{handler: g.Public(), access: written},
	}
	const rounds = 50
	for b.Loop() {
		for i := range ways {
			g.access = ways[i].access
			ways[i].cost.of(func() {
				for range rounds {
					r := httptest.NewRequest(http.MethodGet, m+api, http.NoBody)
					r.Host = "portico.example"
					w := httptest.NewRecorder()
					ways[i].handler.ServeHTTP(w, r)
					if _, err := io.Copy(io.Discard, w.Body); err != nil || w.Code != http.StatusOK {
						b.Fatal(w.Code, err)
					}
				}
			})
		}
	}
	n := float64(b.N * rounds)
	bare := ways[0].cost
	for i, name := range []string{"without", "metrics", "metrics-and-log"} {
		c := ways[i].cost
		b.ReportMetric(float64(c.processor.Nanoseconds())/n/1000, "µs-"+name)
		b.ReportMetric(float64(c.allocations)/n, "allocs-"+name)
		if i > 0 {
			b.ReportMetric(float64(c.processor)/float64(bare.processor), "x-"+name)
		}
	}
}

// expense is what parts of a benchmark took of the process.
type expense struct {
	processor   time.Duration
	allocations uint64
}

func (e *expense) of(work func()) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	begun := processorTime()
	work()
	e.processor += processorTime() - begun
	runtime.ReadMemStats(&after)
	e.allocations += after.Mallocs - before.Mallocs
}

func processorTime() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// allocations of observation do not depend on noise: they are held to a bound.
func TestObservationAllocatesLittle(t *testing.T) {
	s := newSite(t, setup{})
	log, err := logs.New("info", io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	s.gateway.access = newAccessLog(log, s.gateway.config.Log)
	empty := http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	r := httptest.NewRequest(http.MethodGet, "/x?api-version=2024-01-01", http.NoBody)
	with := chain(empty, s.gateway.begin, s.gateway.observe)
	without := chain(empty, s.gateway.begin)
	w := httptest.NewRecorder()
	measure := func(h http.Handler) float64 { return testing.AllocsPerRun(200, func() { h.ServeHTTP(w, r) }) }
	if more := measure(with) - measure(without); more > 12 {
		t.Errorf("%v allocations for metrics and a line of the log", more)
	}
}
