package bench

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"portico/internal/logs"
	"portico/inventory"
	"portico/inventory/engine"
	"portico/test/harness"
)

// What the access log costs of a read of a resource: the processor's time with a line in
// it, as a ratio to that without, which are taken by turns in one run. Both hold the share
// of a provider and of the connection to it. The client is a function call.
func BenchmarkObservation(b *testing.B) {
	answer := `{"id":"` + machines + `vm000000","location":"westus","properties":{"fill":"` + strings.Repeat("x", 900) + `"}}`
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer)
	}))
	defer provider.Close()
	file, err := os.Create(filepath.Join(b.TempDir(), "access.log"))
	harness.OK(b, err)
	defer file.Close()
	log, err := logs.New("info", file, false)
	harness.OK(b, err)
	ways := []struct {
		name  string
		log   *zap.Logger
		front http.Handler
		cost  expense
	}{
		{name: "without", log: zap.NewNop()},
		{name: "log", log: log},
	}
	for i := range ways {
		var store *inventory.Store
		ways[i].front, store = newLoggingGateway(b, engine.SQLite, provider.URL, ways[i].log)
		fill(b, store, 1)
	}
	const rounds = 50
	for b.Loop() {
		for i := range ways {
			ways[i].cost.of(func() {
				for range rounds {
					list(b, ways[i].front, machines+"vm000000"+version)
				}
			})
		}
	}
	n := float64(b.N * rounds)
	for _, way := range ways {
		b.ReportMetric(float64(way.cost.processor.Nanoseconds())/n/1000, "µs-"+way.name)
		b.ReportMetric(float64(way.cost.allocations)/n, "allocs-"+way.name)
	}
	b.ReportMetric(float64(ways[1].cost.processor)/float64(ways[0].cost.processor), "x-log")
}

// expense is what parts of a benchmark took of the process.
type expense struct {
	processor   time.Duration
	allocations uint64
}

func (e *expense) of(work func()) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	started := harness.ProcessorTime()
	work()
	e.processor += harness.ProcessorTime() - started
	runtime.ReadMemStats(&after)
	e.allocations += after.Mallocs - before.Mallocs
}
